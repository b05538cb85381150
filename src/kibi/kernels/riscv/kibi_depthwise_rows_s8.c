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
    const int8_t *rows[3];
    const int8_t *filter;
    const int32_t *bias;
    const int32_t *multiplier;
    const int8_t *shift;
    int8_t *output;
    int32_t channels;
    int32_t before; /* elements from the first column of the first window to that of the input */
    int32_t pad;
    int32_t input_width;
    int32_t output_width;
    int32_t input_zero_point;
    int32_t output_zero_point;
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
KIBI_FIELD_AT(row_3x3, before, 36);
KIBI_FIELD_AT(row_3x3, pad, 40);
KIBI_FIELD_AT(row_3x3, input_width, 44);
KIBI_FIELD_AT(row_3x3, output_width, 48);
KIBI_FIELD_AT(row_3x3, input_zero_point, 52);
KIBI_FIELD_AT(row_3x3, output_zero_point, 56);
KIBI_FIELD_AT(row_3x3, low, 60);
KIBI_FIELD_AT(row_3x3, high, 64);
KIBI_FIELD_AT(row_3x3, stride, 68);
KIBI_FIELD_AT(row_3x3, channel, 72);

/* sum = from + x * w */
#define ADD(sum, from, x, w) "mul t1, " x ", " w "\n" "add " sum ", " from ", t1\n"
#define BEGIN(sum, x, w) "mul " sum ", " x ", " w "\n" "add " sum ", " sum ", s9\n"

/* sum = from + x * the sum of a column of weights */
#define ADD_ALL(sum, from, a, b, c)     \
    "add t1, " a ", " b "\n"            \
    "add t1, t1, " c "\n"               \
    "mul t1, t1, t0\n"                  \
    "add " sum ", " from ", t1\n"

/* The zero point, for columns outside of the input. */
#define OUTSIDE "lw t1, 0(sp)\n" "lw t0, 52(t1)\n"

#define NEXT_COLUMN "add a1, a1, a4\n" "add a2, a2, a4\n" "add a3, a3, a4\n" "addi a6, a6, 1\n"

/* Scales t2, and stores the output. */
#define OUTPUT                          \
    "bltz s11, 7f\n"                    \
    "mulhsu t0, t2, s10\n"              \
    "mul t1, t2, s10\n"                 \
    "srli t1, t1, 31\n"                 \
    "add t0, t0, t1\n"                  \
    "srai t1, t0, 31\n"                 \
    "add t0, t0, t1\n"                  \
    "sra t0, t0, s11\n"                 \
    "addi t0, t0, 1\n"                  \
    "srai t0, t0, 1\n"                  \
    "8:\n"                              \
    "add t0, t0, ra\n"                  \
    "bge t0, t5, 9f\n"                  \
    "mv t0, t5\n"                       \
    "9:\n"                              \
    "bge t6, t0, 9f\n"                  \
    "mv t0, t6\n"                       \
    "9:\n"                              \
    "sb t0, 0(a0)\n"                    \
    "add a0, a0, a4\n"

