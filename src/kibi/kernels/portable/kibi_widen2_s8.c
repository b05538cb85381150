/* Bytes of two arrays as 16 bits each, side by side, portable. */
#include "kibi_widen2_s8.h"

int16_t *kibi_widen2_s8(int16_t *to, const int8_t *const *from, int32_t count)
{
    for (int32_t k = 0; k < count; k += 4) {
        for (int32_t array = 0; array < 2; ++array) {
            const int8_t *const x = from[array] + k;
            int16_t *const even = to + 2 * array;
            int16_t *const odd = even + 4;
            even[0] = x[0];
            even[1] = x[2];
            odd[0] = (int16_t)(256 * x[1] - x[0] + 127);
            odd[1] = (int16_t)(256 * x[3] - x[2] + 127);
        }
        to += 8;
    }
    return to;
}
