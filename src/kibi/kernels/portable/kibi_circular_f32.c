/* The sine and the cosine of floats, portable. Source of the rule: glibc, ieee754/flt-32/s_sinf.c and s_cosf.c. */
#include "kibi_circular_f32.h"

#include "kibi_float.h"
#include "kibi_float_bits.h"

/* Of 4 / pi with 191 fraction bits the 32 bits that end at each byte. */
static const uint32_t four_over_pi[24] = {
    0x000000A2u, 0x0000A2F9u, 0x00A2F983u, 0xA2F9836Eu, 0xF9836E4Eu, 0x836E4E44u, 0x6E4E4415u, 0x4E441529u,
    0x441529FCu, 0x1529FC27u, 0x29FC2757u, 0xFC2757D1u, 0x2757D1F5u, 0x57D1F534u, 0xD1F534DDu, 0xF534DDC0u,
    0x34DDC0DBu, 0xDDC0DB62u, 0xC0DB6295u, 0xDB629599u, 0x6295993Cu, 0x95993C43u, 0x993C4390u, 0x3C439041u
};

/* An angle as whole quarters of a circle and a rest in radians, at most an eighth either way. */
typedef struct {
    uint32_t quarters;
    double rest;
} reduced_angle;

/* value: below 120 in magnitude. */
static reduced_angle reduced(float value)
{
    reduced_angle angle;
    /* In units of 2**-24 quarters, so that the sum rounds. */
    const int32_t scaled = (int32_t)((double)value * 10680707.430881744);
    const int32_t quarters = (int32_t)(((int64_t)scaled + 0x800000) >> 24);
    angle.quarters = (uint32_t)quarters;
    angle.rest = (double)value - (double)quarters * 1.5707963267948966;
    return angle;
}

/* bits: of a finite float, from 120 on; the sign does not count. */
static reduced_angle reduced_far(uint32_t bits)
{
    reduced_angle angle;
    const uint32_t *const words = four_over_pi + ((bits >> 26) & 15u);
    const uint32_t mantissa = ((bits & 0xFFFFFFu) | 0x800000u) << ((bits >> 23) & 7u);
    uint64_t product = ((uint64_t)(mantissa * words[0]) << 32) | (((uint64_t)mantissa * words[8]) >> 32);
    product += (uint64_t)mantissa * words[4];
    const uint64_t quarters = (product + ((uint64_t)1 << 61)) >> 62;
    const uint64_t rest = product - (quarters << 62);
    angle.quarters = (uint32_t)quarters;
    angle.rest = rest >> 63 != 0u ? -(double)(~rest + 1u) : (double)rest;
    angle.rest *= 3.4061215800865545e-19; /* pi * 2**-63 */
    return angle;
}

static double sine(double x)
{
    const double square = x * x;
    const double cube = x * square;
    const double tail = 0.008332178146138854 + square * -0.00019517298981385725;
    return (x + cube * -0.16666654943701084) + (cube * square) * tail;
}

static double cosine(double x)
{
    const double square = x * x;
    const double fourth = square * square;
    const double head = 1.0 + square * -0.49999999725108224;
    const double tail = -0.001388676379437604 + square * 2.4390450703564542e-05;
    return (head + fourth * 0.041666623324344516) + (fourth * square) * tail;
}

float kibi_circular_f32(float value, int32_t is_cosine)
{
    const uint32_t bits = kibi_bits_of_float(value);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    reduced_angle angle = {0u, (double)value};
    uint32_t turns;
    if (magnitude >= 0x7F800000u) {
        return kibi_float_of_bits(0x7FC00000u);
    }
    if (magnitude < 0x39800000u) { /* 2**-12 */
        return is_cosine != 0 ? 1.0f : value;
    }
    if (magnitude >= 0x42F00000u) { /* 120 */
        angle = reduced_far(bits);
    } else if (magnitude >= 0x3F400000u) { /* 0.75 */
        angle = reduced(value);
    } else {
        /* the angle is small enough as it is */
    }
    turns = angle.quarters;
    if (magnitude >= 0x42F00000u && is_cosine == 0) {
        turns += bits >> 31 << 1; /* the sign of the value: half a circle */
    }
    if (((angle.quarters ^ (uint32_t)is_cosine) & 1u) != 0u) {
        return (float)((turns & 2u) != 0u ? -cosine(angle.rest) : cosine(angle.rest));
    }
    return (float)sine(((turns + 1u) & 2u) != 0u ? -angle.rest : angle.rest);
}
