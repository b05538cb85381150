/* BROADCAST_ARGS, int32, portable. Source of the rule: TFLM, reference/broadcast_args.h. */
#include "kibi_broadcast_args.h"

void kibi_broadcast_args_s32(int32_t *output, const int32_t *const *rows, const kibi_broadcast_args_params *params,
                             void *scratch)
{
    const kibi_broadcast_args_params *const p = params;
    (void)scratch;
    for (int32_t i = 0; i < p->elements; ++i) {
        const int32_t i1 = i - (p->elements - p->elements1);
        const int32_t i2 = i - (p->elements - p->elements2);
        const int32_t size1 = i1 < 0 ? 1 : rows[0][i1];
        const int32_t size2 = i2 < 0 ? 1 : rows[1][i2];
        output[i] = size1 == 1 ? size2 : size1;
    }
}
