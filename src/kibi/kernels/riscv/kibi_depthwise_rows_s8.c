/* DEPTHWISE_CONV_2D, int8, rows of windows of three by three, RISC-V. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_rows_s8.h"

#include "kibi_assembly.h"

/* A part that only some layers need: it saves instructions. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
#define KIBI_DEPTHWISE_CONV2D_S8_OF_THREES 1
#endif

#if KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
/* A row whose windows are three by three. The assembly reads the fields. */
typedef struct {
    const int8_t *rows[3]; /* their first columns inside of the input */
    const int8_t *filter;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int8_t *output;
    int32_t channels;
    int32_t pad;    /* columns before the input, 0 or 1 */
    int32_t inside; /* outputs whose last column is inside of the input */
    int32_t tail;   /* outputs after them, 0 or 1, whose last column alone is outside */
    int32_t input_zero_point;
    int32_t rounding; /* twice the output's zero point, plus 1 */
    int32_t low;
    int32_t high;
    int32_t stride;
    int32_t channel; /* the next one */
} row_3x3;
KIBI_FIELD_AT(row_3x3, filter, 12);
KIBI_FIELD_AT(row_3x3, bias, 16);
KIBI_FIELD_AT(row_3x3, multiplier, 20);
KIBI_FIELD_AT(row_3x3, shift, 24);
KIBI_FIELD_AT(row_3x3, output, 28);
KIBI_FIELD_AT(row_3x3, channels, 32);
KIBI_FIELD_AT(row_3x3, pad, 36);
KIBI_FIELD_AT(row_3x3, inside, 40);
KIBI_FIELD_AT(row_3x3, tail, 44);
KIBI_FIELD_AT(row_3x3, input_zero_point, 48);
KIBI_FIELD_AT(row_3x3, rounding, 52);
KIBI_FIELD_AT(row_3x3, low, 56);
KIBI_FIELD_AT(row_3x3, high, 60);
KIBI_FIELD_AT(row_3x3, stride, 64);
KIBI_FIELD_AT(row_3x3, channel, 68);

/* sum = from + t0 * w */
#define ADD(sum, from, w) "mul t1, t0, " w "\n" "add " sum ", " from ", t1\n"

/* sum = from + the zero point * the sum of a column of weights */
#define ADD_OUTSIDE(sum, from, a, b, c) \
    "lw t1, 0(sp)\n"                    \
    "lw t0, 48(t1)\n"                   \
    "add t1, " a ", " b "\n"            \
    "add t1, t1, " c "\n"               \
    "mul t1, t1, t0\n"                  \
    "add " sum ", " from ", t1\n"

/* The next element of a row. */
#define NEXT(row) "lb t0, 0(" row ")\n" "add " row ", " row ", a4\n"

/* Scales t4, and stores the output. */
#define OUTPUT                          \
    "blez s11, 7f\n"                    \
    "mulhsu t0, t4, s10\n"              \
    "mul t1, t4, s10\n"                 \
    "srli t1, t1, 31\n"                 \
    "add t0, t0, t1\n"                  \
    "srai t1, t0, 31\n"                 \
    "add t0, t0, t1\n"                  \
    "sra t0, t0, s11\n"                 \
    "add t0, t0, ra\n"                  \
    "srai t0, t0, 1\n"                  \
    "8:\n"                              \
    "bge t0, t5, 9f\n"                  \
    "mv t0, t5\n"                       \
    "9:\n"                              \
    "bge t6, t0, 9f\n"                  \
    "mv t0, t6\n"                       \
    "9:\n"                              \
    "sb t0, 0(a0)\n"                    \
    "add a0, a0, a4\n"

/* The same where the shift is to the left, or to the right by 1, where twice the zero point may be too much. */
#define RARELY                          \
    "7:\n"                              \
    "not t1, s11\n"                     \
    "bgez t1, 9f\n"                     \
    "li t1, 0\n"                        \
    "9:\n"                              \
    "sll t4, t4, t1\n"                  \
    "mulhsu t0, t4, s10\n"              \
    "mul t1, t4, s10\n"                 \
    "srli t1, t1, 31\n"                 \
    "add t0, t0, t1\n"                  \
    "bltz s11, 9f\n"                    \
    "srai t1, t0, 31\n"                 \
    "add t0, t0, t1\n"                  \
    "addi t0, t0, 1\n"                  \
    "srai t0, t0, 1\n"                  \
    "9:\n"                              \
    "srai t1, ra, 1\n"                  \
    "add t0, t0, t1\n"                  \
    "j 8b\n"

