/* The logistic function of one float: rule N25 of Kibi's numerics. */
#ifndef KIBI_LOGISTIC_VALUE_H
#define KIBI_LOGISTIC_VALUE_H

#include "kibi_exp_f32.h"
#include "kibi_float.h"
#include "kibi_quotient_f32.h"

static inline float kibi_logistic_value(float value)
{
    if (value > 16.619047164916992f) {
        return 1.0f;
    }
    return value < -9.0f ? kibi_exp_f32(value) : KIBI_QUOTIENT(1.0f, 1.0f + kibi_exp_f32(-value));
}

#endif
