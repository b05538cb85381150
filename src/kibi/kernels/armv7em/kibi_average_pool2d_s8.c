/* AVERAGE_POOL_2D, int8, for cores with the DSP extension: four channels at once, divided by rule N51 of Kibi's numerics.
 * Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_pool_rows_s8.h"
#include "kibi_requantize.h"

/* Four channels at once, where windows have any size. */
#ifndef KIBI_AVERAGE_POOL2D_S8_OF_FOURS
#define KIBI_AVERAGE_POOL2D_S8_OF_FOURS 1
#endif
/* Single channels: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_AVERAGE_POOL2D_S8_OF_SINGLES
#define KIBI_AVERAGE_POOL2D_S8_OF_SINGLES 1
#endif
/* Four channels at once, where windows have two columns of two rows. */
#ifndef KIBI_AVERAGE_POOL2D_S8_OF_TWO_BY_TWO
#define KIBI_AVERAGE_POOL2D_S8_OF_TWO_BY_TWO 1
#endif

/* Sums of as many bytes fit 16 bits. */
enum { MOST_ELEMENTS = 256 };

/* Four sums in the halves of %[even] and %[odd], 2**28 / count in %[factor] and one half in %[half], become means in %[even]. */
#define MEANS                                                     \
    "smlawb %[t], %[factor], %[even], %[half]\n\t"                \
    "smlawt %[even], %[factor], %[even], %[half]\n\t"             \
    "ssat %[t], #8, %[t], asr #12\n\t"                            \
    "ssat %[even], #8, %[even], asr #12\n\t"                      \
    "bfi %[t], %[even], #16, #8\n\t"                              \
    "smlawb %[even], %[factor], %[odd], %[half]\n\t"              \
    "smlawt %[odd], %[factor], %[odd], %[half]\n\t"               \
    "ssat %[even], #8, %[even], asr #12\n\t"                      \
    "ssat %[odd], #8, %[odd], asr #12\n\t"                        \
    "bfi %[t], %[even], #8, #8\n\t"                               \
    "bfi %[t], %[odd], #24, #8\n\t"                               \
    /* Cut to low … high. */                                      \
    "ssub8 %[even], %[t], %[low]\n\t"                             \
    "sel %[t], %[t], %[low]\n\t"                                  \
    "ssub8 %[even], %[high], %[t]\n\t"                            \
    "sel %[even], %[t], %[high]\n\t"

/* The sums of four channels grow by the bytes in %[t]. */
#define GROW                              \
    "sxtab16 %[even], %[even], %[t]\n\t"  \
    "sxtab16 %[odd], %[odd], %[t], ror #8\n\t"

/* What becomes of sums. */
typedef struct {
    int32_t factor;
    kibi_byte_range range;
} division;

/* As many whole fours of channels as a pixel has, where its window is two columns of two rows: 30 instructions for each four.
 * upper, lower: where the window begins in its rows. */
static KIBI_NOINLINE void two_by_two(int8_t *output, const int8_t *upper, const int8_t *lower, int32_t channels,
                                     const division *by)
{
    int8_t *const end = output + (channels & ~3);
    const int32_t next = channels - 4; /* the second column, seen from the next four channels of the first one */
    uint32_t even;
    uint32_t odd;
    uint32_t t;
    __asm__ volatile("1:\n\t" /* the next four channels */
                     "ldr %[t], [%[upper]], #4\n\t"
                     "sxtb16 %[even], %[t]\n\t"
                     "sxtb16 %[odd], %[t], ror #8\n\t"
                     "ldr %[t], [%[lower]], #4\n\t" GROW
                     "ldr %[t], [%[upper], %[next]]\n\t" GROW
                     "ldr %[t], [%[lower], %[next]]\n\t" GROW MEANS
                     "str %[even], [%[output]], #4\n\t"
                     "cmp %[output], %[end]\n\t"
                     "bne 1b"
                     : [output] "+r"(output), [upper] "+r"(upper), [lower] "+r"(lower), [even] "=&r"(even),
                       [odd] "=&r"(odd), [t] "=&r"(t)
                     : [next] "r"(next), [factor] "r"(by->factor), [half] "r"(1 << 11), [low] "r"(by->range.low),
                       [high] "r"(by->range.high), [end] "r"(end)
                     : "cc", "memory");
}