#define KEEP(op)                                                                                    \
    op " ra, 4(sp)\n" op " s0, 8(sp)\n" op " s1, 12(sp)\n" op " s2, 16(sp)\n" op " s3, 20(sp)\n"    \
    op " s4, 24(sp)\n" op " s5, 28(sp)\n" op " s6, 32(sp)\n" op " s7, 36(sp)\n" op " s8, 40(sp)\n"  \
    op " s9, 44(sp)\n" op " s10, 48(sp)\n" op " s11, 52(sp)\n"

/* Registers and stack:
 *   a0        the next output; before: row
 *   a1 … a3   the next column of the three rows
 *   a4        channels
 *   a5        outputs that are left, of those whose last column is inside
 *   a6        those after them
 *   s0 … s8   the weights, row by row
 *   s9        bias
 *   s10       the multiplier, doubled
 *   s11       ~shift: below 0 where the shift is to the left
 *   t0, t1    an element, a product
 *   t2        the sum of the window whose last column is the next one
 *   t3        the sum of the window after it, where windows are one column apart
 *   t4        a whole sum
 *   t5, t6    low, high
 *   ra        rounding
 *   sp + 0    row
 *   sp + 4    ra, s0 … s11 of the caller
 * Stack: 64 bytes. */
static KIBI_NOINLINE KIBI_NAKED void compute(KIBI_IN_REGISTER row_3x3 *row)
{
    __asm__ volatile(
        "addi sp, sp, -64\n"
        "sw a0, 0(sp)\n"
        KEEP("sw")
        "mv t0, a0\n"
        "1:\n" /* the next channel */
        "lw t1, 68(t0)\n"
        "lw a4, 32(t0)\n"
        "lw a1, 0(t0)\n"
        "add a1, a1, t1\n"
        "lw a2, 4(t0)\n"
        "add a2, a2, t1\n"
        "lw a3, 8(t0)\n"
        "add a3, a3, t1\n"
        "lw a0, 28(t0)\n"
        "add a0, a0, t1\n"
        "lw t3, 12(t0)\n"
        "add t3, t3, t1\n"
        "lb s0, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s1, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s2, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s3, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s4, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s5, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s6, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s7, 0(t3)\n"
        "add t3, t3, a4\n"
        "lb s8, 0(t3)\n"
        "slli t4, t1, 2\n"
        "lw t3, 16(t0)\n"
        "add t3, t3, t4\n"
        "lw s9, 0(t3)\n"
        "lw t3, 20(t0)\n"
        "add t3, t3, t4\n"
        "lw s10, 0(t3)\n"
        "slli s10, s10, 1\n"
        "lw t3, 24(t0)\n"
        "add t3, t3, t1\n"
        "lb s11, 0(t3)\n"
        "not s11, s11\n"
        "addi t1, t1, 1\n"
        "sw t1, 68(t0)\n"
        "lw a5, 40(t0)\n"
        "lw a6, 44(t0)\n"
        "lw ra, 52(t0)\n"
        "lw t5, 56(t0)\n"
        "lw t6, 60(t0)\n"
        "lw t2, 64(t0)\n"
        "lw t1, 36(t0)\n"
        "addi t2, t2, -1\n"
        "bnez t2, 5f\n");
    __asm__ volatile(
        /* stride 1: the first two columns, one of which may be outside */
        "beqz t1, 2f\n"
        ADD_OUTSIDE("t3", "s9", "s0", "s3", "s6")
        "j 3f\n"
        "2:\n"
        NEXT("a1") ADD("t3", "s9", "s0")
        NEXT("a2") ADD("t3", "t3", "s3")
        NEXT("a3") ADD("t3", "t3", "s6")
        "3:\n"
        NEXT("a1") ADD("t2", "t3", "s1") ADD("t3", "s9", "s0")
        NEXT("a2") ADD("t2", "t2", "s4") ADD("t3", "t3", "s3")
        NEXT("a3") ADD("t2", "t2", "s7") ADD("t3", "t3", "s6")
        "beqz a5, 4f\n"
        "2:\n" /* a column is the last of a window, the middle one of the next and the first of that after it */
        NEXT("a1") ADD("t4", "t2", "s2") ADD("t2", "t3", "s1") ADD("t3", "s9", "s0")
        NEXT("a2") ADD("t4", "t4", "s5") ADD("t2", "t2", "s4") ADD("t3", "t3", "s3")
        NEXT("a3") ADD("t4", "t4", "s8") ADD("t2", "t2", "s7") ADD("t3", "t3", "s6")
        "3:\n"
        OUTPUT
        "addi a5, a5, -1\n"
        "bgtz a5, 2b\n"
        "4:\n"
        "beqz a6, 6f\n"
        "li a6, 0\n"
        ADD_OUTSIDE("t4", "t2", "s2", "s5", "s8")
        "j 3b\n"
        RARELY);
    __asm__ volatile(
        "5:\n" /* stride 2: the first column, which may be outside */
        "beqz t1, 2f\n"
        ADD_OUTSIDE("t3", "s9", "s0", "s3", "s6")
        "j 3f\n"
        "2:\n"
        NEXT("a1") ADD("t3", "s9", "s0")
        NEXT("a2") ADD("t3", "t3", "s3")
        NEXT("a3") ADD("t3", "t3", "s6")
        "3:\n"
        "beqz a5, 4f\n"
        "2:\n" /* a column is the middle one of a window; the next one is its last, and the first of the next window */
        NEXT("a1") ADD("t2", "t3", "s1")
        NEXT("a2") ADD("t2", "t2", "s4")
        NEXT("a3") ADD("t2", "t2", "s7")
        NEXT("a1") ADD("t4", "t2", "s2") ADD("t3", "s9", "s0")
        NEXT("a2") ADD("t4", "t4", "s5") ADD("t3", "t3", "s3")
        NEXT("a3") ADD("t4", "t4", "s8") ADD("t3", "t3", "s6")
        "3:\n"
        OUTPUT
        "addi a5, a5, -1\n"
        "bgtz a5, 2b\n"
        "4:\n"
        "beqz a6, 6f\n"
        "li a6, 0\n"
        NEXT("a1") ADD("t2", "t3", "s1")
        NEXT("a2") ADD("t2", "t2", "s4")
        NEXT("a3") ADD("t2", "t2", "s7")
        ADD_OUTSIDE("t4", "t2", "s2", "s5", "s8")
        "j 3b\n"
        RARELY
        "6:\n" /* the channel's outputs are done */
        "lw t0, 0(sp)\n"
        "lw t1, 68(t0)\n"
        "bne t1, a4, 1b\n"
        KEEP("lw")
        "addi sp, sp, 64\n"
        "ret\n");
}

