/* Functions of two elements, of inputs that broadcast. kibi/kernels/templates.py says how a template is read.
 *
 * RESULT is the output's type, VALUE what is written for the elements *a and *b. */

/*= kibi_maximum_TYPE
 *  TYPE: s8 s16 s32 s64 f32
 *  RESULT: TYPE_t
 *  VALUE: *a > *b ? *a : *b
 *  MAXIMUM. Source of the rule: TFLM, micro/kernels/maximum_minimum.h, MaximumOp. */

/*= kibi_minimum_TYPE
 *  TYPE: s8 s16 s32 s64 f32
 *  RESULT: TYPE_t
 *  VALUE: *a < *b ? *a : *b
 *  MINIMUM. Source of the rule: TFLM, micro/kernels/maximum_minimum.h, MinimumOp. */

/*= kibi_add_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_cut_f32(*a + *b, p->activation_min, p->activation_max)
 *  ADD of floats. Source of the rule: TFLM, reference/add.h, AddElementwise. */
#include "kibi_cut_f32.h"

/*= kibi_sub_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_cut_f32(*a - *b, p->activation_min, p->activation_max)
 *  SUB of floats. Source of the rule: TFLM, reference/sub.h, SubWithActivation. */
#include "kibi_cut_f32.h"

/*= kibi_mul_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_cut_f32(*a * *b, p->activation_min, p->activation_max)
 *  MUL of floats. Source of the rule: TFLM, reference/mul.h, Mul. */
#include "kibi_cut_f32.h"

/*= kibi_div_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_cut_f32(KIBI_QUOTIENT(*a, *b), p->activation_min, p->activation_max)
 *  DIV of floats. Source of the rule: TFLM, reference/div.h, Div. */
#include "kibi_cut_f32.h"
#include "kibi_quotient_f32.h"

/*= kibi_add_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: kibi_clamp((int32_t)((uint32_t)*a + (uint32_t)*b), p->activation_min, p->activation_max)
 *  ADD of int32. Source of the rule: TFLM, reference/add.h, AddElementwise. */
#include "kibi_requantize.h"

/*= kibi_sub_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: kibi_clamp((int32_t)((uint32_t)*a - (uint32_t)*b), p->activation_min, p->activation_max)
 *  SUB of int32. Source of the rule: TFLM, reference/sub.h, SubWithActivation. */
#include "kibi_requantize.h"

/*= kibi_mul_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: kibi_clamp((int32_t)((uint32_t)*a * (uint32_t)*b), p->activation_min, p->activation_max)
 *  MUL of int32. Source of the rule: TFLM, reference/mul.h, Mul. */
#include "kibi_requantize.h"

/*= kibi_div_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: kibi_clamp(quotient(*a, *b), p->activation_min, p->activation_max)
 *  DIV of int32. Source of the rule: TFLM, reference/div.h, Div. */
#include "kibi_requantize.h"

/* Where the divisor is 0, or the quotient 2**31, the dividend: neither stops the program. */
static inline int32_t quotient(int32_t a, int32_t b)
{
    return b == 0 || (b == -1 && a == INT32_MIN) ? a : a / b;
}

/*= kibi_floor_div_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: (float)floor_of((double)*a / (double)*b)
 *  FLOOR_DIV of floats. Source of the rule: TFLM, reference/floor_div.h. */
#include "kibi_float.h"

/* The largest integer that is not above the value; zeros, infinities and NaN stay what they are. */
static inline double floor_of(double value)
{
    /* From 2**52 on there is no fraction. */
    if (!(value < 4503599627370496.0 && value > -4503599627370496.0) || value == 0.0) {
        return value;
    }
    const double whole = (double)(int64_t)value;
    return whole > value ? whole - 1.0 : whole;
}

/*= kibi_floor_div_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: floor_of(*a, *b)
 *  FLOOR_DIV of int32. Source of the rule: TFLM, reference/floor_div.h. */

