/* The sine and the cosine of floats. */
#ifndef KIBI_CIRCULAR_F32_H
#define KIBI_CIRCULAR_F32_H

#include "kibi.h"

/* value: any, in radians; of an infinity it is a NaN. is_cosine: 0 for the sine. Off by at most 0.57 units in the last place;
 * computed in double precision. */
float kibi_circular_f32(float value, int32_t is_cosine);

#endif
