/* Depthwise convolutions of int16 and of floats, Armv7E-M: four output channels at once. Before it includes this header, a kernel's file
 * defines its types:
 *   KIBI_FOURS_PARAMS   its parameters
 *   KIBI_FOURS_ELEMENT  elements of the input and of the output
 *   KIBI_FOURS_WEIGHT   weights
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
    int32_t range_kind;               /* what kibi_kind_of_outputs found */
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
KIBI_FIELD_AT(kibi_fours_taps, range_kind, 36);

/* True if sums of four channels are exact, and faster than single ones. */
static inline int kibi_has_fours(const KIBI_FOURS_PARAMS *p);

/* What outputs need to be cut to the activation's range. */
static inline int32_t kibi_kind_of_outputs(const KIBI_FOURS_PARAMS *p);

/* Computes `count` output channels from `o` on, a multiple of four: of one input channel, or of as many. */
static inline void kibi_compute_fours(KIBI_FOURS_ELEMENT *output, kibi_fours_taps *of, int32_t o, int32_t count,
                                      const KIBI_FOURS_PARAMS *p);

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

/* Computes output channels by fours where four of one input channel, or of four, are left. */
static void kibi_pixel_of(KIBI_FOURS_ELEMENT *output, kibi_fours_taps *of, const kibi_window_columns *columns,
                          const KIBI_FOURS_PARAMS *p)
{
    const int is_single = p->depth_multiplier == 1;
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    const int32_t count = is_single ? outputs : p->depth_multiplier; /* that are computed from input channel c on */
    const int32_t whole = kibi_has_fours(p) && columns->runs > 0 ? count & -KIBI_FOURS : 0;
    const KIBI_FOURS_WEIGHT *const weights = KIBI_AT(KIBI_FOURS_WEIGHT, p, filter) + columns->weight * outputs;
    of->columns = columns->runs;
    of->skipped = of->weight_row_bytes - columns->runs * of->weight_bytes;
    for (int32_t c = 0, o = 0; o < outputs; ++c, o += count) {
        if (whole != 0) {
            of->weights = weights + o;
            of->place_bytes = (columns->place + c) * (int32_t)sizeof(*output);
            kibi_compute_fours(output + o, of, o, whole, p);
        }
        for (int32_t k = whole; k < count; ++k) {
            output[o + k] = kibi_output_of(kibi_sum_of(of->rows, is_single ? k : c, o + k, columns, p), o + k, p);
        }
    }
}

/* Computes a row. */
static inline void kibi_row_of_fours(KIBI_FOURS_ELEMENT *output, const KIBI_FOURS_ELEMENT *const *rows, const KIBI_FOURS_PARAMS *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    kibi_fours_taps of;
    of.rows = rows;
    of.rows_end = rows + p->kernel_rows;
    of.weight_bytes = outputs * (int32_t)sizeof(KIBI_FOURS_WEIGHT);
    of.column_bytes = p->dilation * p->input_channels * (int32_t)sizeof(**rows);
    of.weight_row_bytes = p->kernel_width * of.weight_bytes;
    of.range_kind = kibi_kind_of_outputs(p);
    for (int32_t x = 0; x < p->output_width; ++x) {
        kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                      p->input_width, p->input_channels, 1);
        found.runs *= found.run; /* columns, also where those of a single channel are neighbours */
        kibi_pixel_of(output, &of, &found, p);
        output += outputs;
    }
}

#endif
