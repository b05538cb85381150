/* FULLY_CONNECTED of floats: the output vectors of one step. */
#ifndef KIBI_FULLY_CONNECTED_F32_H
#define KIBI_FULLY_CONNECTED_F32_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const float *filter;     /* [output_channels][depth] */
    const float *bias;       /* [output_channels] */
    int32_t depth;           /* elements of an input vector */
    int32_t piece;           /* neighbouring elements of a vector that are read at once */
    int32_t pieces;          /* pieces of a vector: depth / piece */
    int32_t vectors;         /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row; /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    float activation_min;
    float activation_max;
} kibi_fully_connected_f32_params;

/* output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * elements are written in order, and a vector of the input is read until its last channel is computed.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * Products are added in the vector's order; the bias comes last.
 * scratch: none. */
void kibi_fully_connected_f32(float *output, const float *const *rows, const kibi_fully_connected_f32_params *params,
                              void *scratch);

#ifdef __cplusplus
}
#endif

#endif
