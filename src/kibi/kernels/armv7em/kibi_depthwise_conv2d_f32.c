/* DEPTHWISE_CONV_2D, float, Armv7E-M: four channels at once; plain C without a floating-point unit. Source of the rule: TFLM,
 * reference/depthwiseconv_float.h, DepthwiseConv. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_float.h"

#define KIBI_FOURS_PARAMS kibi_depthwise_conv2d_f32_params
#define KIBI_FOURS_ELEMENT float
#define KIBI_FOURS_WEIGHT float
#define KIBI_FOURS_PART float
#define KIBI_FOURS_SUM float
#include "kibi_depthwise_conv2d_fours.h"

#ifdef __ARM_FP
/* Sums of products of four output channels, row by row, column by column: VMLA rounds the product, then the sum. Elements are
 * those of four channels, or four times that of one.
 * Registers and stack:
 *   r0         sums
 *   r1         taps
 *   r2         weights
 *   r3         columns left
 *   r4         the next row's pointer
 *   r5         the next column
 *   r6         weight_bytes
 *   r7         column_bytes
 *   r12        free
 *   s0 … s3    the sums
 *   s4 … s11   elements and weights
 *   sp + 0     r4 … r7, lr of the caller
 * Stack: 20 bytes. */
#define ADD_TAPS(elements, second, third, fourth)   \
    ".syntax unified\n"                             \
    "push {r4, r5, r6, r7, lr}\n"                   \
    "movs r2, #0\n"                                 \
    "vmov s0, r2\n"                                 \
    "vmov s1, r2\n"                                 \
    "vmov s2, r2\n"                                 \
    "vmov s3, r2\n"                                 \
    "ldr r4, [r1]\n"                                \
    "ldrd r2, r6, [r1, #8]\n"                       \
    "ldr r7, [r1, #16]\n"                           \
    "1:\n" /* the next row */                       \
    "ldr r5, [r4], #4\n"                            \
    "ldr r12, [r1, #32]\n"                          \
    "cbz r5, 3f\n"                                  \
    "ldrd r12, r3, [r1, #20]\n"                     \
    "add r5, r5, r12\n"                             \
    "2:\n" /* the next column */                    \
    "vldm r5, {" elements "}\n"                     \
    "vldm r2, {s8-s11}\n"                           \
    "add r5, r5, r7\n"                              \
    "add r2, r2, r6\n"                              \
    "vmla.f32 s0, s4, s8\n"                         \
    "vmla.f32 s1, " second ", s9\n"                 \
    "vmla.f32 s2, " third ", s10\n"                 \
    "vmla.f32 s3, " fourth ", s11\n"                \
    "subs r3, r3, #1\n"                             \
    "bne 2b\n"                                      \
    "ldr r12, [r1, #28]\n"                          \
    "3:\n" /* the row is done */                    \
    "add r2, r2, r12\n"                             \
    "ldr r12, [r1, #4]\n"                           \
    "cmp r4, r12\n"                                 \
    "bne 1b\n"                                      \
    "vstm r0, {s0-s3}\n"                            \
    "pop {r4, r5, r6, r7, pc}\n"

static KIBI_NOINLINE KIBI_NAKED void kibi_add_taps(KIBI_IN_REGISTER float sums[KIBI_FOURS],
                                                   KIBI_IN_REGISTER const kibi_fours_taps *of)
{
    __asm__ volatile(ADD_TAPS("s4-s7", "s5", "s6", "s7"));
}

static KIBI_NOINLINE KIBI_NAKED void kibi_add_taps_of_one(KIBI_IN_REGISTER float sums[KIBI_FOURS],
                                                          KIBI_IN_REGISTER const kibi_fours_taps *of)
{
    __asm__ volatile(ADD_TAPS("s4", "s4", "s4", "s4"));
}

static inline int kibi_has_fours(const kibi_depthwise_conv2d_f32_params *p)
{
    return p->depth_multiplier == 1 || p->depth_multiplier >= KIBI_FOURS;
}
#else
static void kibi_add_taps(float sums[KIBI_FOURS], const kibi_fours_taps *of)
{
    (void)sums;
    (void)of;
}

static void kibi_add_taps_of_one(float sums[KIBI_FOURS], const kibi_fours_taps *of)
{
    (void)sums;
    (void)of;
}

static inline int kibi_has_fours(const kibi_depthwise_conv2d_f32_params *p)
{
    (void)p;
    return 0;
}
#endif

static inline float kibi_output_of(float sum, int32_t o, const kibi_depthwise_conv2d_f32_params *p)
{
    return kibi_clamp_f32(sum + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max);
}

void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch)
{
    (void)scratch;
    kibi_row_of_fours(output, rows, params);
}
