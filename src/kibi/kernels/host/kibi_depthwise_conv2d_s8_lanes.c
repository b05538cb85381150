/* DEPTHWISE_CONV_2D, int8, for processors with vectors. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d_s8_lanes.h"

#include <string.h>

#include "kibi_lanes.h"
#include "kibi_requantize_lanes.h"

#define BYTES 32768

typedef kibi_depthwise_conv2d_s8_lanes_params params_type;

/* The channels whose columns are copied at once, and where their elements are in the copy, in bytes. */
typedef struct {
    int32_t channel;  /* the first one */
    int32_t channels;
    int32_t columns;
    int32_t column;   /* from one column to the next */
    int32_t fours;    /* of rows, the last one rounded up */
    int32_t pixel;    /* from one window to the next */
    int32_t output;   /* from the outputs of one window to those of the next */
} piece;

/* Four rows become one, each with the elements of a channel side by side; to: [count][4]. */
static void interleave(uint8_t *KIBI_RESTRICT to, const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d,
                       int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        to[KIBI_QUAD * i] = (uint8_t)(a[i] + KIBI_OFFSET);
        to[KIBI_QUAD * i + 1] = (uint8_t)(b[i] + KIBI_OFFSET);
        to[KIBI_QUAD * i + 2] = (uint8_t)(c[i] + KIBI_OFFSET);
        to[KIBI_QUAD * i + 3] = (uint8_t)(d[i] + KIBI_OFFSET);
    }
}

/* Copies the columns of a piece from `start` on, four rows after four rows; those outside the input hold the zero point. After the
 * last row weights are zero, so that row may come again. */
static void copy_columns(uint8_t *to, const int8_t *const *rows, const params_type *p, const piece *part, int32_t start)
{
    const int32_t before = start >= 0 ? 0 : -start < part->columns ? -start : part->columns;
    const int32_t left = p->input_width - (start + before);
    const int32_t inside = left <= 0 ? 0 : left < part->columns - before ? left : part->columns - before;
    const int32_t after = part->columns - before - inside;
    const int32_t is_whole = part->channels == p->channels;
    const int32_t times = is_whole ? 1 : inside;
    const int32_t count = is_whole ? inside * p->channels : part->channels;
    const int32_t place = (start + before) * p->channels + part->channel;
    for (int32_t four = 0; four < part->fours; ++four) {
        const int8_t *from[KIBI_QUAD];
        for (int32_t i = 0; i < KIBI_QUAD; ++i) {
            const int32_t ky = four * KIBI_QUAD + i;
            from[i] = rows[ky < p->kernel_rows ? ky : p->kernel_rows - 1] + place;
        }
        memset(to, p->input_zero_point + KIBI_OFFSET, (size_t)(before * part->column));
        to += before * part->column;
        for (int32_t i = 0; i < times; ++i) {
            const int32_t at = i * p->channels;
            interleave(to, from[0] + at, from[1] + at, from[2] + at, from[3] + at, count);
            to += count * KIBI_QUAD;
        }
        memset(to, p->input_zero_point + KIBI_OFFSET, (size_t)(after * part->column));
        to += after * part->column;
    }
}

/* Computes a block of channels for some pixels, whose number the compiler knows, from the columns of the first one.
 * count: of each pixel's outputs those that are written, where they are fewer than a block's. */
static KIBI_INLINE void compute(int8_t *output, const params_type *p, int32_t pixels, const piece *part, const uint8_t *x,
                                int32_t channel, int32_t count)
{
    const kibi_scaling scaling = {KIBI_AT(int32_t, p, multiplier), KIBI_AT(int32_t, p, left),
                                  KIBI_AT(int32_t, p, right),      KIBI_AT(float, p, half),
                                  p->output_zero_point,            p->activation_min,
                                  p->activation_max};
    const int8_t *w = KIBI_AT(int8_t, p, filter) + channel * p->kernel_width * part->fours * KIBI_QUAD;
    const int32_t step = p->dilation * part->column;
    kibi_lanes total[KIBI_MOST_PIXELS * KIBI_VECTORS];
    KIBI_UNROLL
    for (int32_t i = 0; i < pixels * KIBI_VECTORS; ++i) {
        total[i] = kibi_load_lanes(KIBI_AT(int32_t, p, bias) + channel + i % KIBI_VECTORS * KIBI_LANES);
    }
    for (int32_t four = 0; four < part->fours; ++four) {
        const uint8_t *place = x + four * part->columns * part->column;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            KIBI_UNROLL
            for (int32_t i = 0; i < pixels * KIBI_VECTORS; ++i) {
                const int32_t lane = i % KIBI_VECTORS * KIBI_LANES * KIBI_QUAD;
                const kibi_quads input = kibi_load_quads(place + i / KIBI_VECTORS * part->pixel + lane);
                total[i] = kibi_add_dots(total[i], input, kibi_load_quads(w + lane));
            }
            w += KIBI_BLOCK * KIBI_QUAD;
            place += step;
        }
    }
    kibi_requantize_lanes(output, part->output, total, KIBI_VECTORS, pixels, &scaling, channel, count);
}

