/* A row of a depthwise convolution of three by three, channel by channel, RISC-V: what kernels share that differ in their constants and
 * in how sums become outputs. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#ifndef KIBI_DEPTHWISE_CHANNELS_H
#define KIBI_DEPTHWISE_CHANNELS_H

#include "kibi.h"

#include "kibi_assembly.h"

/* A row. The assembly reads the fields. */
typedef struct {
    const int8_t *rows[3]; /* their first columns inside of the input */
    int8_t *output;
    int32_t channels;
    int32_t pad;    /* columns before the input, 0 or 1 */
    int32_t inside; /* outputs whose last column is inside of the input */
    int32_t tail;   /* outputs after them, 0 or 1, whose last column alone is outside */
    int32_t input_zero_point;
    int32_t rounding; /* what is added to an output before its fraction is cut off */
    int32_t low;
    int32_t high;
    int32_t stride;
    int32_t channel;         /* the next one */
    int32_t end;             /* the channel after the last one */
    const void *constants;   /* the kernel says which these are */
    const int32_t *bias;     /* only of some kernels, as are the following */
    const int32_t *multiplier;
    const int8_t *shift;
} kibi_depthwise_channels;
KIBI_FIELD_AT(kibi_depthwise_channels, output, 12);
KIBI_FIELD_AT(kibi_depthwise_channels, channels, 16);
KIBI_FIELD_AT(kibi_depthwise_channels, pad, 20);
KIBI_FIELD_AT(kibi_depthwise_channels, inside, 24);
KIBI_FIELD_AT(kibi_depthwise_channels, tail, 28);
KIBI_FIELD_AT(kibi_depthwise_channels, input_zero_point, 32);
KIBI_FIELD_AT(kibi_depthwise_channels, rounding, 36);
KIBI_FIELD_AT(kibi_depthwise_channels, low, 40);
KIBI_FIELD_AT(kibi_depthwise_channels, high, 44);
KIBI_FIELD_AT(kibi_depthwise_channels, stride, 48);
KIBI_FIELD_AT(kibi_depthwise_channels, channel, 52);
KIBI_FIELD_AT(kibi_depthwise_channels, end, 56);
KIBI_FIELD_AT(kibi_depthwise_channels, constants, 60);
KIBI_FIELD_AT(kibi_depthwise_channels, bias, 64);
KIBI_FIELD_AT(kibi_depthwise_channels, multiplier, 68);
KIBI_FIELD_AT(kibi_depthwise_channels, shift, 72);

/* sum = from + t0 * w */
#define KIBI_CHANNELS_ADD(sum, from, w) "mul t1, t0, " w "\n" "add " sum ", " from ", t1\n"

/* sum = from + the zero point * the sum of a column of weights */
#define KIBI_CHANNELS_ADD_OUTSIDE(sum, from, a, b, c) \
    "lw t1, 0(sp)\n"                                  \
    "lw t0, 32(t1)\n"                                 \
    "add t1, " a ", " b "\n"                          \
    "add t1, t1, " c "\n"                             \
    "mul t1, t1, t0\n"                                \
    "add " sum ", " from ", t1\n"

/* The next element of a row. */
#define KIBI_CHANNELS_NEXT(row) "lb t0, 0(" row ")\n" "add " row ", " row ", a4\n"

/* Cuts the output in t0, and stores it. */
#define KIBI_CHANNELS_CUT \
    "bge t0, t5, 9f\n"    \
    "mv t0, t5\n"         \
    "9:\n"                \
    "bge t6, t0, 9f\n"    \
    "mv t0, t6\n"         \
    "9:\n"                \
    "sb t0, 0(a0)\n"      \
    "add a0, a0, a4\n"

#define KIBI_CHANNELS_KEEP(op)                                                                     \
    op " ra, 4(sp)\n" op " s0, 8(sp)\n" op " s1, 12(sp)\n" op " s2, 16(sp)\n" op " s3, 20(sp)\n"   \
    op " s4, 24(sp)\n" op " s5, 28(sp)\n" op " s6, 32(sp)\n" op " s7, 36(sp)\n" op " s8, 40(sp)\n" \
    op " s9, 44(sp)\n" op " s10, 48(sp)\n" op " s11, 52(sp)\n"

