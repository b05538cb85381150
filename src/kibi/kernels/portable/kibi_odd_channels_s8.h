/* Output channels that a fast kernel cannot compute, because their sums are too large for it or are not shifted to the right. They
 * are computed one by one, before the fast kernel writes the row, and take their places in it afterwards. */
#ifndef KIBI_ODD_CHANNELS_S8_H
#define KIBI_ODD_CHANNELS_S8_H

#include "kibi.h"

/* The odd channels of a layer, and the windows that they read. */
typedef struct {
    const int8_t *filter;      /* [count][kernel_rows][kernel_width][depth] */
    const int32_t *numbers;    /* [count] */
    const int32_t *bias;       /* [count], which includes -input_zero_point * the sum of the channel's filter */
    const int32_t *multiplier; /* [count], 0 … 2**31 - 1 */
    const int8_t *shift;       /* [count], -31 … 30 */
    int32_t count;
    int32_t input_width;
    int32_t input_channels;
    int32_t depth;             /* input channels that a channel reads: all, or 1, which has the channel's number */
    int32_t input_zero_point;
    int32_t output_width;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t kernel_rows;
    int32_t kernel_width;
    int32_t stride;
    int32_t dilation;
    int32_t pad;
} kibi_odd_channels;

/* Computes the odd channels of a row.
 * made: [output_width][count].
 * rows: kernel_rows pointers to [input_width][input_channels]; a row outside the input holds the zero point. */
void kibi_odd_channels_s8(int8_t *made, const int8_t *const *rows, const kibi_odd_channels *odd);

/* Copies them to their places in a row. */
static inline void kibi_place_odd_channels(int8_t *output, const int8_t *made, const kibi_odd_channels *odd)
{
    for (int32_t x = 0; x < odd->output_width; ++x) {
        for (int32_t i = 0; i < odd->count; ++i) {
            output[odd->numbers[i]] = *made++;
        }
        output += odd->output_channels;
    }
}

#endif
