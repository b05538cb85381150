/* Elements of a vector, 128 higher, and how many are zero, portable. */
#include "kibi_nonzero_sums_s8.h"

void kibi_nonzero_raise_s8(uint8_t *to, const int8_t *from, int32_t count, kibi_nonzero_counts *counts)
{
    for (int32_t k = 0; k < count; ++k) {
        const uint32_t value = (uint32_t)(from[k] - INT8_MIN);
        to[k] = (uint8_t)value;
        counts->total += value;
        counts->zeros += value == 0u ? 1u : 0u;
    }
}
