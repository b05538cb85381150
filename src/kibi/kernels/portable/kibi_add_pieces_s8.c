/* Sums of two channels of two pixels over a piece of their windows, portable. */
#include "kibi_add_pieces_s8.h"

/* Adds what two instructions of a core with the DSP extension add: both halves of a word times two even elements, and their second
 * weights times what the two odd elements were made to. */
static inline uint32_t add_word(uint32_t sum, uint32_t word, const int16_t *even, const int16_t *odd)
{
    for (int32_t half = 0; half < 2; ++half) {
        const int32_t both = (int32_t)(word & 0x7FFFu) - (int32_t)(word & 0x8000u);
        const int32_t second = (int32_t)(word & 0x7Fu) - (int32_t)(word & 0x80u);
        sum += (uint32_t)(both * even[half]) + (uint32_t)(second * odd[half]);
        word >>= 16;
    }
    return sum;
}

void kibi_add_pieces_s8(const kibi_add_pieces *task)
{
    const int32_t *weights = task->filter;
    for (int32_t *sums = task->sums; sums != task->sums_end; sums += 4) {
        for (const int16_t *x = task->windows; x != task->windows_end; x += 8) {
            for (int32_t i = 0; i < 4; ++i) {
                const int16_t *const even = x + (i & 2);
                sums[i] = (int32_t)add_word((uint32_t)sums[i], (uint32_t)weights[i & 1], even, even + 4);
            }
            weights += 2;
        }
    }
}
