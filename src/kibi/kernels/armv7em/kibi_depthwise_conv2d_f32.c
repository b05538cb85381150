/* DEPTHWISE_CONV_2D, float, Armv7E-M: four channels at once; plain C without a floating-point unit. Source of the rule: TFLM,
 * reference/depthwiseconv_float.h, DepthwiseConv. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_dsp.h"
#include "kibi_float.h"
#include "kibi_window_columns.h"

/* Four channels at once, where there are as many. */
#ifndef KIBI_DEPTHWISE_CONV2D_F32_OF_FOURS
#define KIBI_DEPTHWISE_CONV2D_F32_OF_FOURS 1
#endif

enum { BLOCK = 4 };

/* What the assembly reads of a pixel. */
typedef struct {
    const float *const *rows;
    const float *const *rows_end;
    const float *weights;     /* of the window's first row, at its first column inside */
    int32_t weight_bytes;     /* from a column's weights to the next one's */
    int32_t column_bytes;     /* from a column to the next one of the window */
    int32_t place_bytes;      /* from where a row begins to its first column */
    int32_t columns;          /* that are inside, at least 1 */
    int32_t skipped;          /* bytes of the weights of a row's columns outside */
    int32_t weight_row_bytes; /* of all columns of a row */
} taps;

#if defined(__ARM_FP) && KIBI_DEPTHWISE_CONV2D_F32_OF_FOURS
KIBI_FIELD_AT(taps, rows, 0);
KIBI_FIELD_AT(taps, rows_end, 4);
KIBI_FIELD_AT(taps, weights, 8);
KIBI_FIELD_AT(taps, weight_bytes, 12);
KIBI_FIELD_AT(taps, column_bytes, 16);
KIBI_FIELD_AT(taps, place_bytes, 20);
KIBI_FIELD_AT(taps, columns, 24);
KIBI_FIELD_AT(taps, skipped, 28);
KIBI_FIELD_AT(taps, weight_row_bytes, 32);

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

static KIBI_NOINLINE KIBI_NAKED void add_taps(KIBI_IN_REGISTER float sums[BLOCK], KIBI_IN_REGISTER const taps *of)
{
    __asm__ volatile(ADD_TAPS("s4-s7", "s5", "s6", "s7"));
}

static KIBI_NOINLINE KIBI_NAKED void add_taps_of_one(KIBI_IN_REGISTER float sums[BLOCK], KIBI_IN_REGISTER const taps *of)
{
    __asm__ volatile(ADD_TAPS("s4", "s4", "s4", "s4"));
}

static int has_blocks(const kibi_depthwise_conv2d_f32_params *p)
{
    return p->depth_multiplier == 1 || p->depth_multiplier >= BLOCK;
}
#else
static void add_taps(float sums[BLOCK], const taps *of)
{
    (void)sums;
    (void)of;
}

static void add_taps_of_one(float sums[BLOCK], const taps *of)
{
    (void)sums;
    (void)of;
}

static int has_blocks(const kibi_depthwise_conv2d_f32_params *p)
{
    (void)p;
    return 0;
}
#endif

static float output_of(float sum, int32_t o, const kibi_depthwise_conv2d_f32_params *p)
{
    return kibi_clamp_f32(sum + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max);
}

/* The sum of input channel `c` and output channel `o` over the columns of a window. */
static float sum_of(const float *const *rows, int32_t c, int32_t o, const kibi_window_columns *columns,
                    const kibi_depthwise_conv2d_f32_params *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    float sum = 0.0f;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const float *x = rows[ky] + columns->place + c;
            const float *w = KIBI_AT(float, p, filter) + (ky * p->kernel_width + columns->weight) * outputs + o;
            for (int32_t k = 0; k < columns->runs; ++k) {
                sum += *x * *w;
                x += columns->step;
                w += outputs;
            }
        }
    }
    return sum;
}

/* Computes four output channels at once where four of one input channel, or of four, are left. */
static void pixel_of(float *output, const float *const *rows, const kibi_window_columns *columns,
                     const kibi_depthwise_conv2d_f32_params *p)
{
    const int is_fast = has_blocks(p) && columns->runs > 0;
    const int32_t multiplier = p->depth_multiplier;
    const int32_t outputs = p->input_channels * multiplier;
    const int32_t size = (int32_t)sizeof(**rows);
    const float *const weights = KIBI_AT(float, p, filter) + columns->weight * outputs;
    taps of;
    int32_t c = 0;
    int32_t left = multiplier == 1 ? outputs : multiplier; /* output channels of input channel c, or all */
    int32_t o = 0;
    of.rows = rows;
    of.rows_end = rows + p->kernel_rows;
    of.weight_bytes = outputs * size;
    of.column_bytes = columns->step * size;
    of.columns = columns->runs;
    of.weight_row_bytes = p->kernel_width * outputs * size;
    of.skipped = (p->kernel_width - columns->runs) * outputs * size;
    while (o < outputs) {
        int32_t count = 1;
        if (is_fast && left >= BLOCK) {
            float sums[BLOCK];
            count = BLOCK;
            of.weights = weights + o;
            of.place_bytes = (columns->place + c) * size;
            if (multiplier == 1) {
                add_taps(sums, &of);
            } else {
                add_taps_of_one(sums, &of);
            }
            for (int32_t k = 0; k < BLOCK; ++k) {
                output[o + k] = output_of(sums[k], o + k, p);
            }
        } else {
            output[o] = output_of(sum_of(rows, c, o, columns, p), o, p);
        }
        o += count;
        left -= count;
        if (multiplier == 1) {
            c = o;
        } else if (left == 0) {
            left = multiplier;
            ++c;
        }
    }
}

void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch)
{
    const kibi_depthwise_conv2d_f32_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                      p->input_width, p->input_channels, 1);
        found.runs *= found.run; /* columns, also where those of a single channel are neighbours */
        pixel_of(output, rows, &found, p);
        output += p->input_channels * p->depth_multiplier;
    }
}
