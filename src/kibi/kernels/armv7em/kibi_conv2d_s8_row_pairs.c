/* CONV_2D with a window of three by three, int8, two rows at a time, Armv7E-M, from constants that are packed for Winograd's
 * F(2x2, 3x3). Source of the rule: TFLM, integer_ops/conv.h, ConvPerChannel; of the transform: Lavin and Gray, "Fast Algorithms for
 * Convolutional Neural Networks". */
#include "kibi_conv2d_winograd.h"

#include "kibi_row_pairs_block.h"
#include "kibi_row_pairs_lines_s8.h"
#include "kibi_row_pairs_tiles_s8.h"

enum { ROWS = 4, PAIR = 2, BLOCK = 8, MORE_COLUMNS = 2, LINES_BYTES = 32 };

/* The first column of the input that lines have, and the column after the last one, counted from the lines' first one. */
typedef struct {
    int32_t first;
    int32_t end;
    int32_t columns;     /* of the lines */
    int32_t group_bytes; /* of the lines */
} extent;

static inline extent extent_of(const kibi_conv2d_s8_row_pairs_params *p)
{
    extent e;
    e.columns = p->output_width + MORE_COLUMNS;
    e.first = p->pad;
    e.end = p->pad + p->input_width < e.columns ? p->pad + p->input_width : e.columns;
    e.group_bytes = LINES_BYTES * e.columns;
    return e;
}

/* Writes the lines of columns outside the input, which are the same for all rows: the sum of two zero points, and no differences. */
static void outside(uint32_t *lines, extent e, const kibi_conv2d_s8_row_pairs_params *p)
{
    const uint32_t both = (uint16_t)(2 * p->input_zero_point) * 0x00010001u;
    for (int32_t group = 0; group < p->input_channels / 4; ++group) {
        for (int32_t k = 0; k < e.columns; ++k) {
            if (k < e.first || k >= e.end) {
                for (int32_t i = 0; i < LINES_BYTES / 4; ++i) {
                    lines[i] = i < 2 ? both : 0;
                }
            }
            lines += LINES_BYTES / 4;
        }
    }
}

/* Makes the lines of the rows from `start` on. */
static inline void lines_of(int16_t *lines, const int8_t *const *rows, int32_t start, extent e,
                            const kibi_conv2d_s8_row_pairs_params *p)
{
    const int32_t depth = p->input_channels;
    const int8_t *from[ROWS];
    for (int32_t k = 0; k < ROWS; ++k) {
        const int32_t row = start + k;
        const int is_inside = row >= 0 && row < p->input_rows;
        from[k] = is_inside ? rows[p->pad_rows] + row * p->input_width * depth : rows[0];
    }
    kibi_row_pairs_lines_s8(lines + e.first * (LINES_BYTES / 2), from, e.end - e.first, depth,
                            e.group_bytes - LINES_BYTES * (e.end - e.first));
}

void kibi_conv2d_s8_row_pairs(int8_t *output, const int8_t *const *rows, const kibi_conv2d_s8_row_pairs_params *params,
                              void *scratch)
{
    const kibi_conv2d_s8_row_pairs_params *const p = params;
    const uint32_t each = 0x01010101u;
    const extent e = extent_of(p);
    int16_t *const lines = (int16_t *)scratch;
    int16_t *const planes = lines + p->input_channels / 4 * e.group_bytes / 2;
    kibi_row_pairs_task b;
    KIBI_ASSERT(p->output_width >= BLOCK && p->output_rows >= PAIR && scratch != NULL);
    b.row = p->output_width * p->output_channels;
    b.second = p->output_channels;
    b.third = PAIR * p->output_channels;
    b.seventh = 3 * b.third;
    b.planes = planes;
    b.rounding = 2 * p->output_zero_point + 1;
    b.stream = KIBI_AT(int32_t, p, stream);
    b.groups = p->input_channels / 4;
    b.clamps = p->activation_min != INT8_MIN || p->activation_max != INT8_MAX;
    b.low = (uint8_t)p->activation_min * each;
    b.high = (uint8_t)p->activation_max * each;
    outside((uint32_t *)scratch, e, p);
    /* An odd row, and what is left of a row, are made with some of the pixels before them once more. */
    for (int32_t next = 0; next < p->output_rows; next += PAIR) {
        const int32_t y = next + PAIR <= p->output_rows ? next : p->output_rows - PAIR;
        lines_of(lines, rows, y - p->pad_rows, e, p);
        for (int32_t right = 0; right < p->output_width; right += BLOCK) {
            const int32_t x = right + BLOCK <= p->output_width ? right : p->output_width - BLOCK;
            kibi_row_pairs_tiles_s8(planes, lines + x * (LINES_BYTES / 2), b.groups, e.group_bytes);
            b.output = output + (y * p->output_width + x) * p->output_channels;
            b.end = b.output + p->output_channels;
            kibi_row_pairs_block(&b);
        }
    }
}
