/* FULLY_CONNECTED with a filter of indices into tables: the output vectors of one step. */
#ifndef KIBI_FULLY_CONNECTED_S8_CODEBOOK_H
#define KIBI_FULLY_CONNECTED_S8_CODEBOOK_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const int8_t *indices;     /* of [output_channels][depth] values, packed as kibi_codebook_s8.h says */
    const int8_t *tables;      /* the values of each channel, or those that all channels share */
    /* [output_channels], which includes -input zero point * the sum of the channel's filter */
    const int32_t *bias;
    const int32_t *multiplier; /* [output_channels], 0 ... 2**31 - 1 */
    const int8_t *shift;       /* [output_channels], -31 ... 30 */
    int32_t bits;              /* bits of an index, 1 ... 7 */
    int32_t values;            /* values from one channel's table to the next; 0: all channels share one table */
    int32_t depth;             /* elements of an input vector */
    int32_t piece;             /* neighbouring elements of a vector that are read at once */
    int32_t pieces;            /* pieces of a vector: depth / piece */
    int32_t vectors;           /* input vectors, and output vectors, of a step */
    int32_t vectors_per_row;   /* more than 1 only where pieces is 1; divides vectors */
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_codebook_params;

/* output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last channel is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces / vectors_per_row pointers to
 * [vectors_per_row][piece].
 * scratch: none. */
void kibi_fully_connected_s8_codebook(int8_t *output, const int8_t *const *rows,
                                     const kibi_fully_connected_s8_codebook_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
