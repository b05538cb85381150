/* exp(x) - 1 of floats. */
#ifndef KIBI_EXPM1_F32_H
#define KIBI_EXPM1_F32_H

#include "kibi.h"

/* value: up to 44, or a NaN. Off by at most 1 unit in the last place; computed in floats. */
float kibi_expm1_f32(float value);

#endif
