/* Sums of products of floats of four channels. */
#include "kibi_dot_f32_4x1.h"

void kibi_dot_f32_4x1(float sums[KIBI_DOT_F32_CHANNELS], const float *w, int32_t stride, const float *x, int32_t count)
{
    for (int32_t channel = 0; channel < KIBI_DOT_F32_CHANNELS; ++channel) {
        sums[channel] = kibi_dot_f32(sums[channel], w + channel * stride, x, count);
    }
}
