/* CONV_2D, float, Armv7E-M: four channels at once. Source of the rule: TFLM, reference/conv.h, Conv. */
#include "kibi_conv2d.h"

#include "kibi_dot_f32_4x1.h"
#include "kibi_window_columns.h"

/* Four channels at once, where a group has as many. */
#ifndef KIBI_CONV2D_F32_OF_FOURS
#define KIBI_CONV2D_F32_OF_FOURS 1
#endif

enum { BLOCK = KIBI_DOT_F32_CHANNELS };

/* Adds the products of a window with the weights of four channels, or with those of one. */
static void add_window(float *sums, int32_t channels, const float *const *rows, const float *w, int32_t first,
                       const kibi_window_columns *c, const kibi_conv2d_f32_params *p)
{
    const int32_t width = p->kernel_width * (p->input_channels / p->groups);
    const int32_t size = p->kernel_rows * width;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const float *x = rows[ky] + c->place + first;
            const float *from = w + ky * width + c->weight;
            for (int32_t k = 0; k < c->runs; ++k) {
                if (KIBI_CONV2D_F32_OF_FOURS && channels == BLOCK) {
                    kibi_dot_f32_4x1(sums, from, size, x, c->run);
                } else {
                    sums[0] = kibi_dot_f32(sums[0], from, x, c->run);
                }
                x += c->step;
                from += c->run;
            }
        }
    }
}

void kibi_conv2d_f32(float *output, const float *const *rows, const kibi_conv2d_f32_params *params, void *scratch)
{
    const kibi_conv2d_f32_params *const p = params;
    const int32_t depth = p->input_channels / p->groups;
    const int32_t size = p->kernel_rows * p->kernel_width * depth;
    const int32_t outputs = p->output_channels / p->groups;
    const int32_t block = KIBI_CONV2D_F32_OF_FOURS && outputs >= BLOCK ? BLOCK : 1;
    (void)scratch;
    KIBI_ASSERT(p->groups * depth == p->input_channels && p->groups * outputs == p->output_channels);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                            p->input_width, p->input_channels, depth);
        for (int32_t group = 0; group < p->groups; ++group) {
            const int32_t end = (group + 1) * outputs;
            int32_t o = group * outputs;
            while (o < end) {
                /* The last block has the last four channels, of which some are computed already. */
                const int32_t first = o < end - block ? o : end - block;
                float sums[BLOCK] = {0.0f, 0.0f, 0.0f, 0.0f};
                add_window(sums, block, rows, KIBI_AT(float, p, filter) + first * size, group * depth, &found, p);
                for (; o < first + block; ++o) {
                    *output++ = kibi_clamp_f32(sums[o - first] + KIBI_AT(float, p, bias)[o], p->activation_min,
                                               p->activation_max);
                }
            }
        }
    }
}
