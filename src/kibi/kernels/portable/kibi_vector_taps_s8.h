/* Outputs of neighbouring pixels of a depthwise convolution three by three: products of int8, sixteen channels at a time. */
#ifndef KIBI_VECTOR_TAPS_S8_H
#define KIBI_VECTOR_TAPS_S8_H

#include "kibi.h"

/* Taps of a window, channels of a block, and what a block has of constants: words with biases, with weights, and with scales. */
enum { KIBI_VECTOR_TAPS = 9, KIBI_VECTOR_LANES = 16, KIBI_VECTOR_BIASES = 16, KIBI_VECTOR_WEIGHTS = 36, KIBI_VECTOR_SCALES = 20 };
enum { KIBI_VECTOR_FACTORS = 16 };
#define KIBI_VECTOR_BLOCK (KIBI_VECTOR_BIASES + KIBI_VECTOR_WEIGHTS + KIBI_VECTOR_SCALES)
#define KIBI_VECTOR_BLOCK_ONCE (KIBI_VECTOR_BIASES + KIBI_VECTOR_WEIGHTS + KIBI_VECTOR_FACTORS)

/* What is computed; kernels in assembly know where each field is. */
typedef struct {
    const int8_t *taps[KIBI_VECTOR_TAPS]; /* of the first pixel: the first channel */
    int8_t *output;
    /* Blocks of sixteen channels. A channel's place among its block's: 4 * i + j. Biases: [j][i]. Weights, a byte each:
     * [taps][places], above -128. Scales: for each j multipliers [i], and shifts [i], a byte each.
     * Of outputs that are rounded once: addends [j][i] in the place of biases, and factors [j][i] in that of scales. */
    const int32_t *constants;
    int32_t channels;        /* a multiple of four */
    int32_t advance;         /* from the end of a pixel's last block to the next pixel, for taps */
    int32_t output_advance;  /* the same for outputs */
    int32_t pixels;          /* at least 1; changes */
    int32_t zero_point;      /* of the output */
    int16_t low[8];          /* the bounds of outputs, each eight times */
    int16_t high[8];
} kibi_vector_taps;

/* Computes all channels of the pixels. Shifts are to the right by 1 … 31; no sum overflows.
 * rounds_once: 1: outputs are (256 * sum + addend) * factor / 2^43, to the nearest, halves up, cut to int8. Zero point and bounds do not
 * count; 256 * sum + addend is computed in 32 bits, and factors are not negative. */
void kibi_vector_taps_s8(kibi_vector_taps *task, int32_t rounds_once);

#endif