/* The same of any number of pixels up to KIBI_MOST_PIXELS. */
static void compute_columns(int8_t *output, const params_type *p, int32_t pixels, const piece *part, const uint8_t *x,
                            int32_t channel, int32_t count)
{
    KIBI_WITH_PIXELS(pixels, compute, output, p, part, x, channel, count);
}

/* Computes all channels of a piece for that many pixels. */
static void compute_piece(int8_t *output, const params_type *p, const piece *part, const uint8_t *x, int32_t pixels)
{
    for (int32_t i = 0, some; i < pixels; i += some) {
        some = kibi_next_pixels(pixels - i, kibi_most_pixels(pixels));
        for (int32_t c = 0; c < part->channels; c += KIBI_BLOCK) {
            compute_columns(output + i * part->output + c, p, some, part, x + i * part->pixel + c * KIBI_QUAD,
                            part->channel + c, part->channels - c);
        }
    }
}

/* The same where blocks of lanes are neighbouring pixels with all their channels. */
static void compute_lanes(int8_t *output, const params_type *p, const piece *part, const uint8_t *x, int32_t pixels)
{
    const int32_t lanes = pixels * p->channels;
    const int32_t blocks = lanes / KIBI_BLOCK;
    for (int32_t i = 0, some; i < blocks; i += some) {
        some = kibi_next_pixels(blocks - i, kibi_most_pixels(blocks));
        compute_columns(output + i * part->output, p, some, part, x + i * part->pixel, 0, KIBI_BLOCK);
    }
    if (lanes > blocks * KIBI_BLOCK) {
        compute_columns(output + blocks * part->output, p, 1, part, x + blocks * part->pixel, 0, lanes - blocks * KIBI_BLOCK);
    }
}

void kibi_depthwise_conv2d_s8_lanes(int8_t *output, const int8_t *const *rows,
                                    const kibi_depthwise_conv2d_s8_lanes_params *params, void *scratch)
{
    const params_type *const p = params;
    const int32_t span = (p->kernel_width - 1) * p->dilation + 1;
    const int32_t fours = (p->kernel_rows + KIBI_QUAD - 1) / KIBI_QUAD;
    const int32_t room = BYTES / (span * fours * KIBI_QUAD); /* channels whose windows fit */
    const int32_t is_whole = p->channels <= room;
    const int32_t at_once = is_whole ? p->channels : room / KIBI_BLOCK * KIBI_BLOCK;
    const int32_t fitting = is_whole ? (BYTES / (p->channels * fours * KIBI_QUAD) - span) / p->stride + 1 : 1;
    const int32_t most = fitting < p->output_width ? fitting : p->output_width;
    const int32_t has_lanes = p->stride == 1 && KIBI_BLOCK % p->channels == 0;
    KIBI_AT_LINE uint8_t copy[BYTES + KIBI_BLOCK * KIBI_QUAD];
    (void)scratch;
    KIBI_ASSERT(at_once > 0);
    for (int32_t x = 0; x < p->output_width; x += most) {
        const int32_t pixels = p->output_width - x < most ? p->output_width - x : most;
        for (int32_t c = 0; c < p->channels; c += at_once) {
            const int32_t channels = p->channels - c < at_once ? p->channels - c : at_once;
            const int32_t column = channels * KIBI_QUAD;
            const piece part = {c, channels, (pixels - 1) * p->stride + span, column, fours,
                                has_lanes ? KIBI_BLOCK * KIBI_QUAD : p->stride * column,
                                has_lanes ? KIBI_BLOCK : p->channels};
            copy_columns(copy, rows, p, &part, x * p->stride - p->pad);
            /* What is read after the last column is multiplied by zero, or not written. */
            memset(copy + fours * part.columns * column, 0, KIBI_BLOCK * KIBI_QUAD);
            if (has_lanes) {
                compute_lanes(output + x * p->channels, p, &part, copy, pixels);
            } else {
                compute_piece(output + x * p->channels + c, p, &part, copy, pixels);
            }
        }
    }
}
