/* Bytes cut to a range, in place, four at once. */
#include "kibi_clamp_s8.h"

#include "kibi_largest4.h"

void kibi_clamp_s8(int8_t *values, int32_t count, int32_t low, int32_t high)
{
    const uint32_t each = 0x01010101u;
    const uint32_t lows = (uint32_t)(uint8_t)low * each;
    const uint32_t highs = (uint32_t)(uint8_t)high * each;
    const int8_t *const end = values + count;
    for (; end - values >= 4; values += 4) {
        const uint32_t raised = kibi_largest4(kibi_load4(values), lows);
        uint32_t word;
        __asm__("ssub8 %0, %1, %2\n\t"
                "sel %0, %2, %1"
                : "=&r"(word)
                : "r"(highs), "r"(raised)
                : "cc");
        (void)memcpy(values, &word, sizeof(word));
    }
    for (; values != end; ++values) {
        const int32_t raised = *values < low ? low : *values;
        *values = (int8_t)(raised > high ? high : raised);
    }
}