/* Registers and stack of the function, which has these macros in this order, and its own constants after KIBI_CHANNELS_BEGIN:
 *   a0        the next output; before: row
 *   a1 … a3   the next column of the three rows
 *   a4        channels
 *   a5        outputs that are left, of those whose last column is inside
 *   a6        those after them
 *   s0 … s8   the weights, row by row
 *   s9        what sums start from
 *   s10, s11  the kernel's
 *   t0, t1    an element, a product; while constants are read: row, the channel
 *   t2        the sum of the window whose last column is the next one
 *   t3        the sum of the window after it, where windows are one column apart
 *   t4        a whole sum
 *   t5, t6    low, high
 *   ra        rounding
 *   sp + 0    row
 *   sp + 4    ra, s0 … s11 of the caller
 * Stack: 64 bytes. */
#define KIBI_CHANNELS_BEGIN       \
    "addi sp, sp, -64\n"          \
    "sw a0, 0(sp)\n"              \
    KIBI_CHANNELS_KEEP("sw")      \
    "mv t0, a0\n"                 \
    "lw a4, 16(t0)\n"             \
    "lw ra, 36(t0)\n"             \
    "lw t5, 40(t0)\n"             \
    "lw t6, 44(t0)\n"             \
    "1:\n" /* the next channel */ \
    "lw t1, 52(t0)\n"             \
    "lw a1, 0(t0)\n"              \
    "add a1, a1, t1\n"            \
    "lw a2, 4(t0)\n"              \
    "add a2, a2, t1\n"            \
    "lw a3, 8(t0)\n"              \
    "add a3, a3, t1\n"            \
    "lw a0, 12(t0)\n"             \
    "add a0, a0, t1\n"
#define KIBI_CHANNELS_COLUMNS \
    "addi t1, t1, 1\n"        \
    "sw t1, 52(t0)\n"         \
    "lw a5, 24(t0)\n"         \
    "lw a6, 28(t0)\n"         \
    "lw t2, 48(t0)\n"         \
    "lw t1, 20(t0)\n"         \
    "addi t2, t2, -1\n"       \
    "bnez t2, 5f\n"

/* The outputs of a channel: the first two columns, one of which may be outside, then column after column. */
#define KIBI_CHANNELS_STRIDE_1(output)                                                                                                   \
    "beqz t1, 2f\n"                                                                                                                      \
    KIBI_CHANNELS_ADD_OUTSIDE("t3", "s9", "s0", "s3", "s6")                                                                              \
    "j 3f\n"                                                                                                                             \
    "2:\n"                                                                                                                               \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t3", "s9", "s0")                                                                         \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t3", "t3", "s3")                                                                         \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t3", "t3", "s6")                                                                         \
    "3:\n"                                                                                                                               \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t2", "t3", "s1") KIBI_CHANNELS_ADD("t3", "s9", "s0")                                     \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t2", "t2", "s4") KIBI_CHANNELS_ADD("t3", "t3", "s3")                                     \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t2", "t2", "s7") KIBI_CHANNELS_ADD("t3", "t3", "s6")                                     \
    "beqz a5, 4f\n"                                                                                                                      \
    "2:\n" /* a column is the last of a window, the middle one of the next and the first of that after it */                             \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t4", "t2", "s2") KIBI_CHANNELS_ADD("t2", "t3", "s1") KIBI_CHANNELS_ADD("t3", "s9", "s0") \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t4", "t4", "s5") KIBI_CHANNELS_ADD("t2", "t2", "s4") KIBI_CHANNELS_ADD("t3", "t3", "s3") \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t4", "t4", "s8") KIBI_CHANNELS_ADD("t2", "t2", "s7") KIBI_CHANNELS_ADD("t3", "t3", "s6") \
    "3:\n"                                                                                                                               \
    output                                                                                                                               \
    "addi a5, a5, -1\n"                                                                                                                  \
    "bgtz a5, 2b\n"                                                                                                                      \
    "4:\n"                                                                                                                               \
    "beqz a6, 6f\n"                                                                                                                      \
    "li a6, 0\n"                                                                                                                         \
    KIBI_CHANNELS_ADD_OUTSIDE("t4", "t2", "s2", "s5", "s8")                                                                              \
    "j 3b\n"

