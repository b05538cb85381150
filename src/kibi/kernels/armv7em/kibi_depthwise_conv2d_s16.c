/* DEPTHWISE_CONV_2D, int16, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/depthwise_conv.h, DepthwiseConvPerChannel. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_dsp.h"
#include "kibi_requantize_s16.h"
#include "kibi_window_columns.h"

enum { BLOCK = 4, MOST_TAPS = 511 }; /* the sum of so many products of 23 bits fits 32 bits */

/* What the assembly reads of a pixel. */
typedef struct {
    const int16_t *const *rows;
    const int16_t *const *rows_end;
    const int8_t *weights;    /* of the window's first row, at its first column inside */
    int32_t outputs;          /* bytes from a column's weights to the next one's */
    int32_t column_bytes;     /* from a column to the next one of the window */
    int32_t place_bytes;      /* from where a row begins to its first column */
    int32_t columns;          /* that are inside, at least 1 */
    int32_t skipped;          /* bytes of the weights of a row's columns outside */
    int32_t weight_row_bytes; /* of all columns of a row */
} taps;

KIBI_FIELD_AT(taps, rows, 0);
KIBI_FIELD_AT(taps, rows_end, 4);
KIBI_FIELD_AT(taps, weights, 8);
KIBI_FIELD_AT(taps, outputs, 12);
KIBI_FIELD_AT(taps, column_bytes, 16);
KIBI_FIELD_AT(taps, place_bytes, 20);
KIBI_FIELD_AT(taps, columns, 24);
KIBI_FIELD_AT(taps, skipped, 28);
KIBI_FIELD_AT(taps, weight_row_bytes, 32);

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

static KIBI_NOINLINE KIBI_NAKED void add_taps(KIBI_IN_REGISTER int32_t sums[BLOCK], KIBI_IN_REGISTER const taps *of)
{
    __asm__ volatile(ADD_TAPS("ldr r8, [r12]\n"
                              "ldr r9, [r12, #4]\n",
                              "smlabb r4, r8, r10, r4\n"
                              "smlatb r5, r8, r11, r5\n"
                              "smlabt r6, r9, r10, r6\n"
                              "smlatt r7, r9, r11, r7\n"));
}

static KIBI_NOINLINE KIBI_NAKED void add_taps_of_one(KIBI_IN_REGISTER int32_t sums[BLOCK], KIBI_IN_REGISTER const taps *of)
{
    __asm__ volatile(ADD_TAPS("ldrh r8, [r12]\n",
                              "smlabb r4, r8, r10, r4\n"
                              "smlabb r5, r8, r11, r5\n"
                              "smlabt r6, r8, r10, r6\n"
                              "smlabt r7, r8, r11, r7\n"));
}

static inline int16_t output_of(int64_t sum, int32_t o, const kibi_depthwise_conv2d_s16_params *p)
{
    return kibi_requantize_s16(sum, KIBI_AT(int32_t, p, multiplier)[o], KIBI_AT(int8_t, p, shift)[o], p->is_wide, 0,
                               p->activation_min, p->activation_max);
}

/* A sum, plus the products of channel `c` and output channel `o` over the columns of a window. */
static int64_t sum_of(int64_t sum, const int16_t *const *rows, int32_t c, int32_t o, const kibi_window_columns *columns,
                      const kibi_depthwise_conv2d_s16_params *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const int16_t *x = rows[ky] + columns->place + c;
            const int8_t *w = KIBI_AT(int8_t, p, filter) + (ky * p->kernel_width + columns->weight) * outputs + o;
            for (int32_t k = 0; k < columns->runs; ++k) {
                sum += (int32_t)*w * *x;
                x += columns->step;
                w += outputs;
            }
        }
    }
    return sum;
}

/* Computes four output channels at once where four of one input channel, or of four, are left. */
static void pixel_of(int16_t *output, const int16_t *const *rows, const kibi_window_columns *columns,
                     const kibi_depthwise_conv2d_s16_params *p)
{
    const int has_blocks = p->kernel_rows * p->kernel_width <= MOST_TAPS && columns->runs > 0;
    const int32_t multiplier = p->depth_multiplier;
    const int32_t outputs = p->input_channels * multiplier;
    const int32_t size = (int32_t)sizeof(**rows);
    const int8_t *const weights = KIBI_AT(int8_t, p, filter) + columns->weight * outputs;
    taps of;
    int32_t c = 0;
    int32_t left = multiplier == 1 ? outputs : multiplier; /* output channels of input channel c, or all */
    int32_t o = 0;
    of.rows = rows;
    of.rows_end = rows + p->kernel_rows;
    of.outputs = outputs;
    of.column_bytes = columns->step * size;
    of.columns = columns->runs;
    of.weight_row_bytes = p->kernel_width * outputs;
    of.skipped = (p->kernel_width - columns->runs) * outputs;
    while (o < outputs) {
        int32_t count = 1;
        if (has_blocks && left >= BLOCK) {
            int32_t sums[BLOCK];
            count = BLOCK;
            of.weights = weights + o;
            of.place_bytes = (columns->place + c) * size;
            if (multiplier == 1) {
                add_taps(sums, &of);
            } else {
                add_taps_of_one(sums, &of);
            }
            for (int32_t k = 0; k < BLOCK; ++k) {
                output[o + k] = output_of(KIBI_AT(int64_t, p, bias)[o + k] + sums[k], o + k, p);
            }
        } else {
            output[o] = output_of(sum_of(KIBI_AT(int64_t, p, bias)[o], rows, c, o, columns, p), o, p);
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

void kibi_depthwise_conv2d_s16(int16_t *output, const int16_t *const *rows,
                               const kibi_depthwise_conv2d_s16_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s16_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        kibi_window_columns found = kibi_find_columns(x * p->stride - p->pad, p->kernel_width, p->dilation,
                                                      p->input_width, p->input_channels, 1);
        found.runs *= found.run; /* columns, also where those of a single channel are neighbours */
        pixel_of(output, rows, &found, p);
        output += p->input_channels * p->depth_multiplier;
    }
}
