/* ADD and SUB, int8, of a row and a single element, one rounding, Armv7E-M: four elements at once. */
#include "kibi_binary.h"

#include "kibi_dsp.h"

/* floor(half * factor / 2**16), plus start; all but the integer shifted out; cut to 8 bits. The half is 256 times an element, and the
 * lower or the upper half of a word. */
static inline int8_t lower(uint32_t halves, int32_t factor, int32_t start)
{
    int32_t sum;
    __asm__("smlawb %0, %1, %2, %3\n\tssat %0, #8, %0, asr #20" : "=&r"(sum) : "r"(factor), "r"(halves), "r"(start));
    return (int8_t)sum;
}

static inline int8_t upper(uint32_t halves, int32_t factor, int32_t start)
{
    int32_t sum;
    __asm__("smlawt %0, %1, %2, %3\n\tssat %0, #8, %0, asr #20" : "=&r"(sum) : "r"(factor), "r"(halves), "r"(start));
    return (int8_t)sum;
}

void kibi_add_s8_linear_scalar(int8_t *output, const int8_t *const *rows, const kibi_add_s8_linear_scalar_params *params,
                               void *scratch)
{
    const kibi_add_s8_linear_scalar_params *const p = params;
    const int32_t is_first = p->is_first;
    const int8_t *row = rows[is_first];
    const int8_t *const end = row + p->elements;
    const int32_t single = *rows[1 - is_first];
    const int32_t start = p->start + (int32_t)(((int64_t)single * (is_first != 0 ? p->factor1 : p->factor2)) >> 8);
    const int32_t factor = is_first != 0 ? p->factor2 : p->factor1;
    (void)scratch;
    while (end - row >= 4) {
        uint32_t odd;
        __asm__ volatile("ldr %0, [%1], #4" : "=r"(odd), "+r"(row) : : "memory");
        const uint32_t even = odd << 8;
        output[0] = lower(even & 0xFF00u, factor, start);
        output[1] = lower(odd & 0xFF00FF00u, factor, start);
        output[2] = upper(even & 0xFF000000u, factor, start);
        output[3] = upper(odd & 0xFF00FF00u, factor, start);
        output += 4;
    }
    while (row != end) {
        *output++ = lower((uint32_t)*row++ << 8, factor, start);
    }
}
