/* Functions of one element. kibi/kernels/templates.py says how a template is read.
 *
 * RESULT is the output's type, VALUE what is written for the element input[i]. */

/*= kibi_abs_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_float_of_bits(kibi_bits_of_float(input[i]) & 0x7FFFFFFFu)
 *  ABS of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, AbsEval. */
#include "kibi_float_bits.h"

/*= kibi_ceil_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: -kibi_floor(-input[i])
 *  CEIL. Source of the rule: TFLM, reference/ceil.h, Ceil. */
#include "kibi_float_bits.h"

/*= kibi_floor_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_floor(input[i])
 *  FLOOR. Source of the rule: TFLM, reference/floor.h, Floor. */
#include "kibi_float_bits.h"

/*= kibi_round_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: round_of(input[i])
 *  ROUND. Source of the rule: TFLM, reference/round.h, RoundToNearest. */
#include "kibi_float_bits.h"

static inline float round_of(float value)
{
    const float below = kibi_floor(value);
    const float rest = value - below;
    /* Where the rest is a half, the integer is below 2**23. */
    const int is_below = rest < 0.5f || (rest == 0.5f && (int32_t)below % 2 == 0);
    return is_below ? below : below + 1.0f;
}

/*= kibi_neg_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: -input[i]
 *  NEG of floats. Source of the rule: TFLM, reference/neg.h, Negate. */

/*= kibi_square_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: input[i] * input[i]
 *  SQUARE of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, SquareEval. */

/*= kibi_sqrt_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_square_root(input[i])
 *  SQRT of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, SqrtEval. */
#include "kibi_square_root.h"

/*= kibi_rsqrt_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: KIBI_QUOTIENT(1.0f, kibi_square_root(input[i]))
 *  RSQRT of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, RsqrtEval. */
#include "kibi_quotient_f32.h"
#include "kibi_square_root.h"

/*= kibi_cos_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_circular_f32(input[i], 1)
 *  COS of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, CosEval. */
#include "kibi_circular_f32.h"

/*= kibi_sin_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_circular_f32(input[i], 0)
 *  SIN of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, SinEval. */
#include "kibi_circular_f32.h"

/*= kibi_log_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_logarithm_f32(input[i])
 *  LOG of floats. Source of the rule: TFLM, micro/kernels/elementwise.cc, LogEval. */
#include "kibi_logarithm_f32.h"

/*= kibi_exp_f32_each
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_exp_f32(input[i])
 *  EXP of floats. Source of the rule: TFLM, reference/exp.h, Exp. */
#include "kibi_exp_f32.h"

/*= kibi_elu_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: input[i] < 0.0f ? kibi_expm1_f32(input[i]) : input[i]
 *  ELU of floats. Source of the rule: TFLM, reference/elu.h, Elu. */
#include "kibi_expm1_f32.h"

/*= kibi_logistic_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_logistic_value(input[i])
 *  LOGISTIC of floats. Source of the rule: TFLM, reference/logistic.h, Logistic. */
#include "kibi_logistic_value.h"

/*= kibi_tanh_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: kibi_hyperbolic_tangent_f32(input[i])
 *  TANH of floats. Source of the rule: TFLM, reference/tanh.h, Tanh. */
#include "kibi_hyperbolic_tangent_f32.h"

/*= kibi_relu_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: input[i] < 0.0f ? 0.0f : input[i]
 *  RELU of floats. Source of the rule: TFLM, micro/kernels/activations_common.cc, ReluFloat. */

/*= kibi_relu6_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: cut(input[i])
 *  RELU6 of floats. Source of the rule: TFLM, micro/kernels/activations_common.cc, Relu6Float. */

static inline float cut(float value)
{
    const float raised = value < 0.0f ? 0.0f : value;
    return value > 6.0f ? 6.0f : raised;
}

/*= kibi_leaky_relu_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: input[i] > 0.0f ? input[i] : input[i] * p->alpha
 *  LEAKY_RELU of floats. Source of the rule: TFLM, reference/leaky_relu.h, LeakyRelu. */

