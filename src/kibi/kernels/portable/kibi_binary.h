/* Functions of two elements: each computes one output row of two inputs, which may broadcast. */
#ifndef KIBI_BINARY_H
#define KIBI_BINARY_H

#include "kibi.h"

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
} kibi_pair_params;

/* Each of the following:
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */

/* FLOOR_DIV of floats. */
void kibi_floor_div_f32(float *output, const float *const *rows, const kibi_pair_params *params, void *scratch);

/* FLOOR_DIV of 32-bit integers. */
void kibi_floor_div_s32(int32_t *output, const int32_t *const *rows, const kibi_pair_params *params, void *scratch);

/* FLOOR_MOD of floats. */
void kibi_floor_mod_f32(float *output, const float *const *rows, const kibi_pair_params *params, void *scratch);

/* FLOOR_MOD of 32-bit integers. */
void kibi_floor_mod_s32(int32_t *output, const int32_t *const *rows, const kibi_pair_params *params, void *scratch);

/* MAXIMUM. */
void kibi_maximum_f32(float *output, const float *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_maximum_s16(int16_t *output, const int16_t *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_maximum_s32(int32_t *output, const int32_t *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_maximum_s64(int64_t *output, const int64_t *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_maximum_s8(int8_t *output, const int8_t *const *rows, const kibi_pair_params *params, void *scratch);

/* MINIMUM. */
void kibi_minimum_f32(float *output, const float *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_minimum_s16(int16_t *output, const int16_t *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_minimum_s32(int32_t *output, const int32_t *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_minimum_s64(int64_t *output, const int64_t *const *rows, const kibi_pair_params *params, void *scratch);
void kibi_minimum_s8(int8_t *output, const int8_t *const *rows, const kibi_pair_params *params, void *scratch);

/* PRELU of floats of an input (1) and its slopes (2), which broadcast. */
void kibi_prelu_f32(float *output, const float *const *rows, const kibi_pair_params *params, void *scratch);

/* SQUARED_DIFFERENCE of floats. */
void kibi_squared_difference_f32(float *output, const float *const *rows, const kibi_pair_params *params,
                                 void *scratch);

/* SQUARED_DIFFERENCE of 32-bit integers; results wrap. */
void kibi_squared_difference_s32(int32_t *output, const int32_t *const *rows, const kibi_pair_params *params,
                                 void *scratch);

/* Each of the following:
 * output: [pieces][elements] of 0 and 1; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */

/* LOGICAL_AND. */
void kibi_logical_and_bool(uint8_t *output, const uint8_t *const *rows, const kibi_pair_params *params, void *scratch);

/* LOGICAL_OR. */
void kibi_logical_or_bool(uint8_t *output, const uint8_t *const *rows, const kibi_pair_params *params, void *scratch);

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t activation_min;
    int32_t activation_max;
} kibi_clamped_pair_params;

/* Each of the following:
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */

/* ADD of 32-bit integers; results wrap before they are clamped. */
void kibi_add_s32(int32_t *output, const int32_t *const *rows, const kibi_clamped_pair_params *params, void *scratch);

/* DIV of 32-bit integers; quotients are cut towards zero. */
void kibi_div_s32(int32_t *output, const int32_t *const *rows, const kibi_clamped_pair_params *params, void *scratch);

/* MUL of 32-bit integers; results wrap before they are clamped. */
void kibi_mul_s32(int32_t *output, const int32_t *const *rows, const kibi_clamped_pair_params *params, void *scratch);

/* SUB of 32-bit integers; results wrap before they are clamped. */
void kibi_sub_s32(int32_t *output, const int32_t *const *rows, const kibi_clamped_pair_params *params, void *scratch);

typedef struct {
    int32_t pieces;       /* parts of an output row: 1, or its columns */
    int32_t elements;     /* of a piece of the output */
    int32_t rows1;        /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;    /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1;  /* elements from one piece to the next */
    int32_t step1;        /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;    /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    float activation_min;
    float activation_max; /* applied after the minimum */
} kibi_clamped_pair_f32_params;

/* Each of the following:
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */

/* ADD of floats. */
void kibi_add_f32(float *output, const float *const *rows, const kibi_clamped_pair_f32_params *params, void *scratch);

/* DIV of floats. */
void kibi_div_f32(float *output, const float *const *rows, const kibi_clamped_pair_f32_params *params, void *scratch);

/* MUL of floats. */
void kibi_mul_f32(float *output, const float *const *rows, const kibi_clamped_pair_f32_params *params, void *scratch);

/* SUB of floats. */
void kibi_sub_f32(float *output, const float *const *rows, const kibi_clamped_pair_f32_params *params, void *scratch);

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t activation_min;
    int32_t activation_max;
    int32_t zero_point1;
    int32_t multiplier1; /* 0 ... 2**31 - 1, as all multipliers here */
    int32_t shift1;      /* -31 ... 0, as all shifts here */
    int32_t zero_point2;
    int32_t multiplier2;
    int32_t shift2;
    int32_t output_zero_point;
    int32_t output_multiplier;
    int32_t output_shift;
} kibi_scaled_sum_params;

/* Each of the following:
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */

/* ADD. */
void kibi_add_s16(int16_t *output, const int16_t *const *rows, const kibi_scaled_sum_params *params, void *scratch);
void kibi_add_s8(int8_t *output, const int8_t *const *rows, const kibi_scaled_sum_params *params, void *scratch);

/* SUB. */
void kibi_sub_s16(int16_t *output, const int16_t *const *rows, const kibi_scaled_sum_params *params, void *scratch);
void kibi_sub_s8(int8_t *output, const int8_t *const *rows, const kibi_scaled_sum_params *params, void *scratch);

/* An output is floor(a * factor1 / 2**8) + floor(b * factor2 / 2**8) + start, shifted to the right by 20 and cut to int8; for
 * any two int8 the sum fits 32 bits. Kernels in assembly know where each field is. */
typedef struct {
    int32_t factor1;
    int32_t factor2;  /* below 0 where the second input is subtracted */
    int32_t start;
    int32_t elements; /* at least 1 */
} kibi_add_s8_linear_params;

/* ADD or SUB of two rows of the same shape where one rounding is enough, as was proven for every pair of inputs.
 * output: [elements]; may be an input row, or begin below it.
 * rows: two pointers to [elements].
 * scratch: none. */
void kibi_add_s8_linear(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_params *params,
                        void *scratch);

typedef struct {
    int32_t factor1;
    int32_t factor2;  /* below 0 where the second input is subtracted */
    int32_t start;
    int32_t elements; /* at least 1 */
    int32_t is_first; /* 1: the first input is the single element; 0: the second one is */
} kibi_add_s8_linear_scalar_params;

/* The same of a row and a single element.
 * output: [elements]; may be the input row, or begin below it.
 * rows: two pointers, to [elements] and to [1], or the other way round.
 * scratch: none. */
void kibi_add_s8_linear_scalar(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_scalar_params *params,
                               void *scratch);

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t relation;    /* what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up */
} kibi_compare_params;

/* Each of the following:
 * output: [pieces][elements] of 0 and 1; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */

/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL of bool. */
void kibi_compare_bool(uint8_t *output, const uint8_t *const *rows, const kibi_compare_params *params, void *scratch);

/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL of float. */
void kibi_compare_f32(uint8_t *output, const float *const *rows, const kibi_compare_params *params, void *scratch);

/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL of int32. */
void kibi_compare_s32(uint8_t *output, const int32_t *const *rows, const kibi_compare_params *params, void *scratch);

/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL of int64. */
void kibi_compare_s64(uint8_t *output, const int64_t *const *rows, const kibi_compare_params *params, void *scratch);

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t relation;    /* what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up */
    int32_t zero_point1;
    int32_t multiplier1; /* 0 ... 2**31 - 1 */
    int32_t shift1;      /* -31 ... 0 */
    int32_t zero_point2;
    int32_t multiplier2;
    int32_t shift2;
} kibi_compare_s8_params;

/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL of int8: one output row of two inputs that broadcast.
 * output: [pieces][elements] of 0 and 1; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_compare_s8(uint8_t *output, const int8_t *const *rows, const kibi_compare_s8_params *params, void *scratch);

typedef struct {
    int32_t pieces;             /* parts of an output row: 1, or its columns */
    int32_t elements;           /* of a piece of the output */
    int32_t rows1;              /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;          /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1;        /* elements from one piece to the next */
    int32_t step1;              /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;          /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t activation_min;
    int32_t activation_max;
    int32_t zero_point1;
    int32_t zero_point2;
    int32_t output_zero_point;
    int32_t output_multiplier;  /* 0 ... 2**31 - 1 */
    int32_t output_shift;       /* -31 ... 30 */
    const int32_t *reciprocals; /* [256], of 0 ... 255, each with its leading bit at 2**31; that of 0 is not used */
} kibi_div_s8_params;

/* DIV: one output row of two inputs that broadcast.
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_div_s8(int8_t *output, const int8_t *const *rows, const kibi_div_s8_params *params, void *scratch);

typedef struct {
    int32_t pieces;            /* parts of an output row: 1, or its columns */
    int32_t elements;          /* of a piece of the output */
    int32_t rows1;             /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;         /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1;       /* elements from one piece to the next */
    int32_t step1;             /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;         /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t activation_min;
    int32_t activation_max;
    int32_t output_multiplier; /* 0 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... 30; negative is to the right */
} kibi_mul_s16_params;

/* MUL: one output row of two inputs that broadcast; zero points are 0.
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_mul_s16(int16_t *output, const int16_t *const *rows, const kibi_mul_s16_params *params, void *scratch);

typedef struct {
    int32_t pieces;            /* parts of an output row: 1, or its columns */
    int32_t elements;          /* of a piece of the output */
    int32_t rows1;             /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;         /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1;       /* elements from one piece to the next */
    int32_t step1;             /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;         /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t activation_min;
    int32_t activation_max;
    int32_t zero_point1;
    int32_t zero_point2;
    int32_t output_zero_point;
    int32_t output_multiplier; /* 0 ... 2**31 - 1 */
    int32_t output_shift;      /* -31 ... 30 */
} kibi_mul_s8_params;

/* MUL: one output row of two inputs that broadcast.
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_mul_s8(int8_t *output, const int8_t *const *rows, const kibi_mul_s8_params *params, void *scratch);

typedef struct {
    int32_t pieces;      /* parts of an output row: 1, or its columns */
    int32_t elements;    /* of a piece of the output */
    int32_t rows1;       /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;   /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1; /* elements from one piece to the next */
    int32_t step1;       /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;   /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t zero_point1;
    int32_t zero_point2;
    int32_t multiplier1; /* of inputs that are not negative: 0 ... 2**31 - 1 */
    int32_t shift1;      /* -31 ... 30; negative is to the right */
    int32_t multiplier2; /* of products of input and slope */
    int32_t shift2;
    int32_t output_zero_point;
} kibi_prelu_params;

