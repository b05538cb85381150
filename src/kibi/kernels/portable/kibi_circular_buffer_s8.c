/* CIRCULAR_BUFFER, int8, portable. Source of the rule: TFLM, micro/kernels/circular_buffer.cc. */
#include "kibi_circular_buffer_s8.h"

#include <string.h>

void kibi_circular_buffer_s8(int8_t *output, const int8_t *const *rows, const kibi_circular_buffer_s8_params *params,
                             void *scratch, void *const *states)
{
    const kibi_circular_buffer_s8_params *const p = params;
    int32_t *const left = (int32_t *)states[0];
    (void)scratch;
    for (int32_t i = 0; i < p->kept; ++i) {
        memmove(output, rows[p->pieces + 1 + i], (size_t)(p->pieces * p->piece_bytes));
        output += p->pieces * p->piece_bytes;
    }
    for (int32_t i = 0; i < p->pieces; ++i) {
        memmove(output, rows[i], (size_t)p->piece_bytes);
        output += p->piece_bytes;
    }
    *left = (*left == 0 ? p->cycles : *left) - 1;
}
