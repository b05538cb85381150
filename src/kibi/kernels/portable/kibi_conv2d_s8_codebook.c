/* CONV_2D with a filter of indices into tables, int8, portable: the filters of a few channels are decoded, and the row computed
 * by the kernel for decoded ones. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_codebook_s8.h"

/* What is the same for all blocks of channels. */
static void fill(kibi_conv2d_s8_params *block, const kibi_conv2d_s8_codebook_params *p, const int8_t *filter)
{
    block->filter = filter;
    block->padding = KIBI_AT(int8_t, p, padding);
    block->input_width = p->input_width;
    block->input_channels = p->input_channels;
    block->output_width = p->output_width;
    block->output_zero_point = p->output_zero_point;
    block->activation_min = p->activation_min;
    block->activation_max = p->activation_max;
    block->groups = 1;
    block->uses_im2col = p->uses_im2col;
    block->kernel_rows = p->kernel_rows;
    block->kernel_width = p->kernel_width;
    block->stride = p->stride;
    block->dilation = p->dilation;
    block->pad = p->pad;
}

/* Decodes the filters of `count` channels from `first` on. */
static void decode(int8_t *filter, const kibi_conv2d_s8_codebook_params *p, int32_t first, int32_t count, int32_t size)
{
    for (int32_t o = first; o < first + count; ++o) {
        kibi_codebook_s8(filter, KIBI_AT(int8_t, p, indices), KIBI_AT(int8_t, p, tables) + o * p->values, p->bits,
                         o * size, size);
        filter += size;
    }
}

void kibi_conv2d_s8_codebook(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_codebook_params *params,
                             void *scratch)
{
    const kibi_conv2d_s8_codebook_params *const p = params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    int32_t count = p->at_once;
    int8_t *const filter = (int8_t *)scratch;
    int8_t *const made = filter + count * size;
    int8_t *const gathered = made + count * p->output_width;
    kibi_conv2d_s8_params block;
    KIBI_ASSERT(scratch != NULL);
    fill(&block, p, filter);
    for (int32_t first = 0; first < p->output_channels; first += count) {
        const int8_t *from = made;
        int8_t *to = output + first;
        count = p->output_channels - first < count ? p->output_channels - first : count;
        decode(filter, p, first, count, size);
        block.bias = KIBI_AT(int32_t, p, bias) + first;
        block.multiplier = KIBI_AT(int32_t, p, multiplier) + first;
        block.shift = KIBI_AT(int8_t, p, shift) + first;
        block.output_channels = count;
        kibi_conv2d_s8(made, rows, &block, gathered);
        for (int32_t x = 0; x < p->output_width; ++x) {
            for (int32_t o = 0; o < count; ++o) {
                to[o] = *from++;
            }
            to += p->output_channels;
        }
    }
}
