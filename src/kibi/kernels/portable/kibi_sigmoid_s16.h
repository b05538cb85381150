/* The logistic function between the entries of a table. */
#ifndef KIBI_SIGMOID_S16_H
#define KIBI_SIGMOID_S16_H

#include "kibi.h"

/* 1 / (1 + exp(-k / 24)) in units of 2**-16, as TFLM has it; the last entry is there twice. */
extern const uint16_t kibi_sigmoids_s16[257];

/* 1 / (1 + exp(-k / 24)) at k = magnitude / 2**bits, in units of 2**-(16 + bits), on the line between two entries.
 * magnitude: below 255 * 2**bits. bits: 8 or 9. */
int32_t kibi_sigmoid_s16(uint32_t magnitude, uint32_t bits);

#endif
