/* FULLY_CONNECTED of vectors that lie over several rows: row after row is added up; the last call writes the output. */
#ifndef KIBI_FULLY_CONNECTED_S8_ACCUMULATE_H
#define KIBI_FULLY_CONNECTED_S8_ACCUMULATE_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int8_t *filter;      /* [output_channels][pieces][piece] */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t piece;             /* elements of a row */
    int32_t pieces;            /* rows of a vector */
    int32_t vectors;           /* input vectors, and output vectors, of all steps */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_accumulate_params;

/* output: [vectors][output_channels], written by the last call; may overlap the input row, which is read
 * before.
 * rows: one pointer to [piece], the row `step` of the vectors, which lie one after another.
 * scratch: 4 * vectors * output_channels bytes, aligned as int32_t; it keeps its contents from the first call to the last.
 * step: 0 … vectors * pieces - 1, ascending. */
void kibi_fully_connected_s8_accumulate(int8_t *output, const int8_t *const *rows,
                                        const kibi_fully_connected_s8_accumulate_params *params, void *scratch,
                                        int32_t step);

#ifdef __cplusplus
}
#endif

#endif
