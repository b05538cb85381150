/* Accumulators as int8 outputs, four channels at once. */
#ifndef KIBI_REQUANTIZE_S8_H
#define KIBI_REQUANTIZE_S8_H

#include "kibi.h"

/* The outputs of `count` neighbouring channels from their sums, as kibi_requantize_channels: scaled, moved by the zero
 * point, clamped. 53 instructions for each four whose shifts are all to the right.
 * output: [count]; may be misaligned; may overlap nothing but what is read no more.
 * sums, multiplier, shift: [count], of the first of these channels on.
 * zero_point, low, high: -128 … 127. */
void kibi_requantize_s8(int8_t *output, const int32_t *sums, int32_t count, const int32_t *multiplier, const int8_t *shift,
                        int32_t zero_point, int32_t low, int32_t high);

#endif
