/* The exponential function of floats, portable. Source of the rule: glibc, ieee754/flt-32/e_expf.c. */
#include "kibi_exp_f32.h"

#include "kibi_exp_f32_doubles.h"

float kibi_exp_f32(float value)
{
    return kibi_exp_f32_of_doubles(value);
}
