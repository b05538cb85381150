/* DEPTHWISE_CONV_2D, int8, portable. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include <string.h>

#include "kibi_add_product.h"
#include "kibi_depthwise_rows_s8.h"
#include "kibi_dot_taps_s8.h"
#include "kibi_requantize.h"

/* Taps that are listed at once. */
enum { MOST_TAPS = 9 };

/* The taps of a pixel's window that starts at column `start`: those that are listed, and the column and row of the next. */
typedef struct {
    const kibi_depthwise_conv2d_s8_params *params;
    kibi_dot_taps_s8_inputs listed;
    int32_t start;
    int32_t column;
    const int8_t *const *row;
    const int8_t *const *rows;
    const int8_t *const *rows_end;
    int32_t has_more; /* true if the window has more taps than are listed at once */
    int8_t outside[4];
    const int8_t *taps[MOST_TAPS];
} window;

/* Lists the next taps, as many as there is room for. */
static KIBI_NOINLINE void list_taps(window *v)
{
    const kibi_depthwise_conv2d_s8_params *const p = v->params;
    const int32_t columns_end = v->start + p->kernel_width * p->dilation;
    const uint32_t width = (uint32_t)p->input_width;
    const int32_t dilation = p->dilation;
    const int32_t channels = p->channels;
    const int8_t **const to_end = v->taps + MOST_TAPS;
    const int8_t **to = v->taps;
    int32_t column = v->column;
    do {
        const int8_t *const row = *v->row;
        do {
            *to++ = (uint32_t)column < width ? row + column * channels : NULL;
            column += dilation;
        } while (column != columns_end && to != to_end);
        if (column == columns_end) {
            column = v->start;
            ++v->row;
        }
    } while (v->row != v->rows_end && to != to_end);
    v->column = column;
    v->listed.end = to;
}

/* Adds the products of one channel; arguments and result as of kibi_dot_taps_s8. */
static KIBI_NOINLINE const int8_t *one_channel(int32_t *sum, const int32_t *start, const int8_t *w,
                                               const kibi_dot_taps_s8_inputs *x)
{
    const int8_t *const *tap = x->taps;
    int32_t total = *start;
    do {
        total = kibi_add_product(total, *tap != NULL ? (*tap)[x->channel] : *x->outside, *w);
        w += x->channels;
    } while (++tap != x->end);
    *sum = total;
    return w;
}

/* Sums of the next four channels, or of one. */
static inline void sum_taps(int32_t sums[4], int32_t count, window *v)
{
    const int32_t c = v->listed.channel;
    const int8_t *w = KIBI_AT(int8_t, v->params, filter) + c;
    const int32_t *from = KIBI_AT(int32_t, v->params, bias) + c;
    if (c == 0 || v->has_more) {
        v->column = v->start;
        v->row = v->rows;
        list_taps(v);
    }
    for (;;) {
        if (count == 4) {
            w = kibi_dot_taps_s8(sums, from, w, &v->listed);
        } else {
            w = one_channel(sums, from, w, &v->listed);
        }
        if (v->row == v->rows_end) {
            return;
        }
        from = sums;
        list_taps(v);
    }
}

static inline void one_pixel(int8_t *output, window *v)
{
    const kibi_depthwise_conv2d_s8_params *const p = v->params;
    int32_t c = 0;
    do {
        const int32_t count = p->channels - c >= 4 ? 4 : 1;
        int32_t sums[4];
        v->listed.channel = c;
        sum_taps(sums, count, v);
        kibi_requantize_channels(output + c, sums, count, KIBI_AT(int32_t, p, multiplier) + c,
                                 KIBI_AT(int8_t, p, shift) + c, p->output_zero_point, p->activation_min,
                                 p->activation_max);
        c += count;
    } while (c != p->channels);
}

void kibi_depthwise_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params,
                              void *scratch)
{
    window v;
    (void)scratch;
    if (kibi_depthwise_rows_s8(output, rows, params) != 0) {
        return;
    }
    v.params = params;
    v.rows = rows;
    v.rows_end = rows + params->kernel_rows;
    v.has_more = params->kernel_rows * params->kernel_width > MOST_TAPS;
    v.start = -params->pad;
    v.listed.taps = v.taps;
    v.listed.channels = params->channels;
    v.listed.outside = v.outside;
    (void)memset(v.outside, params->input_zero_point, sizeof(v.outside));
    for (int32_t x = 0; x < params->output_width; ++x) {
        one_pixel(output, &v);
        output += params->channels;
        v.start += params->stride;
    }
}
