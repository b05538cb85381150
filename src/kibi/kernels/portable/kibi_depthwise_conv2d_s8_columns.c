/* DEPTHWISE_CONV_2D, any window, int8, portable: what the packed blocks mean. Source of the rule: TFLM,
 * integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_add_product.h"
#include "kibi_requantize.h"

enum { BLOCK = 4 };

/* Half a word, as a number: 0 the lower. */
static inline int32_t half(int32_t word, int32_t upper)
{
    return (int16_t)((uint32_t)word >> (16 * upper));
}

/* Adds 256 times the products of a window, which begins at column `start`, to the sums of a block whose first channel is c. Returns
 * what is after the weights. */
static const int32_t *add_window(int32_t *sums, const int32_t *w, const int8_t *const *rows,
                                 const kibi_depthwise_conv2d_s8_columns_params *p, int32_t start, int32_t c)
{
    for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
        const int32_t column = start + kx * p->dilation;
        const int is_inside = column >= 0 && column < p->input_width;
        for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
            const int is_single = ky == p->kernel_rows - 1 && ky % 2 == 0;
            for (int32_t lane = 0; lane < BLOCK; ++lane) {
                const int32_t x = is_inside ? rows[ky][column * p->channels + c + lane] : p->input_zero_point;
                const int32_t weight = is_single ? half(w[lane % 2], lane / 2) : half(w[lane], ky % 2);
                sums[lane] = kibi_add_product(sums[lane], x, weight);
            }
            w += is_single ? BLOCK / 2 : ky % 2 * BLOCK;
        }
    }
    return w;
}

void kibi_depthwise_conv2d_s8_columns(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_columns_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_columns_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t *block = KIBI_AT(int32_t, p, blocks);
        int32_t done = 0;
        while (done < p->channels) {
            const int32_t first = done + BLOCK <= p->channels ? done : p->channels - BLOCK;
            int32_t sums[BLOCK] = {block[0], block[1], block[2], block[3]};
            const int32_t *const scaling = add_window(sums, block + BLOCK, rows, p, x * p->stride - p->pad, first);
            for (; done < first + BLOCK; ++done) {
                const int32_t sum = sums[done - first];
                const int32_t whole = sum >> 8;
                const int8_t shift = (int8_t) ~(sum & 31);
                kibi_requantize_channels(output + done, &whole, 1, scaling + (done - first), &shift,
                                         p->output_zero_point, p->activation_min, p->activation_max);
            }
            block = scaling + BLOCK;
        }
        output += p->channels;
    }
}
