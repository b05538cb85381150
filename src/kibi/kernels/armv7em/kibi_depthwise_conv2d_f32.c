/* DEPTHWISE_CONV_2D, float, Armv7E-M: eight or four channels at once; plain C without a floating-point unit. Source of the rule: TFLM,
 * reference/depthwiseconv_float.h, DepthwiseConv. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_finish_f32.h"

/* Four channels at once, where there are as many. */
#ifndef KIBI_DEPTHWISE_CONV2D_F32_OF_FOURS
#define KIBI_DEPTHWISE_CONV2D_F32_OF_FOURS 1
#endif

#define KIBI_FOURS_PARAMS kibi_depthwise_conv2d_f32_params
#define KIBI_FOURS_ELEMENT float
#define KIBI_FOURS_WEIGHT float
#define KIBI_FOURS_SUM float
#include "kibi_depthwise_conv2d_fours.h"

/* Channels of one pixel. */
typedef struct {
    kibi_fours_taps *taps;
    float *output;
    const float *bias;
    const float *bias_end; /* a multiple of four after bias, at least four */
    const float *range;    /* low and high */
} fours_task;

#if defined(__ARM_FP) && KIBI_DEPTHWISE_CONV2D_F32_OF_FOURS
KIBI_FIELD_AT(fours_task, taps, 0);
KIBI_FIELD_AT(fours_task, output, 4);
KIBI_FIELD_AT(fours_task, bias, 8);
KIBI_FIELD_AT(fours_task, bias_end, 12);
KIBI_FIELD_AT(fours_task, range, 16);

/* Registers and stack of both functions:
 *   r0         task
 *   r1         taps; at the end output
 *   r2         weights; at the end biases
 *   r3         columns left; at the end the kind of range
 *   r4         the next row's pointer
 *   r5         the next column
 *   r6         weight_bytes
 *   r7         column_bytes
 *   r8         where the pointers to rows end
 *   r9         place_bytes
 *   r10        columns
 *   r11        skipped
 *   r12        free
 *   s0 … s3    the sums; of eight s12 … s15, too
 *   s4 … s11   elements and weights
 *   sp + 0     r4 … r11, lr of the caller
 * Stack: 36 bytes. */
