/* DEPTHWISE_CONV_2D, int16, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/depthwise_conv.h, DepthwiseConvPerChannel. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_requantize_s16.h"

#define KIBI_FOURS_PARAMS kibi_depthwise_conv2d_s16_params
#define KIBI_FOURS_ELEMENT int16_t
#define KIBI_FOURS_WEIGHT int8_t
#define KIBI_FOURS_SUM int64_t
#include "kibi_depthwise_conv2d_fours.h"

enum { MOST_TAPS = 511 }; /* the sum of so many products of 23 bits fits 32 bits */

/* Sums of products of four output channels. Elements are those of four channels, or four times that of one.
 * Registers and stack:
 *   r0         the next row's pointer; before: sums
 *   r1         taps
 *   r2         weights
 *   r3         columns left
 *   r4 … r7    the sums
 *   r8, r9     elements; before: place_bytes; then column_bytes, then what is skipped
 *   r10, r11   weights of the channels 0 and 2, 1 and 3
 *   r12        the next column
 *   lr         outputs
 *   sp + 0     sums
 *   sp + 4     r4 … r11, lr of the caller
 * Stack: 40 bytes. */
#define ADD_TAPS(elements, products)                            \
    ".syntax unified\n"                                         \
    "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"         \
    "movs r4, #0\n"                                             \
    "movs r5, #0\n"                                             \
    "movs r6, #0\n"                                             \
    "movs r7, #0\n"                                             \
    "ldr r0, [r1]\n"                                            \
    "ldrd r2, lr, [r1, #8]\n"                                   \
    "1:\n" /* the next row */                                   \
    "ldr r12, [r0], #4\n"                                       \
    "cmp r12, #0\n"                                             \
    "beq 4f\n"                                                  \
    "ldrd r8, r3, [r1, #20]\n"                                  \
    "add r12, r12, r8\n"                                        \
    "2:\n" /* the next column */                                \
    elements                                                    \
    "ldr r11, [r2]\n"                                           \
    "sxtb16 r10, r11\n"                                         \
    "sxtb16 r11, r11, ror #8\n"                                 \
    products                                                    \
    "ldr r8, [r1, #16]\n"                                       \
    "add r2, r2, lr\n"                                          \
    "add r12, r12, r8\n"                                        \
    "subs r3, r3, #1\n"                                         \
    "bne 2b\n"                                                  \
    "ldr r8, [r1, #28]\n"                                       \
    "3:\n" /* the row is done */                                \
    "ldr r9, [r1, #4]\n"                                        \
    "add r2, r2, r8\n"                                          \
    "cmp r0, r9\n"                                              \
    "bne 1b\n"                                                  \
    "pop {r0}\n"                                                \
    "stm r0, {r4, r5, r6, r7}\n"                                \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"              \
    "4:\n" /* a row outside */                                  \
    "ldr r8, [r1, #32]\n"                                       \
    "b 3b\n"

static KIBI_NOINLINE KIBI_NAKED void add_taps(KIBI_IN_REGISTER int32_t sums[KIBI_FOURS],
                                                   KIBI_IN_REGISTER const kibi_fours_taps *of)
{
    __asm__ volatile(ADD_TAPS("ldr r8, [r12]\n"
                              "ldr r9, [r12, #4]\n",
                              "smlabb r4, r8, r10, r4\n"
                              "smlatb r5, r8, r11, r5\n"
                              "smlabt r6, r9, r10, r6\n"
                              "smlatt r7, r9, r11, r7\n"));
}

static KIBI_NOINLINE KIBI_NAKED void add_taps_of_one(KIBI_IN_REGISTER int32_t sums[KIBI_FOURS],
                                                          KIBI_IN_REGISTER const kibi_fours_taps *of)
{
    __asm__ volatile(ADD_TAPS("ldrh r8, [r12]\n",
                              "smlabb r4, r8, r10, r4\n"
                              "smlabb r5, r8, r11, r5\n"
                              "smlabt r6, r8, r10, r6\n"
                              "smlabt r7, r8, r11, r7\n"));
}

static inline int kibi_has_fours(const kibi_depthwise_conv2d_s16_params *p)
{
    return p->kernel_rows * p->kernel_width <= MOST_TAPS;
}

static inline int16_t kibi_output_of(int64_t sum, int32_t o, const kibi_depthwise_conv2d_s16_params *p)
{
    return kibi_requantize_s16(KIBI_AT(int64_t, p, bias)[o] + sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o],
                               p->is_wide, 0, p->activation_min, p->activation_max);
}

static inline int32_t kibi_kind_of_outputs(const kibi_depthwise_conv2d_s16_params *p)
{
    (void)p;
    return 0;
}

static inline void kibi_compute_fours(int16_t *output, kibi_fours_taps *of, int32_t o, int32_t count,
                                      const kibi_depthwise_conv2d_s16_params *p)
{
    const int32_t step = p->depth_multiplier == 1 ? KIBI_FOURS * (int32_t)sizeof(*output) : 0;
    for (int32_t k = 0; k < count; k += KIBI_FOURS) {
        int32_t sums[KIBI_FOURS];
        if (step != 0) {
            add_taps(sums, of);
        } else {
            add_taps_of_one(sums, of);
        }
        for (int32_t i = 0; i < KIBI_FOURS; ++i) {
            output[k + i] = kibi_output_of(sums[i], o + k + i, p);
        }
        of->weights += KIBI_FOURS;
        of->place_bytes += step;
    }
}

void kibi_depthwise_conv2d_s16(int16_t *output, const int16_t *const *rows,
                               const kibi_depthwise_conv2d_s16_params *params, void *scratch)
{
    (void)scratch;
    kibi_row_of_fours(output, rows, params);
}
