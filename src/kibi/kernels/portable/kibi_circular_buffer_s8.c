/* CIRCULAR_BUFFER, int8, portable. Source of the rule: TFLM, micro/kernels/circular_buffer.cc. */
#include "kibi_circular_buffer_s8.h"

#include <string.h>

void kibi_circular_buffer_s8(int8_t *output, const int8_t *const *rows, const kibi_circular_buffer_s8_params *params,
                             void *scratch, void *const *states)
{
    const kibi_circular_buffer_s8_params *const p = params;
    int32_t *const left = (int32_t *)states[0];
    const int8_t *const old = rows[p->pieces];
    (void)scratch;
    if (old != NULL) {
        (void)memmove(output, old, (size_t)(p->pieces * p->piece_bytes));
        return;
    }
    for (int32_t i = 0; i < p->pieces; ++i) {
        (void)memcpy(output, rows[i], (size_t)p->piece_bytes);
        output += p->piece_bytes;
    }
    *left = (int32_t)((uint32_t)(*left == 0 ? p->cycles : *left) - 1u);
}
