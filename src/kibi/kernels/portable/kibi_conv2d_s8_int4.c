/* CONV_2D with a filter of int4, int8, portable. Source of the rule: TFLM, integer_ops/conv.h,
 * ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_dot_int4_4x1_s8.h"
#include "kibi_int4_s8.h"
#include "kibi_requantize.h"
#include "kibi_window_columns.h"

/* Copies the window that starts at column `start`; columns outside of the input hold its zero point. */
static KIBI_NOINLINE void gather(int8_t *to, const int8_t *const *rows, const kibi_conv2d_s8_int4_params *p, int32_t start)
{
    const int32_t width = p->kernel_width * p->input_channels;
    const kibi_window_columns found = kibi_find_columns(start, p->kernel_width, p->dilation, p->input_width,
                                                        p->input_channels, p->input_channels);
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        const int8_t *from = rows[ky] + found.place;
        int8_t *inside = to + found.weight;
        if (found.runs * found.run != width) {
            for (int32_t i = 0; i < width; ++i) {
                to[i] = (int8_t)p->input_zero_point;
            }
        }
        for (int32_t run = 0; run < found.runs; ++run) {
            for (int32_t i = 0; i < found.run; ++i) {
                inside[i] = from[i];
            }
            from += found.step;
            inside += found.run;
        }
        to += width;
    }
}

/* The outputs of one pixel, whose window has `size` elements. */
static void one_pixel(int8_t *output, const int8_t *window, int32_t size, const kibi_conv2d_s8_int4_params *p)
{
    const int32_t *w = KIBI_AT(int32_t, p, filter);
    const uint32_t excess = kibi_int4_excess(window, size);
    int32_t sums[KIBI_INT4_CHANNELS] = {0}; /* what is there for channels after the last one is of no use */
    for (int32_t o = 0; o < p->output_channels; o += KIBI_INT4_CHANNELS) {
        const int32_t count = kibi_int4_channels(p->output_channels - o);
        kibi_int4_start(sums, KIBI_AT(int32_t, p, bias) + o, count, excess);
        kibi_dot_int4_4x1_s8(sums, w, window, size);
        kibi_requantize_channels(output + o, sums, count, KIBI_AT(int32_t, p, multiplier) + o,
                                 KIBI_AT(int8_t, p, shift) + o, p->output_zero_point, p->activation_min,
                                 p->activation_max);
        w += kibi_int4_words(size);
    }
}

void kibi_conv2d_s8_int4(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_int4_params *params, void *scratch)
{
    const kibi_conv2d_s8_int4_params *const p = params;
    const int32_t size = p->kernel_rows * p->kernel_width * p->input_channels;
    int32_t start = -p->pad;
    KIBI_ASSERT(p->gathers ? scratch != NULL : p->kernel_rows == 1 && p->pad == 0);
    for (int32_t x = 0; x < p->output_width; ++x) {
        if (p->gathers != 0) {
            gather((int8_t *)scratch, rows, p, start);
            one_pixel(output, (const int8_t *)scratch, size, p);
        } else {
            one_pixel(output, rows[0] + start * p->input_channels, size, p);
        }
        start += p->stride;
        output += p->output_channels;
    }
}
