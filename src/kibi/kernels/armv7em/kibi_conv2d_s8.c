/* CONV_2D, int8, Armv7E-M. Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel. */
#include "kibi_conv2d.h"

#include "kibi_conv2d_s8_pair.h"
#include "kibi_conv2d_s8_single.h"
#include "kibi_dot_1x1_s8.h"
#include "kibi_requantize.h"

/* Two neighbouring pixels at once, where both windows are in pieces of the same size. */
#ifndef KIBI_CONV2D_S8_OF_PAIRS
#define KIBI_CONV2D_S8_OF_PAIRS 1
#endif

/* Windows that are copied before they are multiplied. */
#ifndef KIBI_CONV2D_S8_GATHERED
#define KIBI_CONV2D_S8_GATHERED 1
#endif
/* Windows that are read where they are, and reach beyond the input or have columns that are apart. */
#ifndef KIBI_CONV2D_S8_AT_EDGES
#define KIBI_CONV2D_S8_AT_EDGES 1
#endif

/* Columns of a window that reaches beyond the input, or whose columns are apart, up to which they are listed. */
enum { MOST_COLUMNS = 16 };

/* What is computed: one group's channels of the pixel whose window starts at column `start`, or of that and the next. */
typedef struct {
    const kibi_conv2d_s8_params *params;
    const int8_t *const *rows;
    int32_t depth; /* input channels of the group, from `first` on */
    int32_t first;
    int32_t channel; /* output channels of the group that are not computed yet, up to `end` */
    int32_t end;
    int32_t start;
    int32_t is_found;          /* true if the windows are in pieces of the same size */
    kibi_conv2d_s8_windows at; /* if so, where; if not, what find_columns found */
    const int8_t *columns[MOST_COLUMNS];
} task;

/* Finds the columns that can be read as one from kernel column `k` on: neighbours inside the input, or outside. Sets rows,
 * offset and count; returns the kernel column after them. */
static KIBI_NOINLINE int32_t find_columns(task *t, int32_t k)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t column = t->start + k * p->dilation;
    const int is_inside = column >= 0 && column < p->input_width;
    int32_t end = k + 1;
    if (p->dilation == 1 && p->groups == 1) {
        end = p->kernel_width;
        if (column < p->input_width) {
            const int32_t edge = (is_inside ? p->input_width : 0) - t->start;
            end = edge < end ? edge : end;
        }
    }
    t->at.rows = is_inside ? t->rows : NULL;
    t->at.offset = is_inside ? column * p->input_channels + t->first : 0;
    t->at.count = (end - k) * t->depth;
    return end;
}

/* A piece of the first window; outside of the input, padding. */
static inline const int8_t *piece_of(const task *t, int32_t number)
{
    return t->at.rows != NULL ? t->at.rows[number] + t->at.offset : KIBI_AT(int8_t, t->params, padding);
}

/* Copies elements: shorter than to call memcpy, which is large. */
static inline void copy(int8_t *to, const int8_t *from, int32_t count)
{
    const int8_t *const end = from + count;
    while (end - from >= 4) {
        uint32_t word;
        __builtin_memcpy(&word, from, sizeof(word));
        __builtin_memcpy(to, &word, sizeof(word));
        from += sizeof(word);
        to += sizeof(word);
        __asm__ volatile(""); /* else the compiler finds memcpy again */
    }
    while (from != end) {
        *to++ = *from++;
        __asm__ volatile("");
    }
}

/* Copies the window. */
static KIBI_NOINLINE void gather(task *t, int8_t *patch)
{
    const int32_t run = t->params->kernel_width * t->depth;
    int32_t next;
    for (int32_t k = 0; k < t->params->kernel_width; k = next) {
        int8_t *to = patch + k * t->depth;
        next = find_columns(t, k);
        for (int32_t ky = 0; ky < t->params->kernel_rows; ++ky) {
            copy(to, piece_of(t, ky), t->at.count);
            to += run;
        }
    }
}

/* Lists the window's columns, each by itself: elsewhere in the input, or outside. */
static inline void list_columns(task *t)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int8_t **to = t->columns;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = t->start;
        for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
            const int is_inside = column >= 0 && column < p->input_width;
            *to++ = is_inside ? t->rows[ky] + column * p->input_channels + t->first : KIBI_AT(int8_t, p, padding);
            column += p->dilation;
        }
    }
    t->at.rows = t->columns;
    t->at.rows_end = to;
    t->at.offset = 0;
    t->at.count = t->depth;
}

/* True if the windows are in pieces of the same size. */
static inline int is_found(const task *t)
{
    return !KIBI_CONV2D_S8_AT_EDGES || t->is_found;
}

/* The sum of one channel of one pixel. */
static int32_t sum_of(task *t, int32_t channel)
{
    const kibi_conv2d_s8_params *const p = t->params;
    int32_t sum = KIBI_AT(int32_t, p, bias)[channel];
    int32_t k = 0;
    do {
        const int8_t *w = KIBI_AT(int8_t, p, filter) + channel * t->at.size + k * t->depth;
        k = is_found(t) ? p->kernel_width : find_columns(t, k);
        const int32_t pieces = is_found(t) ? t->at.rows_end - t->at.rows : p->kernel_rows;
        for (int32_t piece = 0; piece < pieces; ++piece) {
            sum = kibi_dot_1x1_s8(sum, w, piece_of(t, piece), t->at.count);
            w += is_found(t) ? t->at.count : p->kernel_width * t->depth;
        }
    } while (k < p->kernel_width);
    return sum;
}