/* True if the channels of a row may be computed one after another: its output is nowhere in a row of the input, or each channel is in
 * the place of itself. */
static int are_apart(const int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p)
{
    const uintptr_t from = (uintptr_t)output;
    const uintptr_t bytes = (uintptr_t)(p->output_width * p->channels);
    const uintptr_t row_bytes = (uintptr_t)(p->input_width * p->channels);
    for (int32_t row = 0; row < 3; ++row) {
        const uintptr_t at = (uintptr_t)rows[row];
        if (at < from + bytes && from < at + row_bytes && (at < from ? from - at : at - from) % (uintptr_t)p->channels != 0) {
            return 0;
        }
    }
    return 1;
}
#endif

#if KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
/* Sets where windows begin, and the numbers of outputs; returns 0 where other columns than a first and a last one are outside. */
static int place_windows(row_3x3 *row, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *p)
{
    const int32_t skipped = p->pad < 0 ? -p->pad : 0; /* of the input, before the first window */
    const int32_t width = p->input_width - skipped;
    const int32_t pad = p->pad + skipped;
    const int32_t columns = width + pad - 3; /* by which the first window can move to the right */
    const int32_t most = columns < 0 ? 0 : columns / p->stride + 1;
    for (int32_t i = 0; i < 3; ++i) {
        row->rows[i] = rows[i] + skipped * p->channels;
    }
    row->pad = pad;
    row->inside = p->output_width < most ? p->output_width : most;
    row->tail = p->output_width - row->inside;
    return pad <= 1 && (row->tail == 0 || (row->tail == 1 && row->inside * p->stride + 2 - pad <= width));
}
#endif

int kibi_depthwise_rows_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params)
{
#if KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
    if (params->kernel_rows == 3 && params->kernel_width == 3 && params->stride <= 2 && params->dilation == 1 &&
        are_apart(output, rows, params)) {
        row_3x3 row;
        row.output = output;
        row.channels = params->channels;
        row.input_zero_point = params->input_zero_point;
        row.rounding = 2 * params->output_zero_point + 1;
        row.low = params->activation_min;
        row.high = params->activation_max;
        row.stride = params->stride;
        row.channel = 0;
        row.filter = KIBI_AT(int8_t, params, filter);
        row.bias = KIBI_AT(int32_t, params, bias);
        row.multiplier = KIBI_AT(int32_t, params, multiplier);
        row.shift = KIBI_AT(int8_t, params, shift);
        if (place_windows(&row, rows, params)) {
            compute(&row);
            return 1;
        }
    }
#else
    (void)output;
    (void)rows;
    (void)params;
#endif
    return 0;
}
