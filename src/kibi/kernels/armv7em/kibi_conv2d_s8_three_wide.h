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

/* Cuts the bytes of a register to low … high, which r10 and r11 hold in each byte. */
#define KIBI_THREE_WIDE_CLAMP(packed)                       \
    "ssub8 r2, " packed ", r10\n"                           \
    "sel " packed ", " packed ", r10\n"                     \
    "ssub8 r2, r11, " packed "\n"                           \
    "sel " packed ", " packed ", r11\n"

#endif