/*= kibi_hard_swish_f32
 *  TYPE: f32
 *  RESULT: float
 *  VALUE: swish_of(input[i])
 *  HARD_SWISH of floats. Source of the rule: TFLM, reference/hard_swish.h, HardSwish. */
#include "kibi_quotient_f32.h"

static inline float swish_of(float value)
{
    const float moved = value + 3.0f;
    const float raised = 0.0f < moved ? moved : 0.0f;
    return KIBI_QUOTIENT(value * (raised < 6.0f ? raised : 6.0f), 6.0f);
}

/*= kibi_logical_not_bool
 *  TYPE: bool
 *  RESULT: uint8_t
 *  VALUE: (uint8_t)(input[i] == 0)
 *  LOGICAL_NOT. Source of the rule: TFLM, micro/kernels/elementwise.cc, LogicalNotEval. */

/*= kibi_cast_TYPE_TO_TYPE
 *  TYPE: s8
 *  TO_TYPE: s16 s32 u32 f32
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)input[i]
 *  CAST from s8 to TO_TYPE. Source of the rule: TFLM, micro/kernels/cast.cc. */

/*= kibi_cast_TYPE_TO_TYPE
 *  TYPE: s16
 *  TO_TYPE: s8 s32 u32 f32
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)input[i]
 *  CAST from s16 to TO_TYPE. Source of the rule: TFLM, micro/kernels/cast.cc. */

/*= kibi_cast_TYPE_TO_TYPE
 *  TYPE: s32
 *  TO_TYPE: s8 s16 u32 f32
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)input[i]
 *  CAST from s32 to TO_TYPE. Source of the rule: TFLM, micro/kernels/cast.cc. */

/*= kibi_cast_TYPE_TO_TYPE
 *  TYPE: u32
 *  TO_TYPE: s8 s16 s32 f32
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)input[i]
 *  CAST from u32 to TO_TYPE. Source of the rule: TFLM, micro/kernels/cast.cc. */

/*= kibi_cast_TYPE_TO_TYPE
 *  TYPE: u8
 *  TO_TYPE: s8 s16 s32 u32 f32
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)input[i]
 *  CAST from u8 or bool to TO_TYPE. Source of the rule: TFLM, micro/kernels/cast.cc. */

/*= kibi_cast_f32_s8
 *  TYPE: f32
 *  RESULT: int8_t
 *  VALUE: (int8_t)kibi_truncate(input[i], INT8_MIN, INT8_MAX)
 *  CAST from f32 to s8. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_truncate.h"

/*= kibi_cast_f32_s16
 *  TYPE: f32
 *  RESULT: int16_t
 *  VALUE: (int16_t)kibi_truncate(input[i], INT16_MIN, INT16_MAX)
 *  CAST from f32 to s16. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_truncate.h"

/*= kibi_cast_f32_s32
 *  TYPE: f32
 *  RESULT: int32_t
 *  VALUE: kibi_truncate(input[i], INT32_MIN, INT32_MAX)
 *  CAST from f32 to s32. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_truncate.h"

/*= kibi_cast_f32_u32
 *  TYPE: f32
 *  RESULT: uint32_t
 *  VALUE: kibi_truncate_u32(input[i])
 *  CAST from f32 to u32. Source of the rule: TFLM, micro/kernels/cast.cc. */
#include "kibi_truncate.h"

/*= kibi_dequantize_TYPE_f32
 *  TYPE: s8 s16 u8
 *  RESULT: float
 *  VALUE: p->scale * (float)(input[i] - p->zero_point)
 *  DEQUANTIZE from TYPE: 24 bits of the scale times at most 17 bits are rounded once, as from double precision. Source of the rule: TFLM, reference/dequantize.h, Dequantize. */

