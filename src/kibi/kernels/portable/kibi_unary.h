/* Functions of one element, CAST included: each kernel computes one output row. */
#ifndef KIBI_UNARY_H
#define KIBI_UNARY_H

#include "kibi.h"

typedef struct {
    int32_t elements; /* of a row */
} kibi_elements_params;

/* Each of the following:
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */

/* ABS of floats. */
void kibi_abs_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* CEIL of floats. */
void kibi_ceil_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* FLOOR of floats. */
void kibi_floor_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* HARD_SWISH of floats. */
void kibi_hard_swish_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* NEG of floats. */
void kibi_neg_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* RELU6 of floats. */
void kibi_relu6_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* RELU of floats. */
void kibi_relu_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* ROUND of floats. */
void kibi_round_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* RSQRT of floats. */
void kibi_rsqrt_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* SQRT of floats. */
void kibi_sqrt_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* SQUARE of floats. */
void kibi_square_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* Each of the following:
 * output: [elements]; may overlap the input row where no element is written over one that is still to be read.
 * rows: one pointer to [elements].
 * scratch: none. */

/* CAST from the first type to the second; u8 is bool, too. */
void kibi_cast_f32_s16(int16_t *output, const float *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_f32_s32(int32_t *output, const float *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_f32_s8(int8_t *output, const float *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_f32_u32(uint32_t *output, const float *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s16_f32(float *output, const int16_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s16_s32(int32_t *output, const int16_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s16_s8(int8_t *output, const int16_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s16_u32(uint32_t *output, const int16_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s32_f32(float *output, const int32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s32_s16(int16_t *output, const int32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s32_s8(int8_t *output, const int32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s32_u32(uint32_t *output, const int32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s8_f32(float *output, const int8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s8_s16(int16_t *output, const int8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s8_s32(int32_t *output, const int8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_s8_u32(uint32_t *output, const int8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u32_f32(float *output, const uint32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u32_s16(int16_t *output, const uint32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u32_s32(int32_t *output, const uint32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u32_s8(int8_t *output, const uint32_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u8_f32(float *output, const uint8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u8_s16(int16_t *output, const uint8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u8_s32(int32_t *output, const uint8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u8_s8(int8_t *output, const uint8_t *const *rows, const kibi_elements_params *params, void *scratch);
void kibi_cast_u8_u32(uint32_t *output, const uint8_t *const *rows, const kibi_elements_params *params, void *scratch);

/* Each of the following:
 * output: [elements]; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */

/* COS of floats. */
void kibi_cos_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* ELU of floats. */
void kibi_elu_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* EXP of floats. */
void kibi_exp_f32_each(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* LOG of floats. */
void kibi_log_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* LOGISTIC of floats. */
void kibi_logistic_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* SIN of floats. */
void kibi_sin_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* TANH of floats. */
void kibi_tanh_f32(float *output, const float *const *rows, const kibi_elements_params *params, void *scratch);

/* LOGICAL_NOT: one row.
 * output: [elements] of 0 and 1; may be the input row, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_logical_not_bool(uint8_t *output, const uint8_t *const *rows, const kibi_elements_params *params,
                           void *scratch);

typedef struct {
    int32_t elements;   /* of a row */
    int32_t is_scaled;  /* 0 where the scales are equal, or there are none; else 1 */
    int32_t multiplier; /* 0 ... 2**31 - 1 */
    int32_t shift;      /* -31 ... 30; negative is to the right */
} kibi_abs_s16_params;

/* ABS: one output row; zero points are 0.
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_abs_s16(int16_t *output, const int16_t *const *rows, const kibi_abs_s16_params *params, void *scratch);

typedef struct {
    int32_t elements; /* of a row */
    int32_t bytes;    /* of an input element: 1, 2 or 4 */
    int32_t is_float; /* 1 where input elements are floats, of which -0 is a zero, too; else 0 */
} kibi_cast_any_bool_params;

/* CAST to bool: one output row.
 * output: [elements] uint8_t, 0 or 1; may begin at the input row, or below it.
 * rows: one pointer to [elements][bytes].
 * scratch: none. */
void kibi_cast_any_bool(void *output, const void *const *rows, const kibi_cast_any_bool_params *params, void *scratch);

typedef struct {
    int32_t elements; /* of a row */
    float alpha;
} kibi_leaky_relu_f32_params;

/* LEAKY_RELU of floats: one output row.
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_leaky_relu_f32(float *output, const float *const *rows, const kibi_leaky_relu_f32_params *params,
                         void *scratch);

typedef struct {
    int32_t elements;         /* of a row */
    int32_t zero_point;
    int32_t output_zero_point;
    int32_t multiplier;       /* of inputs that are not negative: 0 ... 2**31 - 1 */
    int32_t shift;            /* -31 ... 30; negative is to the right */
    int32_t alpha_multiplier; /* of negative inputs: 0 ... 2**31 - 1 */
    int32_t alpha_shift;      /* -31 ... 30 */
    int32_t alpha_sign;       /* 1 or -1: the sign of the slope below 0, whose magnitude the factor has */
} kibi_leaky_relu_s16_params;

/* LEAKY_RELU: one output row.
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_leaky_relu_s16(int16_t *output, const int16_t *const *rows, const kibi_leaky_relu_s16_params *params,
                         void *scratch);

typedef struct {
    int32_t elements;    /* of a row */
    /* 0 ... 2**31 - 1; factor and shift bring inputs to units of 1/12288; a product beyond 32 bits wraps */
    int32_t factor;
    int32_t right_shift; /* 0 ... 31; 0 where the factor is above 32767 */
} kibi_sigmoid_s16_params;

/* Each of the following:
 * output: [elements], in units of 2**-15; may begin at the input row, or below it.
 * rows: one pointer to [elements].
 * scratch: none. */

/* LOGISTIC of int16. */
void kibi_logistic_s16(int16_t *output, const int16_t *const *rows, const kibi_sigmoid_s16_params *params,
                       void *scratch);

/* TANH of int16. */
void kibi_tanh_s16(int16_t *output, const int16_t *const *rows, const kibi_sigmoid_s16_params *params, void *scratch);

typedef struct {
    const int8_t *table; /* [256], the outputs for -128 ... 127 */
    int32_t elements;    /* of a row */
} kibi_table_s8_params;

/* Any function of one int8 element, as a table.
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_table_s8(int8_t *output, const int8_t *const *rows, const kibi_table_s8_params *params, void *scratch);

typedef struct {
    int32_t elements; /* of a row */
    int32_t zero_point;
    int32_t six;      /* the element that represents 6 */
} kibi_relu6_s16_params;

/* RELU6: one output row; scale and zero point stay.
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_relu6_s16(int16_t *output, const int16_t *const *rows, const kibi_relu6_s16_params *params, void *scratch);

typedef struct {
    int32_t elements;   /* of a row */
    int32_t multiplier; /* 0 ... 2**31 - 1 */
    int32_t shift;      /* -31 ... 30; negative is to the right */
} kibi_scale_params;

/* RELU: one output row; zero points are 0.
 * output: [elements]; may be the input row itself, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_relu_s16(int16_t *output, const int16_t *const *rows, const kibi_scale_params *params, void *scratch);

/* RSQRT of int16: one output row; zero points are 0.
 * output: [elements]; may be the input row itself, or begin below it; 32767 where the input is 0 or negative.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_rsqrt_s16(int16_t *output, const int16_t *const *rows, const kibi_scale_params *params, void *scratch);

#endif