#define BEGIN                                               \
    ".syntax unified\n"                                     \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"         \
    "ldr r1, [r0]\n"                                        \
    "ldrd r9, r10, [r1, #20]\n"                             \
    "ldr r11, [r1, #28]\n"

/* Begins with the sums 0. */
#define BLOCK_BEGINS                                        \
    "ldrd r4, r8, [r1]\n"                                   \
    "ldrd r2, r6, [r1, #8]\n"                               \
    "ldr r7, [r1, #16]\n"                                   \
    "movs r3, #0\n"                                         \
    "vmov s0, r3\n"                                         \
    "vmov s1, r3\n"                                         \
    "vmov s2, r3\n"                                         \
    "vmov s3, r3\n"

/* All rows and columns: VMLA rounds the product, then the sum. */
#define ALL_TAPS(column)                                    \
    "1:\n" /* the next row */                               \
    "ldr r5, [r4], #4\n"                                    \
    "mov r3, r10\n"                                         \
    "cbz r5, 4f\n"                                          \
    "add r5, r5, r9\n"                                      \
    "2:\n" /* the next column */                            \
    column                                                  \
    "add r5, r5, r7\n"                                      \
    "add r2, r2, r6\n"                                      \
    "subs r3, r3, #1\n"                                     \
    "bne 2b\n"                                              \
    "add r2, r2, r11\n"                                     \
    "3:\n"                                                  \
    "cmp r4, r8\n"                                          \
    "bne 1b\n"                                              \
    "b 5f\n"                                                \
    "4:\n" /* a row outside */                              \
    "ldr r3, [r1, #32]\n"                                   \
    "add r2, r2, r3\n"                                      \
    "b 3b\n"                                                \
    "5:\n"

/* The products of four channels' weights, and elements of as many, or one. */
#define COLUMN(elements, second, third, fourth)             \
    "vldm r5, {" elements "}\n"                             \
    "vldm r2, {s8-s11}\n"                                   \
    "vmla.f32 s0, s4, s8\n"                                 \
    "vmla.f32 s1, " second ", s9\n"                         \
    "vmla.f32 s2, " third ", s10\n"                         \
    "vmla.f32 s3, " fourth ", s11\n"

/* Those of eight channels. */
#define WIDE_COLUMN                                         \
    "vldm r5!, {s4-s7}\n"                                   \
    "vldm r2!, {s8-s11}\n"                                  \
    "vmla.f32 s0, s4, s8\n"                                 \
    "vmla.f32 s1, s5, s9\n"                                 \
    "vmla.f32 s2, s6, s10\n"                                \
    "vmla.f32 s3, s7, s11\n"                                \
    "vldm r5, {s4-s7}\n"                                    \
    "vldm r2, {s8-s11}\n"                                   \
    "vmla.f32 s12, s4, s8\n"                                \
    "vmla.f32 s13, s5, s9\n"                                \
    "vmla.f32 s14, s6, s10\n"                               \
    "vmla.f32 s15, s7, s11\n"

#define FINISH                                              \
    "ldr r3, [r1, #36]\n"                                   \
    "ldrd r1, r2, [r0, #4]\n"                               \
    KIBI_FINISH_FOUR("[r0, #16]")                           \
    "strd r1, r2, [r0, #4]\n"

#define END                                                 \
    "ldrd r3, r12, [r0, #8]\n"                              \
    "ldr r1, [r0]\n"                                        \
    "cmp r3, r12\n"                                         \
    "bne 10b\n"                                             \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"

/* Of as many input channels. */
static KIBI_NOINLINE KIBI_NAKED void compute_channels(KIBI_IN_REGISTER fours_task *task)
{
    __asm__ volatile(
        BEGIN
        "10:\n" /* the next block */
        BLOCK_BEGINS
        "ldrd r3, r12, [r0, #8]\n"
        "sub r12, r12, r3\n"
        "cmp r12, #32\n"
        "blo 11f\n"
        "add r3, r2, #32\n" /* eight channels */
        "str r3, [r1, #8]\n"
        "subs r6, r6, #16\n"
        "subs r7, r7, #16\n"
        "vmov.f32 s12, s0\n"
        "vmov.f32 s13, s0\n"
        "vmov.f32 s14, s0\n"
        "vmov.f32 s15, s0\n"
        ALL_TAPS(WIDE_COLUMN)
        "add r9, r9, #32\n"
        FINISH
        "ldr r1, [r0]\n"
        "vmov.f32 s0, s12\n"
        "vmov.f32 s1, s13\n"
        "vmov.f32 s2, s14\n"
        "vmov.f32 s3, s15\n"
        "b 12f\n"
        "11:\n" /* four channels */
        "add r3, r2, #16\n"
        "str r3, [r1, #8]\n"
        ALL_TAPS(COLUMN("s4-s7", "s5", "s6", "s7"))
        "add r9, r9, #16\n"
        "12:\n"
        FINISH
        END);
}

/* Of one input channel. */
static KIBI_NOINLINE KIBI_NAKED void compute_channels_of_one(KIBI_IN_REGISTER fours_task *task)
{
    __asm__ volatile(
        BEGIN
        "10:\n" /* the next block */
        BLOCK_BEGINS
        "add r3, r2, #16\n"
        "str r3, [r1, #8]\n"
        ALL_TAPS(COLUMN("s4", "s4", "s4", "s4"))
        FINISH
        END);
}

static inline int kibi_has_fours(const kibi_depthwise_conv2d_f32_params *p)
{
    return p->depth_multiplier == 1 || p->depth_multiplier >= KIBI_FOURS;
}
#else
static void compute_channels(fours_task *task)
{
    (void)task;
}

static void compute_channels_of_one(fours_task *task)
{
    (void)task;
}

static inline int kibi_has_fours(const kibi_depthwise_conv2d_f32_params *p)
{
    (void)p;
    return 0;
}
#endif

static inline int32_t kibi_kind_of_outputs(const kibi_depthwise_conv2d_f32_params *p)
{
    return kibi_kind_of_range(p->activation_min, p->activation_max);
}

static inline void kibi_compute_fours(float *output, kibi_fours_taps *of, int32_t o, int32_t count,
                                      const kibi_depthwise_conv2d_f32_params *p)
{
    const float range[2] = {p->activation_min, p->activation_max};
    const float *const bias = KIBI_AT(float, p, bias) + o;
    fours_task task = {of, output, bias, bias + count, range};
    if (p->depth_multiplier == 1) {
        compute_channels(&task);
    } else {
        compute_channels_of_one(&task);
    }
}

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
