/* FULLY_CONNECTED, or CONV_2D to rows of one pixel, from weights that were packed ahead of time. */
#ifndef KIBI_FULLY_CONNECTED_S8_BLOCKS_H
#define KIBI_FULLY_CONNECTED_S8_BLOCKS_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels in assembly know where each field lies.
 * Channels come in blocks of eight, the last ones in blocks of two, a channel of zeros behind an odd one. Of a block lie one
 * after another: a word for each channel to start its sum from; then, for each four elements of each piece, zeros behind the
 * last, a word for each channel of weights in halves, as kibi_halves_s8.h adds them up. So a channel starts from 256 times its
 * bias, with -input zero point * sum of its weights in it, minus 127 times the sum of its second weights. */
typedef struct {
    /* blocks of channels, with what their sums start from; the kernel's header describes a block */
    const int32_t *filter;
    /* for two channels: a word with ~shift of both in its two lowest bytes, each 0 ... 30, where shifts are to the
     * right by at least 1; and both multipliers, 0 ... 2**31 - 1; then those of the next two channels, or the same
     * three words are those of all */
    const int32_t *scales;
    /* bytes from the words of two channels to those of the next two: 12, or 0 where all channels share them */
    int32_t scale_step;
    int32_t piece;         /* neighbouring elements of an input vector */
    int32_t pieces;        /* pieces of a vector */
    int32_t vectors;       /* input vectors, and output vectors, of a step */
    int32_t row_elements;  /* elements that follow one another in memory: more than piece only where pieces is 1 */
    int32_t output_channels;
    int32_t rounding;      /* twice the output's zero point, plus 1 */
    /* 0: outputs are clamped to the range of int8 alone; 1: to activation_min ... activation_max */
    int32_t clamps;
    int32_t activation_min;
    int32_t activation_max;
} kibi_fully_connected_s8_blocks_params;

/* The true sums are below 2**23 in magnitude, whatever the inputs are.
 * output: [vectors][output_channels]; may overlap an input row where no vector is written over one that is still read:
 * vectors are written in order, and one of the input is read until the last block of eight channels, or all that are left
 * behind these, is written.
 * rows: the input vectors one after another, cut into pieces: vectors * pieces * piece / row_elements pointers to
 * [row_elements].
 * scratch: none. */
void kibi_fully_connected_s8_blocks(int8_t *output, const int8_t *const *rows,
                                    const kibi_fully_connected_s8_blocks_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