/* PRELU of int16: one output row of an input (1) and its int8 slopes (2), which broadcast.
 * output: [pieces][elements] int16; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts, or of slopes.
 * rows: rows1 pointers to int16 for input 1, then those to int8 of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_prelu_s16(void *output, const void *const *rows, const kibi_prelu_params *params, void *scratch);

/* PRELU: one output row of an input (1) and its slopes (2), which broadcast.
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_prelu_s8(int8_t *output, const int8_t *const *rows, const kibi_prelu_params *params, void *scratch);

typedef struct {
    int32_t pieces;       /* parts of an output row: 1, or its columns */
    int32_t elements;     /* of a piece of the output */
    int32_t rows1;        /* pointers of input 1: 1, or one for each piece */
    int32_t row_step1;    /* of input 1: pointers from one piece to the next, 0 or 1 */
    int32_t piece_step1;  /* elements from one piece to the next */
    int32_t step1;        /* elements from one element to the next, 0 or 1 */
    int32_t row_step2;    /* the same of input 2 */
    int32_t piece_step2;
    int32_t step2;
    int32_t zero_point1;
    int32_t multiplier1;  /* 0 ... 2**31 - 1, as all multipliers here */
    int32_t shift1;       /* -31 ... 0 */
    int32_t zero_point2;
    int32_t multiplier2;
    int32_t shift2;
    int32_t output_zero_point;
    int32_t output_multiplier;
    int32_t output_shift; /* -31 ... 30 */
} kibi_scaled_difference_params;

/* SQUARED_DIFFERENCE: one output row of two inputs that broadcast.
 * output: [pieces][elements]; may be an input row of as many elements, or begin below it; does not overlap a row that
 * broadcasts.
 * rows: rows1 pointers for input 1, then those of input 2, at the steps that the parameters give.
 * scratch: none. */
void kibi_squared_difference_s16(int16_t *output, const int16_t *const *rows,
                                 const kibi_scaled_difference_params *params, void *scratch);
void kibi_squared_difference_s8(int8_t *output, const int8_t *const *rows, const kibi_scaled_difference_params *params,
                                void *scratch);

#endif
