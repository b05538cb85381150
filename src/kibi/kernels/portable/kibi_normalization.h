/* SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION: each kernel computes one output row. */
#ifndef KIBI_NORMALIZATION_H
#define KIBI_NORMALIZATION_H

#include "kibi.h"

typedef struct {
    int32_t vectors; /* of a row */
    int32_t depth;   /* elements of a vector, 1 or more */
} kibi_vectors_params;

/* Each of the following:
 * output: [vectors][depth]; may begin at the input row, or below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */

/* L2_NORMALIZATION of floats: one output row, a vector or several. */
void kibi_l2_normalization_f32(float *output, const float *const *rows, const kibi_vectors_params *params,
                               void *scratch);

/* LOG_SOFTMAX of floats: the vectors of one output row. */
void kibi_log_softmax_f32(float *output, const float *const *rows, const kibi_vectors_params *params, void *scratch);

typedef struct {
    int32_t vectors; /* of a row */
    int32_t depth;   /* elements of a vector, 1 ... 33025 */
    int32_t zero_point;
} kibi_l2_normalization_s8_params;

/* L2_NORMALIZATION of int8: one output row, a vector or several.
 * output: [vectors][depth], scale 1/128, zero point 0; may be the input row itself, or begin below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_l2_normalization_s8(int8_t *output, const int8_t *const *rows, const kibi_l2_normalization_s8_params *params,
                              void *scratch);

typedef struct {
    int32_t vectors;             /* of a row */
    int32_t depth;               /* elements of a vector, 1 ... 2048 */
    /* [differences], exp of the scaled differences 0, -1, ... as Q0.31; that of others counts as 0 */
    const int32_t *exponentials;
    int32_t differences;         /* 1 ... 256 */
    int32_t multiplier;          /* brings differences to Q5.26: 2**30 ... 2**31 - 1 */
    int32_t shift;               /* 1 ... 30 */
    int32_t inverse_multiplier;  /* brings them back: 2**30 ... 2**31 - 1 */
    int32_t inverse_shift;       /* -31 ... 0 */
    int32_t least_difference;    /* differences up to this one, below 0, give -128 */
} kibi_log_softmax_s8_params;

/* LOG_SOFTMAX of int8: one output row, a vector or several.
 * output: [vectors][depth], scale 1/16, zero point 127; may be the input row itself, or begin below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_log_softmax_s8(int8_t *output, const int8_t *const *rows, const kibi_log_softmax_s8_params *params,
                         void *scratch);

typedef struct {
    float beta;      /* factor of the inputs */
    int32_t vectors; /* of a row */
    int32_t depth;   /* elements of a vector, 1 or more */
} kibi_softmax_f32_params;

/* SOFTMAX of floats: the vectors of one output row.
 * output: [vectors][depth]; may begin at the input row, or below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none; exponentials stay in the output until their sum is known. */
void kibi_softmax_f32(float *output, const float *const *rows, const kibi_softmax_f32_params *params, void *scratch);

typedef struct {
    const int16_t *exponentials; /* [513], exp(10 * k / 512 - 10) in units of 2**-15 */
    const int16_t *reciprocals;  /* [513], 1 / (1 + k / 512) in units of 2**-15 */
    int32_t multiplier;          /* brings differences to units of 10/65535: 0 ... 2**31 - 1 */
    int32_t shift;               /* -31 ... 30; negative is to the right */
    int32_t vectors;             /* of a row */
    int32_t depth;               /* elements of a vector, 1 ... 65536 */
} kibi_softmax_s16_params;

/* SOFTMAX of int16: one output row, a vector or several.
 * output: [vectors][depth], scale 1/32768, zero point 0; may be the input row itself, or begin below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none; exponentials stay in the output until their sum is known. */
void kibi_softmax_s16(int16_t *output, const int16_t *const *rows, const kibi_softmax_s16_params *params,
                      void *scratch);

typedef struct {
    /* [differences], exp of the scaled differences 0, -1, ... as Q0.31; that of others counts as 0 */
    const int32_t *exponentials;
    int32_t differences;         /* 1 ... 256 */
    int32_t vectors;             /* of a row */
    int32_t depth;               /* elements of a vector, 1 ... 2048 */
} kibi_softmax_s8_params;

/* SOFTMAX: one output row, a vector or several.
 * output: [vectors][depth], scale 1/256, zero point -128; may be the input row itself, or begin
 * below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_softmax_s8(int8_t *output, const int8_t *const *rows, const kibi_softmax_s8_params *params, void *scratch);

/* SOFTMAX from int8 to int16: one output row, a vector or several.
 * output: [vectors][depth], scale 1/65536, zero point -32768; may overlap the input row where it begins at
 * least vectors * depth - 1 bytes below it.
 * rows: one pointer to [vectors][depth].
 * scratch: none. */
void kibi_softmax_s8_s16(int16_t *output, const int8_t *const *rows, const kibi_softmax_s8_params *params,
                         void *scratch);

#endif