/* Four channels of a pixel with any window of at most MOST_ELEMENTS. */
static KIBI_NOINLINE uint32_t four_channels(const kibi_pool_rows *rows, int32_t place, int32_t columns, int32_t channels,
                                            const division *by)
{
    uint32_t even = 0;
    uint32_t odd = 0;
    uint32_t t;
    for (const int8_t *const *row = rows->first; row != rows->end; ++row) {
        const int8_t *input = *row + place;
        int32_t left = columns;
        __asm__ volatile("1:\n\t" /* the next column */
                         "ldr %[t], [%[input]]\n\t"
                         "add %[input], %[input], %[channels]\n\t" GROW
                         "subs %[left], %[left], #1\n\t"
                         "bne 1b"
                         : [input] "+r"(input), [left] "+r"(left), [even] "+r"(even), [odd] "+r"(odd), [t] "=&r"(t)
                         : [channels] "r"(channels)
                         : "cc", "memory");
    }
    __asm__(MEANS
            : [even] "+r"(even), [odd] "+r"(odd), [t] "=&r"(t)
            : [factor] "r"(by->factor), [half] "r"(1 << 11), [low] "r"(by->range.low), [high] "r"(by->range.high)
            : "cc");
    return even;
}

/* Single channels from `channel` on, of as many pixels, with any window: rounded half away from zero.
 * start: the column at which the first window begins. */
static KIBI_NOINLINE void one_by_one(int8_t *output, const kibi_pool_rows *rows, const kibi_pool_params *p, int32_t channel,
                                     int32_t start, int32_t pixels)
{
    const int32_t channels = p->channels;
    for (; pixels > 0; --pixels) {
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int32_t columns = end - first;
        const int32_t count = columns * (int32_t)(rows->end - rows->first);
        for (int32_t c = channel; c < channels; ++c) {
            int32_t sum = 0;
            for (const int8_t *const *row = rows->first; row != rows->end; ++row) {
                const int8_t *input = *row + first * channels + c;
                const int8_t *const stop = input + columns * channels;
                while (input != stop) {
                    sum += *input;
                    input += channels;
                }
            }
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (int8_t)kibi_clamp((sum + half) / count, p->activation_min, p->activation_max);
        }
        start += p->stride;
    }
}

void kibi_average_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch)
{
    const kibi_pool_params *const p = params;
    const kibi_pool_rows inside = kibi_rows_inside(rows, p->kernel_rows);
    const int32_t height = (int32_t)(inside.end - inside.first);
    const int is_quick = (KIBI_AVERAGE_POOL2D_S8_OF_FOURS || KIBI_AVERAGE_POOL2D_S8_OF_TWO_BY_TWO) &&
                         p->kernel_width * height <= MOST_ELEMENTS;
    const int32_t fours = is_quick ? p->channels & ~3 : 0;
    division by = {0, kibi_range_of_bytes(p->activation_min, p->activation_max)};
    int32_t start = -p->pad;
    (void)scratch;
    if (KIBI_AVERAGE_POOL2D_S8_OF_SINGLES && fours == 0) {
        one_by_one(output, &inside, p, 0, start, p->output_width);
        return;
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int32_t columns = end - first;
        const int32_t place = first * p->channels;
        int32_t c = 0;
        by.factor = (1 << 28) / (columns * height) + 1;
        if (KIBI_AVERAGE_POOL2D_S8_OF_TWO_BY_TWO && columns == 2 && height == 2) {
            two_by_two(output, inside.first[0] + place, inside.first[1] + place, p->channels, &by);
            c = fours;
        }
        for (; KIBI_AVERAGE_POOL2D_S8_OF_FOURS && c < fours; c += 4) {
            const uint32_t means = four_channels(&inside, place + c, columns, p->channels, &by);
            (void)memcpy(output + c, &means, sizeof(means));
        }
        if (KIBI_AVERAGE_POOL2D_S8_OF_SINGLES && c < p->channels) {
            one_by_one(output + c, &inside, p, c, start, 1);
        }
        output += p->channels;
        start += p->stride;
    }
}
