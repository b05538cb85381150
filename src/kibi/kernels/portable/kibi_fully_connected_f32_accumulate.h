/* FULLY_CONNECTED of float vectors that lie over several rows: row after row is added up; the last call writes the output. */
#ifndef KIBI_FULLY_CONNECTED_F32_ACCUMULATE_H
#define KIBI_FULLY_CONNECTED_F32_ACCUMULATE_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const float *filter; /* [output_channels][pieces][piece] */
    const float *bias;   /* [output_channels] */
    int32_t piece;       /* elements of a row */
    int32_t pieces;      /* rows of a vector */
    int32_t vectors;     /* input vectors, and output vectors, of all steps */
    int32_t output_channels;
    float activation_min;
    float activation_max;
} kibi_fully_connected_f32_accumulate_params;

/* output: [vectors][output_channels], written by the last call; may overlap the input row, which is read before.
 * rows: one pointer to [piece], the row `step` of the vectors, which lie one after another.
 * Products are added in the vector's order; the bias comes last.
 * scratch: 4 * vectors * output_channels bytes, aligned as float; it keeps its contents from the first call to the last.
 * step: 0 … vectors * pieces - 1, ascending. */
void kibi_fully_connected_f32_accumulate(float *output, const float *const *rows,
                                         const kibi_fully_connected_f32_accumulate_params *params, void *scratch,
                                         int32_t step);

#ifdef __cplusplus
}
#endif

#endif