/* The same where the shift is to the left. */
#define TO_THE_LEFT                     \
    "7:\n"                              \
    "not t1, s11\n"                     \
    "sll t2, t2, t1\n"                  \
    "mulhsu t0, t2, s10\n"              \
    "mul t1, t2, s10\n"                 \
    "srli t1, t1, 31\n"                 \
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
 *   a5        outputs that are left
 *   a6, a7    the column's number; input_width
 *   s0 … s8   the weights, row by row
 *   s9        bias
 *   s10       the multiplier, doubled
 *   s11       ~shift: below 0 where the shift is to the left
 *   t0, t1    an element, a product
 *   t2        the sum of the window whose last column is the next one
 *   t3, t4    sums of the windows after it
 *   t5, t6    low, high
 *   ra        output_zero_point
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
        "lw t1, 72(t0)\n"
        "lw a4, 32(t0)\n"
        "lw t2, 36(t0)\n"
        "sub t2, t1, t2\n"
        "lw a1, 0(t0)\n"
        "add a1, a1, t2\n"
        "lw a2, 4(t0)\n"
        "add a2, a2, t2\n"
        "lw a3, 8(t0)\n"
        "add a3, a3, t2\n"
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
        "lw a6, 40(t0)\n"
        "neg a6, a6\n"
        "lw a7, 44(t0)\n"
        "lw a5, 48(t0)\n"
        "addi t1, t1, 1\n"
        "sw t1, 72(t0)\n"
        /* the first two columns: what the sum is after the first one does not matter */
        "li t4, 2\n"
        "2:\n"
        "bgeu a6, a7, 3f\n"
        "lb t5, 0(a1)\n"
        "lb t6, 0(a2)\n"
        "lb ra, 0(a3)\n"
        "j 4f\n"
        "3:\n"
        "lw t5, 52(t0)\n"
        "mv t6, t5\n"
        "mv ra, t5\n"
        "4:\n"
        ADD("t2", "t3", "t5", "s1") ADD("t2", "t2", "t6", "s4") ADD("t2", "t2", "ra", "s7")
        BEGIN("t3", "t5", "s0") ADD("t3", "t3", "t6", "s3") ADD("t3", "t3", "ra", "s6")
        NEXT_COLUMN
        "addi t4, t4, -1\n"
        "bnez t4, 2b\n"
        "lw t1, 68(t0)\n"
        "lw ra, 56(t0)\n"
        "lw t5, 60(t0)\n"
        "lw t6, 64(t0)\n"
        "addi t1, t1, -1\n"
        "bnez t1, 5f\n");
    __asm__ volatile(
        "2:\n" /* stride 1: a column is the last of a window, the middle one of the next and the first of that after it */
        "bgeu a6, a7, 4f\n"
        "lb t0, 0(a1)\n"
        ADD("t2", "t2", "t0", "s2") ADD("t3", "t3", "t0", "s1") BEGIN("t4", "t0", "s0")
        "lb t0, 0(a2)\n"
        ADD("t2", "t2", "t0", "s5") ADD("t3", "t3", "t0", "s4") ADD("t4", "t4", "t0", "s3")
        "lb t0, 0(a3)\n"
        ADD("t2", "t2", "t0", "s8") ADD("t3", "t3", "t0", "s7") ADD("t4", "t4", "t0", "s6")
        "3:\n"
        NEXT_COLUMN
        OUTPUT
        "mv t2, t3\n"
        "mv t3, t4\n"
        "addi a5, a5, -1\n"
        "bnez a5, 2b\n"
        "j 6f\n"
        TO_THE_LEFT
        "4:\n" /* a column outside */
        OUTSIDE
        ADD_ALL("t2", "t2", "s2", "s5", "s8") ADD_ALL("t3", "t3", "s1", "s4", "s7") ADD_ALL("t4", "s9", "s0", "s3", "s6")
        "j 3b\n");
    __asm__ volatile(
        "5:\n" /* stride 2: a column is the last of a window and the first of the next; the one after it is the middle one */
        "bgeu a6, a7, 4f\n"
        "lb t0, 0(a1)\n"
        ADD("t2", "t2", "t0", "s2") BEGIN("t4", "t0", "s0")
        "lb t0, 0(a2)\n"
        ADD("t2", "t2", "t0", "s5") ADD("t4", "t4", "t0", "s3")
        "lb t0, 0(a3)\n"
        ADD("t2", "t2", "t0", "s8") ADD("t4", "t4", "t0", "s6")
        "2:\n"
        NEXT_COLUMN
        OUTPUT
        "addi a5, a5, -1\n"
        "beqz a5, 6f\n"
        "bgeu a6, a7, 3f\n"
        "lb t0, 0(a1)\n"
        ADD("t2", "t4", "t0", "s1")
        "lb t0, 0(a2)\n"
        ADD("t2", "t2", "t0", "s4")
        "lb t0, 0(a3)\n"
        ADD("t2", "t2", "t0", "s7")
        NEXT_COLUMN
        "j 5b\n"
        TO_THE_LEFT
        "3:\n" /* the middle column is outside */
        OUTSIDE
        ADD_ALL("t2", "t4", "s1", "s4", "s7")
        NEXT_COLUMN
        "j 5b\n"
        "4:\n" /* the last one is */
        OUTSIDE
        ADD_ALL("t2", "t2", "s2", "s5", "s8") ADD_ALL("t4", "s9", "s0", "s3", "s6")
        "j 2b\n"
        "6:\n" /* the channel's outputs are done */
        "lw t0, 0(sp)\n"
        "lw t1, 72(t0)\n"
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

int kibi_depthwise_rows_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params)
{
#if KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
    if (params->kernel_rows == 3 && params->kernel_width == 3 && params->stride <= 2 && params->dilation == 1 &&
        are_apart(output, rows, params)) {
        row_3x3 row = {{rows[0], rows[1], rows[2]}, NULL, NULL, NULL, NULL, output, params->channels, 0, params->pad,
                       params->input_width, params->output_width, params->input_zero_point, params->output_zero_point,
                       params->activation_min, params->activation_max, params->stride, 0};
        row.filter = KIBI_AT(int8_t, params, filter);
        row.bias = KIBI_AT(int32_t, params, bias);
        row.multiplier = KIBI_AT(int32_t, params, multiplier);
        row.shift = KIBI_AT(int8_t, params, shift);
        row.before = params->pad * params->channels;
        compute(&row);
        return 1;
    }
#else
    (void)output;
    (void)rows;
    (void)params;
#endif
    return 0;
}
