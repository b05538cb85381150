/* DEPTHWISE_CONV_2D, int8, RISC-V. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include <string.h>

#include "kibi_add_product.h"
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

/* Adds the products of a column's elements with weights of a column of the window. */
#define ADD_COLUMN(from, a, b, c) \
    (int32_t)((uint32_t)(from) + (uint32_t)(x0 * (a)) + (uint32_t)(x1 * (b)) + (uint32_t)(x2 * (c)))

/* Reads the next column; outside of the input, the zero point. */
#define NEXT_COLUMN                                 \
    if ((uint32_t)column < width) {                 \
        x0 = *row0;                                 \
        x1 = *row1;                                 \
        x2 = *row2;                                 \
    } else {                                        \
        x0 = x1 = x2 = p->input_zero_point;         \
    }                                               \
    row0 += channels;                               \
    row1 += channels;                               \
    row2 += channels;                               \
    ++column;

/* Computes the outputs of one channel. */
static KIBI_NOINLINE void one_channel_3x3(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p,
                                          int32_t channel)
{
    const int32_t channels = p->channels;
    const uint32_t width = (uint32_t)p->input_width;
    const int32_t start = channel - p->pad * channels;
    const int8_t *row0 = rows[0] + start;
    const int8_t *row1 = rows[1] + start;
    const int8_t *row2 = rows[2] + start;
    const int8_t *w = KIBI_AT(int8_t, p, filter) + channel;
    const int32_t w00 = w[0];
    const int32_t w01 = *(w += channels);
    const int32_t w02 = *(w += channels);
    const int32_t w10 = *(w += channels);
    const int32_t w11 = *(w += channels);
    const int32_t w12 = *(w += channels);
    const int32_t w20 = *(w += channels);
    const int32_t w21 = *(w += channels);
    const int32_t w22 = *(w += channels);
    const int32_t bias = KIBI_AT(int32_t, p, bias)[channel];
    const int32_t multiplier = KIBI_AT(int32_t, p, multiplier)[channel];
    const int32_t shift = KIBI_AT(int8_t, p, shift)[channel];
    const int32_t zero_point = p->output_zero_point;
    const int32_t low = p->activation_min;
    const int32_t high = p->activation_max;
    const int is_dense = p->stride == 1;
    int8_t *const end = output + p->output_width * channels;
    int32_t column = -p->pad;
    int32_t x0;
    int32_t x1;
    int32_t x2;
    int32_t sum;  /* of the window of which one column is missing */
    int32_t next; /* of the window that begins one column later */
    NEXT_COLUMN
    sum = ADD_COLUMN(bias, w00, w10, w20);
    NEXT_COLUMN
    next = ADD_COLUMN(bias, w00, w10, w20);
    sum = ADD_COLUMN(sum, w01, w11, w21);
    for (;;) {
        NEXT_COLUMN
        {
            const int32_t whole = ADD_COLUMN(sum, w02, w12, w22);
            const int32_t scaled = kibi_requantize(whole, multiplier, shift);
            *output = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, zero_point), low, high);
        }
        output += channels;
        if (output == end) {
            return;
        }
        if (!is_dense) {
            next = ADD_COLUMN(bias, w00, w10, w20);
            NEXT_COLUMN
            sum = ADD_COLUMN(next, w01, w11, w21);
        } else {
            sum = ADD_COLUMN(next, w01, w11, w21);
            next = ADD_COLUMN(bias, w00, w10, w20);
        }
    }
}

/* True if the channels of a row may be computed one after another: its output is nowhere in a row of the input, or each channel is in
 * the place of itself. */
static int are_apart(const int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p)
{
    const uintptr_t from = (uintptr_t)output;
    const uintptr_t bytes = (uintptr_t)(p->output_width * p->channels);
    const uintptr_t row_bytes = (uintptr_t)(p->input_width * p->channels);
    for (int32_t row = 0; row < 3; ++row) {
        const uintptr_t at = (uintptr_t)rows[row];
        if (at < from + bytes && from < at + row_bytes && (at < from ? from - at : at - from) % (uintptr_t)p->channels != 0) {
            return 0;
        }
    }
    return 1;
}

void kibi_depthwise_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params,
                              void *scratch)
{
    window v;
    (void)scratch;
    if (params->kernel_rows == 3 && params->kernel_width == 3 && params->stride <= 2 && params->dilation == 1 &&
        are_apart(output, rows, params)) {
        for (int32_t channel = 0; channel < params->channels; ++channel) {
            one_channel_3x3(output + channel, rows, params, channel);
        }
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
    memset(v.outside, params->input_zero_point, sizeof(v.outside));
    for (int32_t x = 0; x < params->output_width; ++x) {
        one_pixel(output, &v);
        output += params->channels;
        v.start += params->stride;
    }
}