/* Where the divisor is 0, or the quotient 2**31, the dividend: neither stops the program. */
static inline int32_t floor_of(int32_t a, int32_t b)
{
    if (b == 0 || (b == -1 && a == INT32_MIN)) {
        return a;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

/*= kibi_floor_mod_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: rest_of(*a, *b)
 *  FLOOR_MOD of floats. Source of the rule: TFLM, reference/floor_mod.h. */
#include "kibi_float.h"
#include "kibi_rest_of_bits.h"

/* The rest of a division that is cut towards zero. */
static inline float rest_of(float dividend, float divisor)
{
    const float rest = kibi_float_of_bits(kibi_rest_of_bits(kibi_bits_of_float(dividend), kibi_bits_of_float(divisor)));
    return rest != 0.0f && (divisor < 0.0f) != (rest < 0.0f) ? rest + divisor : rest;
}

/*= kibi_floor_mod_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: rest_of(*a, *b)
 *  FLOOR_MOD of int32. Source of the rule: TFLM, reference/floor_mod.h. */

/* The rest, which has the sign of the divisor; 0 where the divisor is 0. */
static inline int32_t rest_of(int32_t a, int32_t b)
{
    if (b == 0 || b == -1) {
        return 0;
    }
    const int32_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/*= kibi_squared_difference_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: square_of(*a - *b)
 *  SQUARED_DIFFERENCE of floats. Source of the rule: TFLM, micro/kernels/squared_difference.cc. */

static inline float square_of(float difference)
{
    return difference * difference;
}

/*= kibi_squared_difference_s32
 *  TYPE: s32
 *  RESULT: int32_t
 *  VALUE: (int32_t)square_of((uint32_t)*a - (uint32_t)*b)
 *  SQUARED_DIFFERENCE of int32. Source of the rule: TFLM, micro/kernels/squared_difference.cc. */

static inline uint32_t square_of(uint32_t difference)
{
    return difference * difference;
}

/*= kibi_squared_difference_TYPE
 *  TYPE: s8
 *  RESULT: TYPE_t
 *  VALUE: (TYPE_t)kibi_clamp(kibi_wrapping_add(square_of(a, b, p), p->output_zero_point), -128, 127)
 *  LEFT: 7
 *  SQUARED_DIFFERENCE of int8. Source of the rule: TFLM, micro/kernels/squared_difference.cc. */
#include "kibi_rescaled_s32.h"

/* Both elements are brought to LEFT more bits before they are scaled. */
static inline int32_t square_of(const TYPE_t *a, const TYPE_t *b, const PARAMS *p)
{
    const int32_t first = kibi_rescaled((*a - p->zero_point1) * (1 << LEFT), p->multiplier1, p->shift1);
    const int32_t second = kibi_rescaled((*b - p->zero_point2) * (1 << LEFT), p->multiplier2, p->shift2);
    const uint32_t difference = (uint32_t)(first - second);
    return kibi_requantize((int32_t)(difference * difference), p->output_multiplier, p->output_shift);
}

/*= kibi_squared_difference_TYPE
 *  TYPE: s16
 *  RESULT: TYPE_t
 *  VALUE: (TYPE_t)kibi_clamp(kibi_wrapping_add(square_of(a, b, p), p->output_zero_point), INT16_MIN, INT16_MAX)
 *  SQUARED_DIFFERENCE of int16. Source of the rule: TFLM, micro/kernels/squared_difference.cc. */
#include "kibi_rescaled_s32.h"

static inline int32_t square_of(const TYPE_t *a, const TYPE_t *b, const PARAMS *p)
{
    const int32_t first = kibi_rescaled(*a - p->zero_point1, p->multiplier1, p->shift1);
    const int32_t second = kibi_rescaled(*b - p->zero_point2, p->multiplier2, p->shift2);
    const uint32_t difference = (uint32_t)(first - second);
    return kibi_requantize((int32_t)(difference * difference), p->output_multiplier, p->output_shift);
}

/*= kibi_add_TYPE
 *  TYPE: s8
 *  RESULT: TYPE_t
 *  VALUE: (TYPE_t)kibi_clamp(sum_of(a, b, p), p->activation_min, p->activation_max)
 *  LEFT: 20
 *  ADD of int8. Source of the rule: TFLM, integer_ops/add.h, AddFunc. */
#include "kibi_rescaled_s32.h"

/* Both elements are brought to LEFT more bits before they are scaled. */
static inline int32_t sum_of(const TYPE_t *a, const TYPE_t *b, const PARAMS *p)
{
    const int32_t first = kibi_rescaled((*a - p->zero_point1) * (1 << LEFT), p->multiplier1, p->shift1);
    const int32_t second = kibi_rescaled((*b - p->zero_point2) * (1 << LEFT), p->multiplier2, p->shift2);
    return kibi_rescaled(first + second, p->output_multiplier, p->output_shift) + p->output_zero_point;
}

/*= kibi_add_TYPE
 *  TYPE: s16
 *  RESULT: TYPE_t
 *  VALUE: (TYPE_t)kibi_clamp(sum_of(a, b, p), p->activation_min, p->activation_max)
 *  LEFT: 15
 *  ADD of int16. Source of the rule: TFLM, reference/add.h, AddFunc. */
#include "kibi_rescaled_s32.h"

/* Both elements are brought to LEFT more bits before they are scaled. */
static inline int32_t sum_of(const TYPE_t *a, const TYPE_t *b, const PARAMS *p)
{
    const int32_t first = kibi_rescaled((*a - p->zero_point1) * (1 << LEFT), p->multiplier1, p->shift1);
    const int32_t second = kibi_rescaled((*b - p->zero_point2) * (1 << LEFT), p->multiplier2, p->shift2);
    return kibi_rescaled(first + second, p->output_multiplier, p->output_shift) + p->output_zero_point;
}

/*= kibi_sub_TYPE
 *  TYPE: s8
 *  RESULT: TYPE_t
 *  VALUE: (TYPE_t)kibi_clamp(difference_of(a, b, p), p->activation_min, p->activation_max)
 *  LEFT: 20
 *  SUB of int8. Source of the rule: TFLM, reference/sub.h, SubElementwise. */
#include "kibi_rescaled_s32.h"

/* Both elements are brought to LEFT more bits before they are scaled. */
static inline int32_t difference_of(const TYPE_t *a, const TYPE_t *b, const PARAMS *p)
{
    const int32_t first = kibi_rescaled((*a - p->zero_point1) * (1 << LEFT), p->multiplier1, p->shift1);
    const int32_t second = kibi_rescaled((*b - p->zero_point2) * (1 << LEFT), p->multiplier2, p->shift2);
    return kibi_rescaled(first - second, p->output_multiplier, p->output_shift) + p->output_zero_point;
}

/*= kibi_sub_TYPE
 *  TYPE: s16
 *  RESULT: TYPE_t
 *  VALUE: (TYPE_t)kibi_clamp(difference_of(a, b, p), p->activation_min, p->activation_max)
 *  LEFT: 15
 *  SUB of int16. Source of the rule: TFLM, reference/sub.h, SubElementwise. */
#include "kibi_rescaled_s32.h"

/* Both elements are brought to LEFT more bits before they are scaled. */
static inline int32_t difference_of(const TYPE_t *a, const TYPE_t *b, const PARAMS *p)
{
    const int32_t first = kibi_rescaled((*a - p->zero_point1) * (1 << LEFT), p->multiplier1, p->shift1);
    const int32_t second = kibi_rescaled((*b - p->zero_point2) * (1 << LEFT), p->multiplier2, p->shift2);
    return kibi_rescaled(first - second, p->output_multiplier, p->output_shift) + p->output_zero_point;
}

/*= kibi_mul_s8
 *  TYPE: s8
 *  RESULT: int8_t
 *  VALUE: (int8_t)product_of(*a - p->zero_point1, *b - p->zero_point2, p)
 *  MUL of int8. Source of the rule: TFLM, integer_ops/mul.h, MulElementwise. */
#include "kibi_requantize.h"

static inline int32_t product_of(int32_t a, int32_t b, const PARAMS *p)
{
    const int32_t scaled = kibi_requantize(a * b, p->output_multiplier, p->output_shift);
    return kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), p->activation_min, p->activation_max);
}

/*= kibi_mul_s16
 *  TYPE: s16
 *  RESULT: int16_t
 *  VALUE: (int16_t)product_of(*a, *b, p)
 *  MUL of int16. Source of the rule: TFLM, integer_ops/mul.h, MulElementwise. */
#include "kibi_requantize.h"

static inline int32_t product_of(int32_t a, int32_t b, const PARAMS *p)
{
    const int32_t product = kibi_requantize(a * b, p->output_multiplier, p->output_shift);
    return kibi_clamp(product, p->activation_min, p->activation_max);
}

/*= kibi_div_s8
 *  TYPE: s8
 *  RESULT: int8_t
 *  VALUE: (int8_t)kibi_clamp(quotient(*a - p->zero_point1, *b - p->zero_point2, p), p->activation_min, p->activation_max)
 *  DIV of int8. Source of the rule: TFLM, reference/div.h, DivElementwise. */
#include "kibi_requantize.h"

/* The number of bits of a magnitude. */
static inline int32_t bits_of(int32_t value)
{
    int32_t count = 0;
    while (value != 0) {
        value >>= 1;
        ++count;
    }
    return count;
}

/* a / b in the output's scale; b == 0 gives what is beyond the range, on the side of a. */
static inline int32_t quotient(int32_t a, int32_t b, const PARAMS *p)
{
    if (b == 0) {
        return a == 0 ? p->output_zero_point : (a < 0 ? -0x10000 : 0x10000);
    }
    const int32_t dividend = b < 0 ? -a : a;
    const int32_t divisor = b < 0 ? -b : b;
    /* As far to the left as the sign allows: -1 has one bit less than its magnitude. */
    const int32_t headroom = 31 - bits_of(dividend < 0 ? ~dividend : dividend);
    const int32_t shifted = (int32_t)((uint32_t)dividend << headroom);
    const int32_t high = kibi_multiply_high(shifted, KIBI_AT(int32_t, p, reciprocals)[divisor]);
    const int32_t exponent = headroom + bits_of(divisor) - 1 - p->output_shift;
    const int32_t scaled = kibi_divide_by_power(kibi_multiply_high(high, p->output_multiplier), exponent > 31 ? 31 : exponent);
    return (exponent > 31 ? 0 : scaled) + p->output_zero_point;
}

/*= kibi_prelu_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: *a >= 0.0f ? *a : *a * *b
 *  PRELU of floats. Source of the rule: TFLM, micro/kernels/prelu_common.cc. */

/*= kibi_prelu_s8
 *  TYPE: s8
 *  RESULT: int8_t
 *  VALUE: (int8_t)kibi_clamp(kibi_wrapping_add(scaled(*a - p->zero_point1, *b - p->zero_point2, p), p->output_zero_point), -128, 127)
 *  PRELU of int8. Source of the rule: TFLM, reference/prelu.h. */
#include "kibi_requantize.h"

static inline int32_t scaled(int32_t a, int32_t slope, const PARAMS *p)
{
    return a >= 0 ? kibi_requantize(a, p->multiplier1, p->shift1) : kibi_requantize(a * slope, p->multiplier2, p->shift2);
}

/*= kibi_logical_and_bool
 *  TYPE: bool
 *  RESULT: uint8_t
 *  VALUE: (uint8_t)(*a && *b)
 *  LOGICAL_AND. Source of the rule: TFLM, micro/kernels/logical_common.cc. */

/*= kibi_logical_or_bool
 *  TYPE: bool
 *  RESULT: uint8_t
 *  VALUE: (uint8_t)(*a || *b)
 *  LOGICAL_OR. Source of the rule: TFLM, micro/kernels/logical_common.cc. */

/*= kibi_compare_TYPE
 *  TYPE: bool s32 s64 f32
 *  RESULT: uint8_t
 *  VALUE: (uint8_t)((outcome(*a, *b) & p->relation) != 0)
 *  Comparisons. Source of the rule: TFLM, reference/comparisons.h. */

/* How a compares with b, as in `relation`. */
static inline int32_t outcome(TYPE_t a, TYPE_t b)
{
    return a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
}

/*= kibi_compare_s8
 *  TYPE: s8
 *  RESULT: uint8_t
 *  VALUE: (uint8_t)((outcome(*a, *b, p) & p->relation) != 0)
 *  Comparisons of int8: rule N33 of Kibi's numerics. Source: TFLM, reference/comparisons.h. */
#include "kibi_requantize.h"

/* How a compares with b, as in `relation`. Both get 8 more bits before they are scaled. */
static inline int32_t outcome(int32_t a, int32_t b, const PARAMS *p)
{
    const int32_t first = kibi_requantize((a - p->zero_point1) * (1 << 8), p->multiplier1, p->shift1);
    const int32_t second = kibi_requantize((b - p->zero_point2) * (1 << 8), p->multiplier2, p->shift2);
    return first < second ? 1 : first == second ? 2 : 4;
}

/*= =
 *  The loop. */

void KERNEL(RESULT *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS *const p = params;
    const TYPE_t *const *rows2 = rows + p->rows1;
    (void)scratch;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const TYPE_t *a = rows[piece * p->row_step1] + piece * p->piece_step1;
        const TYPE_t *b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        for (int32_t i = 0; i < p->elements; ++i) {
            const RESULT value = VALUE;
            *output++ = value;
            a += p->step1;
            b += p->step2;
        }
    }
}
