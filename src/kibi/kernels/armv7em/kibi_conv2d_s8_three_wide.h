/* Convolutions three columns wide, Armv7E-M: the parts in assembly that their blocks share. */
#ifndef KIBI_CONV2D_S8_THREE_WIDE_H
#define KIBI_CONV2D_S8_THREE_WIDE_H

#include "kibi_dsp.h"

/* Of a doubled sum: the high half of its product with the multiplier, rounded half up; 1 is taken from what is negative, so
 * that half up is half away from zero; all bits but the last are shifted out, which goes after half of it was added, and with
 * it twice the zero point, which r3 holds. */
#define KIBI_THREE_WIDE_SCALE(sum, multiplier, exponent)    \
    "smmulr " sum ", " sum ", " multiplier "\n"             \
    "add " sum ", " sum ", " sum ", asr #31\n"              \
    "asr " sum ", " sum ", " exponent "\n"                  \
    "qadd " sum ", " sum ", r3\n"                           \
    "ssat " sum ", #8, " sum ", asr #1\n"

/* Cuts the bytes of a register to low … high, which two registers hold in each byte; r2 is free. */
#define KIBI_THREE_WIDE_CUT(packed, low, high)              \
    "ssub8 r2, " packed ", " low "\n"                       \
    "sel " packed ", " packed ", " low "\n"                 \
    "ssub8 r2, " high ", " packed "\n"                      \
    "sel " packed ", " packed ", " high "\n"

#endif