/* Computes the channels that are left of one pixel: four are summed before the first is written, as the distance in place
 * says, then one by one. */
static KIBI_NOINLINE void one_pixel(int8_t *output, task *t)
{
    const kibi_conv2d_s8_params *const p = t->params;
    int32_t block;
    for (int32_t o = t->channel; o < t->end; o += block) {
        int32_t sums[4];
        block = o + 4 <= t->end ? 4 : 1;
        for (int32_t c = 0; c < block; ++c) {
            sums[c] = sum_of(t, o + c);
        }
        kibi_requantize_channels(output + o, sums, block, KIBI_AT(int32_t, p, multiplier) + o,
                                 KIBI_AT(int8_t, p, shift) + o, p->output_zero_point, p->activation_min,
                                 p->activation_max);
    }
}

/* Computes blocks of two channels of both windows, or of four of the first one; leaves what is left of an odd number. */
static KIBI_NOINLINE void blocks(int8_t *output, task *t, int32_t block)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t first = t->channel;
    t->channel += (t->end - first) & -block;
    if (t->channel == first) {
        return;
    }
    t->at.multiplier = KIBI_AT(int32_t, p, multiplier) + first;
    t->at.shift = KIBI_AT(int8_t, p, shift) + first;
    t->at.output = output + first;
    t->at.bias = KIBI_AT(int32_t, p, bias) + first;
    t->at.filter = KIBI_AT(int8_t, p, filter) + first * t->at.size;
    t->at.end = output + t->channel;
    t->at.groups = t->at.count & -4;
    if (KIBI_CONV2D_S8_OF_PAIRS && block == 2) {
        kibi_conv2d_s8_pair(&t->at);
    } else {
        kibi_conv2d_s8_single(&t->at);
    }
}

/* Finds or gathers the window and, where `left` says that the row has more pixels, the next one's. Returns how many pixels
 * are to be computed. */
static int32_t prepare(task *t, int32_t left, const int8_t *const *patch, int8_t *scratch)
{
    const kibi_conv2d_s8_params *const p = t->params;
    const int32_t last = p->input_width - p->kernel_width;
    t->is_found = 1;
    if (KIBI_CONV2D_S8_GATHERED && p->uses_im2col) {
        gather(t, scratch);
        if (left > 1) {
            t->start += p->stride;
            gather(t, scratch + t->at.size);
            t->start -= p->stride;
        }
        t->at.rows = patch;
        t->at.rows_end = patch + 1;
        t->at.offset = 0;
        t->at.distance = t->at.size;
        t->at.count = t->at.size;
        return left > 1 ? 2 : 1;
    }
    if (!KIBI_CONV2D_S8_AT_EDGES || (p->dilation == 1 && p->groups == 1 && t->start >= 0 && t->start <= last)) {
        t->at.rows = t->rows;
        t->at.rows_end = t->rows + p->kernel_rows;
        t->at.offset = t->start * t->depth;
        t->at.distance = p->stride * t->depth;
        t->at.count = p->kernel_width * t->depth;
        return left > 1 && t->start + p->stride <= last ? 2 : 1;
    }
    t->is_found = p->kernel_rows * p->kernel_width <= MOST_COLUMNS;
    if (t->is_found) {
        list_columns(t);
    }
    return 1;
}

void kibi_conv2d_s8(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_params *params, void *scratch)
{
    const kibi_conv2d_s8_params *const p = params;
    const int8_t *const patch = (const int8_t *)scratch;
    task t;
    int32_t done;
    t.params = p;
    t.rows = rows;
    t.depth = p->input_channels / p->groups;
    t.at.size = p->kernel_rows * p->kernel_width * t.depth;
    t.at.rounding = 2 * p->output_zero_point + 1;
    t.at.output_channels = p->output_channels;
    t.at.clamps = p->activation_min != INT8_MIN || p->activation_max != INT8_MAX;
    t.at.activation_min = p->activation_min;
    t.at.activation_max = p->activation_max;
    KIBI_ASSERT(t.depth * p->groups == p->input_channels && p->output_channels % p->groups == 0);
    KIBI_ASSERT(!p->uses_im2col || scratch != NULL);
    for (int32_t x = 0; x < p->output_width; x += done) {
        t.start = x * p->stride - p->pad;
        t.first = 0;
        t.end = 0;
        do {
            t.channel = t.end;
            t.end += p->output_channels / p->groups;
            done = prepare(&t, KIBI_CONV2D_S8_OF_PAIRS ? p->output_width - x : 1, &patch, (int8_t *)scratch);
            if (is_found(&t)) {
                blocks(output, &t, 4 / done);
            }
            for (int32_t pixel = 0; pixel < done; ++pixel) {
                one_pixel(output + pixel * p->output_channels, &t);
                t.at.offset += t.at.distance;
            }
            t.first += t.depth;
        } while (t.end < p->output_channels);
        output += done * p->output_channels;
    }
}
