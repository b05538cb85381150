/* SHAPE, any type, portable. Source of the rule: TFLM, micro/kernels/shape.cc. */
#include "kibi_shape_any.h"

#include <string.h>

void kibi_shape_any(void *output, const void *const *rows, const kibi_shape_any_params *params, void *scratch)
{
    (void)rows;
    (void)scratch;
    (void)memmove(output, KIBI_AT(int32_t, params, sizes), (size_t)params->rank * sizeof(*KIBI_AT(int32_t, params, sizes)));
}
