/* MAX_POOL_2D, int8, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_pool_rows_s8.h"
#include "kibi_requantize.h"

/* Four channels at once, where windows have any size. */
#ifndef KIBI_MAX_POOL2D_S8_OF_FOURS
#define KIBI_MAX_POOL2D_S8_OF_FOURS 1
#endif
/* Single channels: those beyond whole fours, and all where no four are taken at once. */
#ifndef KIBI_MAX_POOL2D_S8_OF_SINGLES
#define KIBI_MAX_POOL2D_S8_OF_SINGLES 1
#endif
/* Four channels at once, where windows have two columns of two rows. */
#ifndef KIBI_MAX_POOL2D_S8_OF_TWO_BY_TWO
#define KIBI_MAX_POOL2D_S8_OF_TWO_BY_TWO 1
#endif

/* As many whole fours of channels as a pixel has, where its window is two columns of two rows: 17 instructions for each four.
 * upper, lower: where the window begins in its rows. */
static KIBI_NOINLINE void two_by_two(int8_t *output, const int8_t *upper, const int8_t *lower, int32_t channels,
                                     const kibi_byte_range *range)
{
    int8_t *const end = output + (channels & ~3);
    const int32_t next = channels - 4; /* the second column, seen from the next four channels of the first one */
    uint32_t a;
    uint32_t b;
    uint32_t c;
    uint32_t t;
    __asm__ volatile("1:\n\t" /* the next four channels */
                     "ldr %[a], [%[upper]], #4\n\t"
                     "ldr %[b], [%[lower]], #4\n\t"
                     "ldr %[c], [%[upper], %[next]]\n\t"
                     "ssub8 %[t], %[a], %[b]\n\t"
                     "sel %[a], %[a], %[b]\n\t"
                     "ldr %[b], [%[lower], %[next]]\n\t"
                     "ssub8 %[t], %[a], %[c]\n\t"
                     "sel %[a], %[a], %[c]\n\t"
                     "ssub8 %[t], %[a], %[b]\n\t"
                     "sel %[a], %[a], %[b]\n\t"
                     /* Cut to low … high. */
                     "ssub8 %[t], %[a], %[low]\n\t"
                     "sel %[a], %[a], %[low]\n\t"
                     "ssub8 %[t], %[high], %[a]\n\t"
                     "sel %[a], %[a], %[high]\n\t"
                     "str %[a], [%[output]], #4\n\t"
                     "cmp %[output], %[end]\n\t"
                     "bne 1b"
                     : [output] "+r"(output), [upper] "+r"(upper), [lower] "+r"(lower), [a] "=&r"(a), [b] "=&r"(b),
                       [c] "=&r"(c), [t] "=&r"(t)
                     : [next] "r"(next), [low] "r"(range->low), [high] "r"(range->high), [end] "r"(end)
                     : "cc", "memory");
}

/* Four channels of a pixel with any window. */
static KIBI_NOINLINE uint32_t four_channels(const kibi_pool_rows *rows, int32_t place, int32_t columns, int32_t channels)
{
    uint32_t largest = 0x80808080u;
    for (const int8_t *const *row = rows->first; row != rows->end; ++row) {
        const int8_t *input = *row + place;
        int32_t left = columns;
        uint32_t t;
        __asm__ volatile("1:\n\t" /* the next column */
                         "ldr %[t], [%[input]]\n\t"
                         "add %[input], %[input], %[channels]\n\t"
                         "ssub8 r12, %[largest], %[t]\n\t"
                         "sel %[largest], %[largest], %[t]\n\t"
                         "subs %[left], %[left], #1\n\t"
                         "bne 1b"
                         : [input] "+r"(input), [left] "+r"(left), [largest] "+r"(largest), [t] "=&r"(t)
                         : [channels] "r"(channels)
                         : "r12", "cc", "memory");
    }
    return largest;
}

/* Single channels from `channel` on, of as many pixels, with any window. start: the column at which the first window begins. */
static KIBI_NOINLINE void one_by_one(int8_t *output, const kibi_pool_rows *rows, const kibi_pool_params *p, int32_t channel,
                                     int32_t start, int32_t pixels)
{
    const int32_t channels = p->channels;
    for (; pixels > 0; --pixels) {
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int32_t columns = end - first;
        for (int32_t c = channel; c < channels; ++c) {
            int32_t largest = -128;
            for (const int8_t *const *row = rows->first; row != rows->end; ++row) {
                const int8_t *input = *row + first * channels + c;
                const int8_t *const stop = input + columns * channels;
                while (input != stop) {
                    largest = *input > largest ? *input : largest;
                    input += channels;
                }
            }
            *output++ = (int8_t)kibi_clamp(largest, p->activation_min, p->activation_max);
        }
        start += p->stride;
    }
}

void kibi_max_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch)
{
    const kibi_pool_params *const p = params;
    const kibi_byte_range range = kibi_range_of_bytes(p->activation_min, p->activation_max);
    const kibi_pool_rows inside = kibi_rows_inside(rows, p->kernel_rows);
    const int32_t fours =
        KIBI_MAX_POOL2D_S8_OF_FOURS || KIBI_MAX_POOL2D_S8_OF_TWO_BY_TWO ? p->channels & ~3 : 0;
    int32_t start = -p->pad;
    (void)scratch;
    if (KIBI_MAX_POOL2D_S8_OF_SINGLES && fours == 0) {
        one_by_one(output, &inside, p, 0, start, p->output_width);
        return;
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int32_t columns = end - first;
        const int32_t place = first * p->channels;
        int32_t c = 0;
        if (KIBI_MAX_POOL2D_S8_OF_TWO_BY_TWO && columns == 2 && inside.end - inside.first == 2) {
            two_by_two(output, inside.first[0] + place, inside.first[1] + place, p->channels, &range);
            c = fours;
        }
        for (; KIBI_MAX_POOL2D_S8_OF_FOURS && c < fours; c += 4) {
            const uint32_t cut = kibi_cut4(four_channels(&inside, place + c, columns, p->channels), &range);
            (void)memcpy(output + c, &cut, sizeof(cut));
        }
        if (KIBI_MAX_POOL2D_S8_OF_SINGLES && c < p->channels) {
            one_by_one(output + c, &inside, p, c, start, 1);
        }
        output += p->channels;
        start += p->stride;
    }
}
