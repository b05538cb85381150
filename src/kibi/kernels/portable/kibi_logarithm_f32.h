/* The natural logarithm of floats. */
#ifndef KIBI_LOGARITHM_F32_H
#define KIBI_LOGARITHM_F32_H

#include "kibi.h"

/* value: any; of 0 it is -infinity, of what is negative a NaN. Off by at most 0.82 units in the last place; computed in double
 * precision. */
float kibi_logarithm_f32(float value);

#endif
