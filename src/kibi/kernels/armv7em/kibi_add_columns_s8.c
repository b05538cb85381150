/* Sums of columns of bytes, four channels at once. */
#include "kibi_add_columns_s8.h"

#include "kibi_dsp.h"

/* Two sums grow by the lower or the upper halves of two words. */
#define ADD(rotation)                                \
    "ldrd %[t], %[u], [%[sums]]\n\t"                 \
    "sxtah %[t], %[t], %[even]" rotation "\n\t"      \
    "sxtah %[u], %[u], %[odd]" rotation "\n\t"       \
    "strd %[t], %[u], [%[sums]], #8\n\t"

/* As many whole fours of channels as there are, at least one, of at most 256 columns, whose sums fit 16 bits. */
static KIBI_NOINLINE void fours(int32_t *sums, const int8_t *input, int32_t channels, int32_t columns)
{
    const int32_t *const end = sums + (channels & ~3);
    const int32_t back = columns * channels - 4; /* from the end of the columns to the next four channels */
    uint32_t even;
    uint32_t odd;
    uint32_t t;
    uint32_t u;
    __asm__ volatile("1:\n\t" /* the next four channels */
                     KIBI_SUM_FOUR_COLUMNS ADD("") ADD(", ror #16")
                     "sub %[input], %[input], %[back]\n\t"
                     "cmp %[sums], %[end]\n\t"
                     "bne 1b"
                     : [sums] "+r"(sums), [input] "+r"(input), [even] "=&r"(even), [odd] "=&r"(odd), [t] "=&r"(t),
                       [u] "=&r"(u)
                     : [channels] "r"(channels), [columns] "r"(columns), [back] "r"(back), [end] "r"(end)
                     : "cc", "memory");
}

void kibi_add_columns_s8(int32_t *sums, const int8_t *input, int32_t channels, int32_t columns)
{
    const int32_t rest = KIBI_ADD_COLUMNS_S8_OF_FOURS ? channels & ~3 : 0;
    for (int32_t c = rest; KIBI_ADD_COLUMNS_S8_OF_SINGLES && c < channels; ++c) {
        const int8_t *column = input + c;
        const int8_t *const stop = column + columns * channels;
        uint32_t sum = (uint32_t)sums[c];
        do {
            sum += (uint32_t)*column;
            column += channels;
        } while (column != stop);
        sums[c] = (int32_t)sum;
    }
    while (rest != 0 && columns > 0) {
        const int32_t some = columns < 256 ? columns : 256;
        fours(sums, input, channels, some);
        input += some * channels;
        columns -= some;
    }
}
