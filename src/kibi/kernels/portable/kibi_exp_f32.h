/* The exponential function of floats. */
#ifndef KIBI_EXP_F32_H
#define KIBI_EXP_F32_H

#include "kibi.h"

/* value: any; a NaN gives a NaN. Off by at most 0.502 units in the last place; computed in double precision. */
float kibi_exp_f32(float value);

#endif
