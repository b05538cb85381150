/* SHAPE, float, portable. Source of the rule: TFLM, micro/kernels/shape.cc. */
#include "kibi_shape_f32.h"

#include <string.h>

void kibi_shape_f32(int32_t *output, const float *const *rows, const kibi_shape_f32_params *params, void *scratch)
{
    (void)rows;
    (void)scratch;
    memmove(output, params->sizes, (size_t)params->rank * sizeof(*output));
}
