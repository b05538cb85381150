/* AVERAGE_POOL_2D of at most 256 bytes, whose sums fit 16 bits, for cores with the DSP extension: four channels at once. Source
 * of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_pool_rows_s8.h"

#include "kibi_dsp.h"
#include "kibi_requantize.h"

/* Four channels at once. */
#ifndef KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_FOURS
#define KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_FOURS 1
#endif
/* Single channels: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_SINGLES
#define KIBI_AVERAGE_POOL2D_S8_ACCUMULATE_SMALL_OF_SINGLES 1
#endif

static KIBI_NOINLINE void finish(int8_t *output, const int16_t *sums, const kibi_pool_accumulate_params *p)
{
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t count = kibi_columns_inside(x, p, &first) * p->steps;
        for (int32_t c = 0; c < p->channels; ++c) {
            const int32_t sum = *sums++;
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (int8_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
    }
}

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
                     "mov %[even], #0\n\t"
                     "mov %[odd], #0\n\t"
                     "mov %[u], %[columns]\n"
                     "2:\n\t" /* the next column */
                     "ldr %[t], [%[input]]\n\t"
                     "add %[input], %[input], %[channels]\n\t"
                     "sxtab16 %[even], %[even], %[t]\n\t"
                     "sxtab16 %[odd], %[odd], %[t], ror #8\n\t"
                     "subs %[u], %[u], #1\n\t"
                     "bne 2b\n\t"
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

void kibi_average_pool2d_s8_accumulate_small(int8_t *output, const int8_t *const *rows,
                                             const kibi_pool_accumulate_params *params, void *scratch, int32_t step)
{
    const kibi_pool_accumulate_params *const p = params;
    int16_t *const sums = (int16_t *)scratch;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(int16_t) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        for (int32_t o = 0; o < p->output_width * p->channels; ++o) {
            sums[o] = 0;
            __asm__ volatile(""); /* else compilers call memset, which is large */
        }
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t first;
        const int32_t columns = kibi_columns_inside(x, p, &first);
        add_columns(sums + x * p->channels, rows[0] + first * p->channels, p->channels, columns);
    }
    if (step == p->steps - 1) {
        finish(output, sums, p);
    }
}