/* The same where windows are two columns apart. */
#define KIBI_CHANNELS_STRIDE_2(output)                                                                              \
    "5:\n" /* the first column may be outside */                                                                    \
    "beqz t1, 2f\n"                                                                                                 \
    KIBI_CHANNELS_ADD_OUTSIDE("t3", "s9", "s0", "s3", "s6")                                                         \
    "j 3f\n"                                                                                                        \
    "2:\n"                                                                                                          \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t3", "s9", "s0")                                                    \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t3", "t3", "s3")                                                    \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t3", "t3", "s6")                                                    \
    "3:\n"                                                                                                          \
    "beqz a5, 4f\n"                                                                                                 \
    "2:\n" /* a column is the middle one of a window; the next one is its last, and the first of the next window */ \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t2", "t3", "s1")                                                    \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t2", "t2", "s4")                                                    \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t2", "t2", "s7")                                                    \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t4", "t2", "s2") KIBI_CHANNELS_ADD("t3", "s9", "s0")                \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t4", "t4", "s5") KIBI_CHANNELS_ADD("t3", "t3", "s3")                \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t4", "t4", "s8") KIBI_CHANNELS_ADD("t3", "t3", "s6")                \
    "3:\n"                                                                                                          \
    output                                                                                                          \
    "addi a5, a5, -1\n"                                                                                             \
    "bgtz a5, 2b\n"                                                                                                 \
    "4:\n"                                                                                                          \
    "beqz a6, 6f\n"                                                                                                 \
    "li a6, 0\n"                                                                                                    \
    KIBI_CHANNELS_NEXT("a1") KIBI_CHANNELS_ADD("t2", "t3", "s1")                                                    \
    KIBI_CHANNELS_NEXT("a2") KIBI_CHANNELS_ADD("t2", "t2", "s4")                                                    \
    KIBI_CHANNELS_NEXT("a3") KIBI_CHANNELS_ADD("t2", "t2", "s7")                                                    \
    KIBI_CHANNELS_ADD_OUTSIDE("t4", "t2", "s2", "s5", "s8")                                                         \
    "j 3b\n"

#define KIBI_CHANNELS_END                       \
    "6:\n" /* the channel's outputs are done */ \
    "lw t0, 0(sp)\n"                            \
    "lw t1, 52(t0)\n"                           \
    "lw t2, 56(t0)\n"                           \
    "bne t1, t2, 1b\n"                          \
    KIBI_CHANNELS_KEEP("lw")                    \
    "addi sp, sp, 64\n"                         \
    "ret\n"

/* True if the channels of a row may be computed one after another: its output is nowhere in a row of the input, or each channel is in
 * the place of itself. */
static inline int kibi_depthwise_are_apart(const int8_t *output, const int8_t *const *rows, int32_t output_width,
                                           int32_t input_width, int32_t channels)
{
    const uintptr_t from = (uintptr_t)output;
    const uintptr_t bytes = (uintptr_t)(output_width * channels);
    const uintptr_t row_bytes = (uintptr_t)(input_width * channels);
    for (int32_t row = 0; row < 3; ++row) {
        const uintptr_t at = (uintptr_t)rows[row];
        if (at < from + bytes && from < at + row_bytes && (at < from ? from - at : at - from) % (uintptr_t)channels != 0) {
            return 0;
        }
    }
    return 1;
}

/* Sets where windows begin, and the numbers of outputs; channels and stride are set. Returns 0 where other columns than a first and a
 * last one are outside.
 * pad: columns before the input; below 0, columns of the input before the first window. */
static inline int kibi_depthwise_place_windows(kibi_depthwise_channels *row, const int8_t *const *rows, int32_t output_width,
                                               int32_t input_width, int32_t pad)
{
    const int32_t skipped = pad < 0 ? -pad : 0;
    const int32_t width = input_width - skipped;
    const int32_t columns = width + pad + skipped - 3; /* by which the first window can move to the right */
    const int32_t most = columns < 0 ? 0 : columns / row->stride + 1;
    for (int32_t i = 0; i < 3; ++i) {
        row->rows[i] = rows[i] + skipped * row->channels;
    }
    row->pad = pad + skipped;
    row->inside = output_width < most ? output_width : most;
    row->tail = output_width - row->inside;
    return row->pad <= 1 &&
           (row->tail == 0 || (row->tail == 1 && row->inside * row->stride + 2 - row->pad <= width));
}

#endif
