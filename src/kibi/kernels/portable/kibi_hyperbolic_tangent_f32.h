/* The hyperbolic tangent of floats. */
#ifndef KIBI_HYPERBOLIC_TANGENT_F32_H
#define KIBI_HYPERBOLIC_TANGENT_F32_H

#include "kibi.h"

/* value: any; a NaN gives a NaN. Off by at most 2 units in the last place; computed in floats. */
float kibi_hyperbolic_tangent_f32(float value);

#endif
