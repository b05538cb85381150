/* Depthwise convolutions of int16 and of floats, Armv7E-M: four output channels at once. Before it includes this header, a kernel's file
 * defines its types:
 *   KIBI_FOURS_PARAMS   its parameters
 *   KIBI_FOURS_ELEMENT  elements of the input and of the output
 *   KIBI_FOURS_WEIGHT   weights
 *   KIBI_FOURS_PART     sums of four channels
 *   KIBI_FOURS_SUM      a channel's sum
 * After it, it defines the functions that are declared first here. */
#ifndef KIBI_DEPTHWISE_CONV2D_FOURS_H
#define KIBI_DEPTHWISE_CONV2D_FOURS_H

#include "kibi_dsp.h"
#include "kibi_window_columns.h"

enum { KIBI_FOURS = 4 };

/* What the assembly reads of a pixel. */
typedef struct {
    const KIBI_FOURS_ELEMENT *const *rows;
    const KIBI_FOURS_ELEMENT *const *rows_end;
    const KIBI_FOURS_WEIGHT *weights; /* of the window's first row, at its first column inside */
    int32_t weight_bytes;             /* from a column's weights to the next one's */
    int32_t column_bytes;             /* from a column to the next one of the window */
    int32_t place_bytes;              /* from where a row begins to its first column */
    int32_t columns;                  /* that are inside, at least 1 */
    int32_t skipped;                  /* bytes of the weights of a row's columns outside */
    int32_t weight_row_bytes;         /* of all columns of a row */
} kibi_fours_taps;

KIBI_FIELD_AT(kibi_fours_taps, rows, 0);
KIBI_FIELD_AT(kibi_fours_taps, rows_end, 4);
KIBI_FIELD_AT(kibi_fours_taps, weights, 8);
KIBI_FIELD_AT(kibi_fours_taps, weight_bytes, 12);
KIBI_FIELD_AT(kibi_fours_taps, column_bytes, 16);
KIBI_FIELD_AT(kibi_fours_taps, place_bytes, 20);
KIBI_FIELD_AT(kibi_fours_taps, columns, 24);
KIBI_FIELD_AT(kibi_fours_taps, skipped, 28);
KIBI_FIELD_AT(kibi_fours_taps, weight_row_bytes, 32);

/* Sums of products of four output channels: of four input channels, and of one. */
static void kibi_add_taps(KIBI_FOURS_PART sums[KIBI_FOURS], const kibi_fours_taps *of);
static void kibi_add_taps_of_one(KIBI_FOURS_PART sums[KIBI_FOURS], const kibi_fours_taps *of);

/* True if sums of four channels are exact, and faster than single ones. */
static inline int kibi_has_fours(const KIBI_FOURS_PARAMS *p);

/* The output of channel `o` from the sum of its products. */
static inline KIBI_FOURS_ELEMENT kibi_output_of(KIBI_FOURS_SUM sum, int32_t o, const KIBI_FOURS_PARAMS *p);

/* The products of input channel `c` and output channel `o` over the columns of a window. */
static KIBI_FOURS_SUM kibi_sum_of(const KIBI_FOURS_ELEMENT *const *rows, int32_t c, int32_t o, const kibi_window_columns *columns,
                                  const KIBI_FOURS_PARAMS *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    KIBI_FOURS_SUM sum = 0;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const KIBI_FOURS_ELEMENT *x = rows[ky] + columns->place + c;
            const KIBI_FOURS_WEIGHT *w =
                KIBI_AT(KIBI_FOURS_WEIGHT, p, filter) + (ky * p->kernel_width + columns->weight) * outputs + o;
            for (int32_t k = 0; k < columns->runs; ++k) {
                sum += *x * *w;
                x += columns->step;
                w += outputs;
            }
        }
    }
    return sum;
}

/* Computes four output channels at once where four of one input channel, or of four, are left. */
static void kibi_pixel_of(KIBI_FOURS_ELEMENT *output, const KIBI_FOURS_ELEMENT *const *rows, const kibi_window_columns *columns,
                          const KIBI_FOURS_PARAMS *p)
{
    const int has_fours = kibi_has_fours(p) && columns->runs > 0;
    const int32_t multiplier = p->depth_multiplier;
    const int32_t outputs = p->input_channels * multiplier;
    const int32_t size = (int32_t)sizeof(**rows);
    const int32_t weight_size = (int32_t)sizeof(KIBI_FOURS_WEIGHT);
    const KIBI_FOURS_WEIGHT *const weights = KIBI_AT(KIBI_FOURS_WEIGHT, p, filter) + columns->weight * outputs;
    kibi_fours_taps of;
    int32_t c = 0;
    int32_t left = multiplier == 1 ? outputs : multiplier; /* output channels of input channel c, or all */
    int32_t o = 0;
    of.rows = rows;
    of.rows_end = rows + p->kernel_rows;
    of.weight_bytes = outputs * weight_size;
    of.column_bytes = columns->step * size;
    of.columns = columns->runs;
    of.weight_row_bytes = p->kernel_width * outputs * weight_size;
    of.skipped = (p->kernel_width - columns->runs) * outputs * weight_size;
    while (o < outputs) {
        int32_t count = 1;
        if (has_fours && left >= KIBI_FOURS) {
            KIBI_FOURS_PART sums[KIBI_FOURS];
            count = KIBI_FOURS;
            of.weights = weights + o;
            of.place_bytes = (columns->place + c) * size;
            if (multiplier == 1) {
                kibi_add_taps(sums, &of);
            } else {
                kibi_add_taps_of_one(sums, &of);
            }
            for (int32_t k = 0; k < KIBI_FOURS; ++k) {
                output[o + k] = kibi_output_of(sums[k], o + k, p);
            }
        } else {
            output[o] = kibi_output_of(kibi_sum_of(rows, c, o, columns, p), o, p);
        }
        o += count;
        left -= count;
        if (multiplier == 1) {
            c = o;
        } else if (left == 0) {
            left = multiplier;
            ++c;
        }
    }
}

/* Computes a row. */
static inline void kibi_row_of_fours(KIBI_FOURS_ELEMENT *output, const KIBI_FOURS_ELEMENT *const *rows, const KIBI_FOURS_PARAMS *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                      p->input_width, p->input_channels, 1);
        found.runs *= found.run; /* columns, also where those of a single channel are neighbours */
        kibi_pixel_of(output, rows, &found, p);
        output += p->input_channels * p->depth_multiplier;
    }
}

#endif
