/* DEPTHWISE_CONV_2D, int16, from constants that are packed for blocks of four channels, in plain C: for cores without the instructions
 * that the blocks are made for. Source of the rule: TFLM, integer_ops/depthwise_conv.h, DepthwiseConvPerChannel. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_requantize.h"

enum { FOUR = 4 };

/* The sum of channel `c`, which is channel `k` of a block, over the window that starts at column `start`. */
static uint32_t sum_of(const int16_t *const *rows, const int32_t *block, int32_t k, int32_t c, int32_t start,
                       const kibi_depthwise_conv2d_s16_blocks_params *p)
{
    const int32_t *word = block + FOUR;
    uint32_t sum = (uint32_t)block[k];
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int32_t column = start + kx * p->dilation;
            const int8_t weight = (int8_t)((uint32_t)*word++ >> 8 * k & 0xFFu);
            if (rows[ky] != NULL && column >= 0 && column < p->input_width) {
                sum += (uint32_t)(weight * rows[ky][column * p->channels + c]);
            }
        }
    }
    return sum;
}

/* An output from its sum. */
static int16_t output_of(uint32_t sum, int32_t factor, const kibi_depthwise_conv2d_s16_blocks_params *p)
{
    const int64_t product = (int64_t)(int32_t)sum * factor;
    const int32_t scaled = (int32_t)((product + ((int64_t)1 << 31)) >> 32);
    return (int16_t)kibi_clamp(scaled, p->activation_min, p->activation_max);
}

void kibi_depthwise_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows,
                                      const kibi_depthwise_conv2d_s16_blocks_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s16_blocks_params *const p = params;
    const int32_t taps = p->kernel_rows * p->kernel_width;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t *block = KIBI_AT(int32_t, p, blocks);
        for (int32_t first = 0; first < p->channels; first += FOUR) {
            const int32_t c = first > p->channels - FOUR ? p->channels - FOUR : first;
            int16_t made[FOUR];
            for (int32_t k = 0; k < FOUR; ++k) {
                const uint32_t sum = sum_of(rows, block, k, c + k, x * p->stride - p->pad, p);
                made[k] = output_of(sum, block[FOUR + taps + k], p);
            }
            for (int32_t k = 0; k < FOUR; ++k) {
                output[c + k] = made[k];
            }
            block += 2 * FOUR + taps;
        }
        output += p->channels;
    }
}
