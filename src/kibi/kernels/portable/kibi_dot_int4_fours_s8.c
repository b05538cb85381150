/* Sums of products of int8 and int4, from words for four elements, in plain C. */
#include "kibi_dot_int4_fours_s8.h"

void kibi_dot_int4_fours_s8(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        const uint32_t half = (uint32_t)w[k / 4 * 2 + k % 2] >> k % 4 / 2 * 16;
        const uint32_t element = (uint32_t)x[k];
        for (int32_t channel = 0; channel < 3; ++channel) {
            sums[channel] = (int32_t)((uint32_t)sums[channel] + (half >> 4 * channel & 15u) * element);
        }
        sums[3] = (int32_t)((uint32_t)sums[3] + (((half >> 12 & 15u) ^ 8u) - 8u) * element);
    }
}