/*= kibi_quantize_f32_TO_TYPE
 *  TYPE: f32
 *  TO_TYPE: s8
 *  BOUND: 512.0f
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(rounded(KIBI_QUOTIENT(input[i], p->scale)) + p->zero_point, -128, 127)
 *  QUANTIZE from f32 to TO_TYPE. Source of the rule: TFLM, reference/quantize.h, AffineQuantize. */
#include "kibi_quotient_f32.h"
#include "kibi_requantize.h"

/* The value in units of the scale, rounded half away from zero; 0 for a NaN. Beyond the bounds, where every value is clamped, the
 * conversion is not defined; between them all halves are exact. */
static inline int32_t rounded(float value)
{
    const float low = value > BOUND ? BOUND : value;
    const float quotient = low < -BOUND ? -BOUND : low;
    if (quotient != quotient) {
        return 0;
    }
    const int32_t whole = (int32_t)quotient;
    const float rest = quotient - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/*= kibi_quantize_f32_TO_TYPE
 *  TYPE: f32
 *  TO_TYPE: s16
 *  BOUND: 131072.0f
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(rounded(KIBI_QUOTIENT(input[i], p->scale)) + p->zero_point, INT16_MIN, INT16_MAX)
 *  QUANTIZE from f32 to TO_TYPE. Source of the rule: TFLM, reference/quantize.h, AffineQuantize. */
#include "kibi_quotient_f32.h"
#include "kibi_requantize.h"

/* The value in units of the scale, rounded half away from zero; 0 for a NaN. Beyond the bounds, where every value is clamped, the
 * conversion is not defined; between them all halves are exact. */
static inline int32_t rounded(float value)
{
    const float low = value > BOUND ? BOUND : value;
    const float quotient = low < -BOUND ? -BOUND : low;
    if (quotient != quotient) {
        return 0;
    }
    const int32_t whole = (int32_t)quotient;
    const float rest = quotient - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/*= kibi_quantize_TYPE_TO_TYPE
 *  TYPE: s16 u8
 *  TO_TYPE: s8
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(kibi_wrapping_add(kibi_requantize(input[i] - p->zero_point, p->multiplier, p->shift), p->output_zero_point), -128, 127)
 *  QUANTIZE from TYPE to TO_TYPE. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_requantize.h"

/*= kibi_quantize_TYPE_TO_TYPE
 *  TYPE: s8 s16
 *  TO_TYPE: s16
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(kibi_wrapping_add(kibi_requantize(input[i] - p->zero_point, p->multiplier, p->shift), p->output_zero_point), INT16_MIN, INT16_MAX)
 *  QUANTIZE from TYPE to TO_TYPE. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_requantize.h"

/*= kibi_quantize_TYPE_TO_TYPE
 *  TYPE: s8
 *  TO_TYPE: u8
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(kibi_wrapping_add(kibi_requantize(input[i] - p->zero_point, p->multiplier, p->shift), p->output_zero_point), 0, 255)
 *  QUANTIZE from TYPE to TO_TYPE. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_requantize.h"

/*= kibi_quantize_TYPE_TO_TYPE
 *  TYPE: s8 s16
 *  TO_TYPE: s32
 *  RESULT: TO_TYPE_t
 *  VALUE: kibi_wrapping_add(kibi_requantize(input[i] - p->zero_point, p->multiplier, p->shift), p->output_zero_point)
 *  QUANTIZE from TYPE to TO_TYPE. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_requantize.h"

/*= kibi_quantize_TYPE_TO_TYPE
 *  TYPE: s32
 *  TO_TYPE: s8
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(kibi_wrapping_add(kibi_requantize(kibi_wrapping_add(input[i], -p->zero_point), p->multiplier, p->shift), p->output_zero_point), -128, 127)
 *  QUANTIZE from TYPE to TO_TYPE. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_requantize.h"

/*= kibi_quantize_TYPE_TO_TYPE
 *  TYPE: s32
 *  TO_TYPE: s16
 *  RESULT: TO_TYPE_t
 *  VALUE: (TO_TYPE_t)kibi_clamp(kibi_wrapping_add(kibi_requantize(kibi_wrapping_add(input[i], -p->zero_point), p->multiplier, p->shift), p->output_zero_point), INT16_MIN, INT16_MAX)
 *  QUANTIZE from TYPE to TO_TYPE. Source of the rule: TFLM, reference/requantize.h, Requantize. */
#include "kibi_requantize.h"

/*= kibi_relu_s16
 *  TYPE: s16
 *  RESULT: int16_t
 *  VALUE: (int16_t)kibi_clamp(kibi_requantize(input[i], p->multiplier, p->shift), 0, INT16_MAX)
 *  RELU of int16. Source of the rule: TFLM, micro/kernels/activations.h, ReluQuantized. */
#include "kibi_requantize.h"

/*= kibi_relu6_s16
 *  TYPE: s16
 *  RESULT: int16_t
 *  VALUE: (int16_t)kibi_clamp(input[i], p->zero_point, p->six)
 *  RELU6 of int16. Source of the rule: TFLM, micro/kernels/activations.h, Relu6Quantized. */
#include "kibi_requantize.h"

/*= kibi_abs_s16
 *  TYPE: s16
 *  RESULT: int16_t
 *  VALUE: (int16_t)kibi_clamp(magnitude_of(input[i], p), INT16_MIN, INT16_MAX)
 *  ABS of int16. Source of the rule: TFLM, micro/kernels/elementwise.cc, AbsEvalQuantized. */
#include "kibi_requantize.h"

static inline int32_t magnitude_of(int32_t value, const PARAMS *p)
{
    const int32_t magnitude = value < 0 ? -value : value;
    return p->is_scaled != 0 ? kibi_requantize(magnitude, p->multiplier, p->shift) : magnitude;
}

/*= kibi_leaky_relu_s16
 *  TYPE: s16
 *  RESULT: int16_t
 *  VALUE: (int16_t)kibi_clamp(moved(input[i] - p->zero_point, p), INT16_MIN, INT16_MAX)
 *  LEAKY_RELU of int16. Source of the rule: TFLM, reference/leaky_relu.h, QuantizeLeakyRelu. */
#include "kibi_requantize.h"

static inline int32_t moved(int32_t centred, const PARAMS *p)
{
    const int32_t scaled = centred >= 0 ? kibi_requantize(centred, p->multiplier, p->shift)
                                        : kibi_requantize(centred, p->alpha_multiplier, p->alpha_shift);
    const int32_t sign = centred >= 0 ? 1 : p->alpha_sign;
    return kibi_wrapping_add(sign < 0 ? kibi_wrapping_add(~scaled, 1) : scaled, p->output_zero_point);
}

/*= kibi_rsqrt_s16
 *  TYPE: s16
 *  RESULT: int16_t
 *  VALUE: (int16_t)(input[i] > 0 ? inverse_root(input[i], p) : INT16_MAX)
 *  RSQRT of int16: rule N48. Source of the rule: TFLM, micro/kernels/elementwise.cc, RsqrtEvalQuantized. */
#include "kibi_inverse_square_root.h"
#include "kibi_requantize.h"

/* An inverse root has 20 bits of fraction before it is scaled. */
static inline int32_t inverse_root(int32_t value, const PARAMS *p)
{
    const kibi_scaling inverse = kibi_inverse_square_root(value);
    const int32_t fixed = kibi_requantize(1, inverse.multiplier, inverse.shift + 20);
    return kibi_clamp(kibi_requantize(fixed, p->multiplier, p->shift), INT16_MIN, INT16_MAX);
}

/*= =
 *  The loop. */

void KERNEL(RESULT *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch)
{
    const PARAMS own = *params; /* as far as the compiler knows, outputs may overwrite the caller's */
    const PARAMS *const p = &own;
    const TYPE_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        output[i] = VALUE;
    }
}
