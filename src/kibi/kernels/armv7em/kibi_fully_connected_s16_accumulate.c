/* FULLY_CONNECTED, int16, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/fully_connected.h. */
#include "kibi_fully_connected.h"

#include <string.h>

#include "kibi_requantize_s16.h"

#ifndef KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS
#define KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS 1
#endif

#if KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS
enum {
    FOUR = 4,
    MOST_ELEMENTS = 508 /* whole fours; the sum of so many products of 23 bits fits 32 bits */
};

/* Elements, and the weights of four channels for them. */
typedef struct {
    const int8_t *weights;   /* of the first channel */
    const int16_t *elements; /* whole fours, at least one */
    const int16_t *end;      /* of the elements */
    int32_t depth;           /* from a channel's weights to the next one's */
} products_task;

KIBI_FIELD_AT(products_task, weights, 0);
KIBI_FIELD_AT(products_task, elements, 4);
KIBI_FIELD_AT(products_task, end, 8);
KIBI_FIELD_AT(products_task, depth, 12);

/* The products of four elements and their weights of one channel, which are at an address, added to a sum. */
#define CHANNEL(address, sum)               \
    "ldr r10, " address "\n"                \
    "sxtb16 r11, r10\n"                     \
    "sxtb16 r10, r10, ror #8\n"             \
    "smlad " sum ", r11, r8, " sum "\n"     \
    "smlad " sum ", r10, r9, " sum "\n"

/* A channel's sum of 64 bits, in words, plus that of products. */
#define ADD_TO(place, sum)                  \
    "ldrd r8, r9, [r0, #" place "]\n"       \
    "adds r8, r8, " sum "\n"                \
    "adc r9, r9, " sum ", asr #31\n"        \
    "strd r8, r9, [r0, #" place "]\n"

/* Adds the sums of products of four channels to those at `sums`, which are of 64 bits and aligned as words.
 * Registers and stack:
 *   r0         the weights of four elements; before and after: sums
 *   r1, r2     elements, end; before r1: task
 *   r3, r12    depth, three times depth
 *   r4 … r7    the sums of products
 *   r8, r9     elements 0 and 2, 1 and 3; then a sum
 *   r10, r11   weights
 *   lr         elements 2 and 3
 *   sp + 0     sums
 *   sp + 4     r4 … r11, lr of the caller
 * Stack: 40 bytes. */
static KIBI_NOINLINE KIBI_NAKED void add_products(KIBI_IN_REGISTER char *sums, KIBI_IN_REGISTER const products_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r1, {r0, r1, r2, r3}\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n"
        "add r12, r3, r3, lsl #1\n"
        "1:\n" /* four elements */
        "ldr lr, [r1, #4]\n"
        "ldr r9, [r1], #8\n"
        "pkhbt r8, r9, lr, lsl #16\n"
        "pkhtb r9, lr, r9, asr #16\n"
        CHANNEL("[r0, r12]", "r7")
        CHANNEL("[r0, r3, lsl #1]", "r6")
        CHANNEL("[r0, r3]", "r5")
        CHANNEL("[r0], #4", "r4")
        "cmp r1, r2\n"
        "bne 1b\n"
        "pop {r0}\n"
        ADD_TO("0", "r4")
        ADD_TO("8", "r5")
        ADD_TO("16", "r6")
        ADD_TO("24", "r7")
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
#endif

/* Adds the products of a row's elements from `first` on to the sums of some channels. weights: of the first channel and the row. */
static KIBI_NOINLINE void add_single(char *sums, int32_t channels, const int8_t *weights, const int16_t *x, int32_t first,
                                     const kibi_fully_connected_s16_accumulate_params *p)
{
    for (int32_t o = 0; o < channels && first < p->piece; ++o) {
        int64_t sum;
        (void)memcpy(&sum, sums, sizeof sum);
        sum = kibi_dot_s16(sum, weights + first, x + first, p->piece - first);
        (void)memcpy(sums, &sum, sizeof sum);
        sums += sizeof sum;
        weights += p->piece * p->pieces;
    }
}

/* Adds the products of a row. Scratch is aligned to 4 where 64-bit numbers are to 8. */
static void add_row(char *sums, const int8_t *weights, const int16_t *x, const kibi_fully_connected_s16_accumulate_params *p)
{
    int32_t o = 0;
#if KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS
    const int32_t fours = p->piece & -FOUR;
    products_task task;
    task.depth = p->piece * p->pieces;
    for (; o + FOUR <= p->output_channels; o += FOUR) {
        int32_t most;
        for (int32_t done = 0; done < fours; done += most) {
            most = fours - done < MOST_ELEMENTS ? fours - done : (int32_t)MOST_ELEMENTS;
            task.weights = weights + done;
            task.elements = x + done;
            task.end = task.elements + most;
            add_products(sums, &task);
        }
        add_single(sums, FOUR, weights, x, fours, p);
        sums += FOUR * sizeof(int64_t);
        weights += FOUR * task.depth;
    }
#endif
    add_single(sums, p->output_channels - o, weights, x, 0, p);
}

static void finish(int16_t *output, const char *sums, const kibi_fully_connected_s16_accumulate_params *p)
{
    for (int32_t i = 0; i < p->vectors; ++i) {
        for (int32_t o = 0; o < p->output_channels; ++o) {
            int64_t sum;
            (void)memcpy(&sum, sums, sizeof sum);
            sums += sizeof sum;
            *output++ = kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o],
                                            p->is_wide, p->output_zero_point, p->activation_min, p->activation_max);
        }
    }
}

void kibi_fully_connected_s16_accumulate(int16_t *output, const int16_t *const *rows,
                                         const kibi_fully_connected_s16_accumulate_params *params, void *scratch,
                                         int32_t step)
{
    const kibi_fully_connected_s16_accumulate_params *const p = params;
    const int32_t vector = step / p->pieces;
    const int32_t piece = step % p->pieces;
    char *const sums = (char *)scratch + (size_t)(vector * p->output_channels) * sizeof(int64_t);
    KIBI_ASSERT(scratch != NULL && vector >= 0 && vector < p->vectors);
    for (int32_t o = 0; o < p->output_channels && piece == 0; ++o) {
        const int64_t bias = KIBI_AT(int64_t, p, bias)[o];
        (void)memcpy(sums + (size_t)o * sizeof bias, &bias, sizeof bias);
    }
    add_row(sums, KIBI_AT(int8_t, p, filter) + piece * p->piece, rows[0], p);
    if (step == p->vectors * p->pieces - 1) {
        finish(output, (const char *)scratch, p);
    }
}
