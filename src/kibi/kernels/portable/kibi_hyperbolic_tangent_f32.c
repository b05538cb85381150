/* The hyperbolic tangent of floats, portable. Source of the rule: glibc, ieee754/flt-32/s_tanhf.c. */
#include "kibi_hyperbolic_tangent_f32.h"

#include "kibi_expm1_f32.h"
#include "kibi_float.h"
#include "kibi_float_bits.h"
#include "kibi_quotient_f32.h"

float kibi_hyperbolic_tangent_f32(float value)
{
    const uint32_t bits = kibi_bits_of_float(value);
    const float magnitude = kibi_float_of_bits(bits & 0x7FFFFFFFu);
    float result = 1.0f;
    if (value != value || value == 0.0f) {
        return value;
    }
    if (magnitude < 2.7755575615628914e-17f) { /* 2**-55 */
        result = magnitude * (1.0f + magnitude);
    } else if (magnitude < 1.0f) {
        const float below = kibi_expm1_f32(-2.0f * magnitude);
        result = KIBI_QUOTIENT(-below, below + 2.0f);
    } else if (magnitude < 22.0f) {
        result = 1.0f - KIBI_QUOTIENT(2.0f, kibi_expm1_f32(2.0f * magnitude) + 2.0f);
    } else {
        /* 1.0f to the last bit */
    }
    return bits >> 31 != 0u ? -result : result;
}
