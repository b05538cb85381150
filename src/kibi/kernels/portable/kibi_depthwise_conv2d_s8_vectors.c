/* DEPTHWISE_CONV_2D, int8, three by three, sixteen channels at a time: for cores with vectors. Source of the rule: TFLM,
 * integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_vector_taps_s8.h"

enum { COLUMNS = 3 };

/* A pixel at the edge computes so many channels at once. */
#define MOST_CHANNELS 64

/* Where a row's pixels read, and elements outside of the input. */
typedef struct {
    const kibi_depthwise_conv2d_s8_vectors_params *params;
    const int8_t *const *rows;
    kibi_vector_taps task;
    uint32_t outside[MOST_CHANNELS / 4];
} row;

/* Points the taps to the window that starts at a column, at a channel. */
static KIBI_NOINLINE void set_taps(row *r, int32_t start, int32_t channel)
{
    const kibi_depthwise_conv2d_s8_vectors_params *const p = r->params;
    const int8_t **to = r->task.taps;
    const int8_t **const end = to + COLUMNS;
    do {
        if (start >= 0 && start < p->input_width) {
            const int32_t place = start * p->channels + channel;
            to[0] = r->rows[0] + place;
            to[COLUMNS] = r->rows[1] + place;
            to[2 * COLUMNS] = r->rows[2] + place;
        } else {
            const int8_t *const outside = (const int8_t *)r->outside;
            to[0] = outside;
            to[COLUMNS] = outside;
            to[2 * COLUMNS] = outside;
        }
        start += p->dilation;
    } while (++to != end);
}

/* Computes so many pixels, whose windows are inside, from the one whose window starts at a column. lanes: channels of a pixel, or of
 * neighbours that are computed as one. */
static void inside(row *r, int8_t *output, int32_t start, int32_t pixels, int32_t lanes)
{
    const kibi_depthwise_conv2d_s8_vectors_params *const p = r->params;
    const int32_t excess = -lanes & (KIBI_VECTOR_LANES - 1);
    set_taps(r, start, 0);
    r->task.output = output;
    r->task.constants = KIBI_AT(int32_t, p, blocks);
    r->task.channels = lanes;
    r->task.advance = p->stride * lanes - lanes - excess;
    r->task.output_advance = -excess;
    r->task.pixels = pixels;
    kibi_vector_taps_s8(&r->task, r->params->rounds_once);
}

/* Computes some channels of a pixel whose window starts at a column, by constants that begin at a block. */
static void part(row *r, int8_t *output, int32_t start, int32_t channel, int32_t channels, int32_t block)
{
    set_taps(r, start, channel);
    r->task.output = output + channel;
    r->task.constants = KIBI_AT(int32_t, r->params, blocks) +
                        block * (r->params->rounds_once != 0 ? KIBI_VECTOR_BLOCK_ONCE : KIBI_VECTOR_BLOCK);
    r->task.channels = channels;
    r->task.pixels = 1;
    kibi_vector_taps_s8(&r->task, r->params->rounds_once);
}

/* Computes a pixel whose window may be partly outside. Where channels are no whole fours, those of the last block are sixteen, or, of
 * fewer, four: some of them are computed for the second time. */
static void one_pixel(row *r, int8_t *output, int32_t start)
{
    const int32_t channels = r->params->channels;
    const int32_t last = channels < KIBI_VECTOR_LANES ? 4 : KIBI_VECTOR_LANES;
    const int32_t whole = channels % 4 == 0 ? channels : channels / last * last;
    for (int32_t channel = 0; channel < whole; channel += MOST_CHANNELS) {
        const int32_t left = whole - channel;
        part(r, output, start, channel, left < MOST_CHANNELS ? left : MOST_CHANNELS, channel / KIBI_VECTOR_LANES);
    }
    if (whole != channels) {
        part(r, output, start, channels - last, last, (whole + KIBI_VECTOR_LANES - 1) / KIBI_VECTOR_LANES);
    }
}

void kibi_depthwise_conv2d_s8_vectors(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_vectors_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_vectors_params *const p = params;
    const int32_t last = p->input_width - 1 - (COLUMNS - 1) * p->dilation;
    row r;
    int32_t pixels;
    (void)scratch;
    r.params = p;
    r.rows = rows;
    r.task.zero_point = p->output_zero_point;
    for (int32_t i = 0; i < MOST_CHANNELS / 4; ++i) {
        r.outside[i] = (uint8_t)p->input_zero_point * 0x01010101u;
    }
    for (int32_t i = 0; i < 8; ++i) {
        r.task.low[i] = (int16_t)p->activation_min;
        r.task.high[i] = (int16_t)p->activation_max;
    }
    for (int32_t x = 0; x < p->output_width; x += pixels) {
        const int32_t start = x * p->stride - p->pad;
        int8_t *const to = output + x * p->channels;
        if (start < 0 || start > last || p->channels % 4 != 0) {
            one_pixel(&r, to, start);
            pixels = 1;
            continue;
        }
        pixels = (last - start) / p->stride + 1;
        if (pixels > p->output_width - x) {
            pixels = p->output_width - x;
        }
        if (pixels < p->together) {
            inside(&r, to, start, pixels, p->channels);
        } else {
            pixels -= pixels % p->together;
            inside(&r, to, start, pixels / p->together, p->together * p->channels);
        }
    }
}
