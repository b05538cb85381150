/* DEPTHWISE_CONV_2D, float, Armv7E-M: four channels at once; plain C without a floating-point unit. Source of the rule: TFLM,
 * reference/depthwiseconv_float.h, DepthwiseConv. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_dsp.h"
#include "kibi_float.h"
#include "kibi_window_columns.h"

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

#ifdef __ARM_FP
KIBI_FIELD_AT(taps, rows, 0);
KIBI_FIELD_AT(taps, rows_end, 4);
KIBI_FIELD_AT(taps, weights, 8);
KIBI_FIELD_AT(taps, weight_bytes, 12);
KIBI_FIELD_AT(taps, column_bytes, 16);
KIBI_FIELD_AT(taps, place_bytes, 20);
KIBI_FIELD_AT(taps, columns, 24);
KIBI_FIELD_AT(taps, skipped, 28);
KIBI_FIELD_AT(taps, weight_row_bytes, 32);

/* Sums of products of four channels, row by row, column by column: VMLA rounds the product, then the sum.
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
static KIBI_NOINLINE KIBI_NAKED void add_taps(KIBI_IN_REGISTER float sums[BLOCK], KIBI_IN_REGISTER const taps *of)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "movs r2, #0\n"
        "vmov s0, r2\n"
        "vmov s1, r2\n"
        "vmov s2, r2\n"
        "vmov s3, r2\n"
        "ldr r4, [r1]\n"
        "ldrd r2, r6, [r1, #8]\n"
        "ldr r7, [r1, #16]\n"
        "1:\n" /* the next row */
        "ldr r5, [r4], #4\n"
        "ldr r12, [r1, #32]\n"
        "cbz r5, 3f\n"
        "ldrd r12, r3, [r1, #20]\n"
        "add r5, r5, r12\n"
        "2:\n" /* the next column */
        "vldm r5, {s4-s7}\n"
        "vldm r2, {s8-s11}\n"
        "add r5, r5, r7\n"
        "add r2, r2, r6\n"
        "vmla.f32 s0, s4, s8\n"
        "vmla.f32 s1, s5, s9\n"
        "vmla.f32 s2, s6, s10\n"
        "vmla.f32 s3, s7, s11\n"
        "subs r3, r3, #1\n"
        "bne 2b\n"
        "ldr r12, [r1, #28]\n"
        "3:\n" /* the row is done */
        "add r2, r2, r12\n"
        "ldr r12, [r1, #4]\n"
        "cmp r4, r12\n"
        "bne 1b\n"
        "vstm r0, {s0-s3}\n"
        "pop {r4, r5, r6, r7, pc}\n");
}

static int has_blocks(const kibi_depthwise_conv2d_f32_params *p)
{
    return p->depth_multiplier == 1;
}
#else
static void add_taps(float sums[BLOCK], const taps *of)
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

/* Computes whole blocks of a pixel's channels. Returns where they end. */
static int32_t blocks_of(float *output, const float *const *rows, const kibi_window_columns *columns,
                         const kibi_depthwise_conv2d_f32_params *p)
{
    const int32_t channels = p->input_channels;
    const int32_t size = (int32_t)sizeof(**rows);
    taps of;
    int32_t c = 0;
    of.rows = rows;
    of.rows_end = rows + p->kernel_rows;
    of.weights = KIBI_AT(float, p, filter) + columns->weight * channels;
    of.weight_bytes = channels * size;
    of.column_bytes = columns->step * size;
    of.place_bytes = columns->place * size;
    of.columns = columns->runs;
    of.weight_row_bytes = p->kernel_width * channels * size;
    of.skipped = (p->kernel_width - columns->runs) * channels * size;
    for (; c + BLOCK <= channels; c += BLOCK) {
        float sums[BLOCK];
        add_taps(sums, &of);
        for (int32_t k = 0; k < BLOCK; ++k) {
            output[c + k] = output_of(sums[k], c + k, p);
        }
        of.weights += BLOCK;
        of.place_bytes += BLOCK * size;
    }
    return c;
}

void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch)
{
    const kibi_depthwise_conv2d_f32_params *const p = params;
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                      p->input_width, p->input_channels, 1);
        int32_t o = 0;
        found.runs *= found.run; /* columns, also where those of a single channel are neighbours */
        if (has_blocks(p) && found.runs > 0) {
            o = blocks_of(output, rows, &found, p);
        }
        for (int32_t c = o, m = 0; o < outputs; ++o) {
            output[o] = output_of(sum_of(rows, c, o, &found, p), o, p);
            if (++m == p->depth_multiplier) {
                m = 0;
                ++c;
            }
        }
        output += outputs;
    }
}
