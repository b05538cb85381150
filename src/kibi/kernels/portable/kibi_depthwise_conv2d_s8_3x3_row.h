/* A row of a depthwise convolution, three by three, portable: what the packed blocks mean. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H
#define KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H

#include "kibi_add_product.h"
#include "kibi_requantize.h"
#include "kibi_round_once.h"

enum { BLOCK = 4, BLOCK_WORDS = 26 };

/* What a row is, with the names and the meaning of the kernels' parameters. */
typedef struct {
    const int32_t *blocks;
    int32_t input_width;
    int32_t channels;
    int32_t input_zero_point;
    int32_t output_width;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
    int32_t stride;
    int32_t dilation;
    int32_t pad;
    int32_t fraction_bits; /* 0: outputs are rounded twice; else once, with a fraction of so many bits */
} kibi_depthwise_row;

/* 256 times the weight of a tap for channel `lane` of the block. Words after the biases: first two rows of the left column; third row
 * of the left and the middle one; first two rows of the middle, then of the right one; third row of the right one. */
static inline int32_t kibi_depthwise_weight_3x3(const int32_t *block, int32_t ky, int32_t kx, int32_t lane)
{
    const int32_t places[3] = {0, 8, 12};
    const int32_t is_upper = ky < 2 ? ky : (kx < 2 ? kx : lane / 2);
    const int32_t place = ky < 2 ? places[kx] + lane : (kx < 2 ? 4 + lane : 16 + lane % 2);
    return (int16_t)((uint32_t)block[BLOCK + place] >> (16 * is_upper));
}

/* 256 times the sum of channel c, plus its inverted shift or its addend; the channel is `lane` of the block, and its window begins at column `start`. */
static inline int32_t kibi_depthwise_sum_3x3(const int32_t *block, const int8_t *const *rows, const kibi_depthwise_row *p,
                                             int32_t start, int32_t c, int32_t lane)
{
    int32_t sum = block[lane];
    for (int32_t kx = 0; kx < 3; ++kx) {
        const int32_t column = start + kx * p->dilation;
        const int is_inside = column >= 0 && column < p->input_width;
        for (int32_t ky = 0; ky < 3; ++ky) {
            const int32_t x = is_inside ? rows[ky][column * p->channels + c] : p->input_zero_point;
            sum = kibi_add_product(sum, x, kibi_depthwise_weight_3x3(block, ky, kx, lane));
        }
    }
    return sum;
}

/* What a sum comes to, with the output's zero point. */
static inline int32_t kibi_depthwise_output_3x3(int32_t sum, int32_t multiplier, const kibi_depthwise_row *p)
{
    if (p->fraction_bits != 0) {
        return kibi_round_once(sum, multiplier, p->output_zero_point, p->fraction_bits);
    }
    return kibi_wrapping_add(kibi_requantize(sum >> 8, multiplier, (int8_t) ~(sum & 31)), p->output_zero_point);
}

/* Pixel after pixel, four channels after four: their windows are read, then they are written. */
static inline void kibi_depthwise_row_3x3(int8_t *output, const int8_t *const *rows, const kibi_depthwise_row *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t *block = p->blocks;
        int32_t done = 0;
        while (done < p->channels) {
            const int32_t first = done + BLOCK <= p->channels ? done : p->channels - BLOCK;
            int8_t values[BLOCK];
            for (int32_t lane = 0; lane < BLOCK; ++lane) {
                const int32_t sum =
                    kibi_depthwise_sum_3x3(block, rows, p, x * p->stride - p->pad, first + lane, lane);
                const int32_t value = kibi_depthwise_output_3x3(sum, block[BLOCK_WORDS - BLOCK + lane], p);
                values[lane] = (int8_t)kibi_clamp(value, p->activation_min, p->activation_max);
            }
            for (; done < first + BLOCK; ++done) {
                output[done] = values[done - first];
            }
            block += BLOCK_WORDS;
        }
        output += p->channels;
    }
}

#endif
