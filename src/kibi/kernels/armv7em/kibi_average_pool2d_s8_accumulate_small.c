/* AVERAGE_POOL_2D of at most 256 bytes, whose sums fit 16 bits, for cores with the DSP extension: four channels at once. Source
 * of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_add_columns_s8.h"
#include "kibi_dsp.h"

/* Four channels at once. */
#ifndef KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_FOURS
#define KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_FOURS 1
#endif
/* Single channels: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_SINGLES
#define KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_SINGLES 1
#endif

/* Adds columns, at least one, to the sums of as many whole fours of channels as there are, at least one. */
static KIBI_NOINLINE void add_fours(int16_t *sums, const int8_t *input, int32_t channels, int32_t columns)
{
    const int16_t *const end = sums + (channels & ~3);
    const int32_t back = columns * channels - 4; /* from the end of the columns to the next four channels */
    uint32_t even;
    uint32_t odd;
    uint32_t t;
    uint32_t u;
    __asm__ volatile("1:\n\t" /* the next four channels */
                     KIBI_SUM_FOUR_COLUMNS
                     "pkhbt %[t], %[even], %[odd], lsl #16\n\t" /* the first two channels */
                     "pkhtb %[even], %[odd], %[even], asr #16\n\t"
                     "ldr %[odd], [%[sums]]\n\t" /* not ldrd: sums may be at odd halfwords */
                     "ldr %[u], [%[sums], #4]\n\t"
                     "sub %[input], %[input], %[back]\n\t"
                     "sadd16 %[odd], %[odd], %[t]\n\t"
                     "sadd16 %[u], %[u], %[even]\n\t"
                     "str %[odd], [%[sums]], #4\n\t"
                     "str %[u], [%[sums]], #4\n\t"
                     "cmp %[sums], %[end]\n\t"
                     "bne 1b"
                     : [sums] "+r"(sums), [input] "+r"(input), [even] "=&r"(even), [odd] "=&r"(odd), [t] "=&r"(t),
                       [u] "=&r"(u)
                     : [channels] "r"(channels), [columns] "r"(columns), [back] "r"(back), [end] "r"(end)
                     : "cc", "memory");
}

static void add_columns(int16_t *sums, const int8_t *input, int32_t channels, int32_t columns)
{
    const int32_t rest = KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_FOURS ? channels & ~3 : 0;
    for (int32_t c = rest; KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_SINGLES && c < channels; ++c) {
        const int8_t *column = input + c;
        const int8_t *const stop = column + columns * channels;
        int32_t sum = sums[c];
        do {
            sum += *column;
            column += channels;
        } while (column != stop);
        sums[c] = (int16_t)sum;
    }
    if (rest != 0) {
        add_fours(sums, input, channels, columns);
    }
}

#define KIBI_POOL_SUM int16_t
#define KIBI_POOL_ADD add_columns
#include "kibi_average_pool2d_s8_accumulate.h"

void kibi_average_pool2d_s8_accumulate_small(int8_t *output, const int8_t *const *rows,
                                             const kibi_pool_accumulate_params *params, void *scratch, int32_t step)
{
    kibi_average_pool_row(output, rows[0], params, scratch, step);
}
