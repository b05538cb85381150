/* DEPTHWISE_CONV_2D, int8, rows of windows of three by three, RISC-V. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_rows_s8.h"

#include "kibi_depthwise_channels.h"

/* A part that only some layers need: it saves instructions. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
#define KIBI_DEPTHWISE_CONV2D_S8_OF_THREES 1
#endif

#if KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
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
    KIBI_CHANNELS_CUT

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

/* A channel's constants: the weights, [9][channels]; the bias; the multiplier, doubled, in s10; ~shift, below 0 where it is to the left,
 * in s11. */
#define CONSTANTS           \
    "lw t3, 60(t0)\n"       \
    "add t3, t3, t1\n"      \
    "lb s0, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s1, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s2, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s3, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s4, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s5, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s6, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s7, 0(t3)\n"        \
    "add t3, t3, a4\n"      \
    "lb s8, 0(t3)\n"        \
    "slli t4, t1, 2\n"      \
    "lw t3, 64(t0)\n"       \
    "add t3, t3, t4\n"      \
    "lw s9, 0(t3)\n"        \
    "lw t3, 68(t0)\n"       \
    "add t3, t3, t4\n"      \
    "lw s10, 0(t3)\n"       \
    "slli s10, s10, 1\n"    \
    "lw t3, 72(t0)\n"       \
    "add t3, t3, t1\n"      \
    "lb s11, 0(t3)\n"       \
    "not s11, s11\n"

/* Stack: 64 bytes. */
static KIBI_NOINLINE KIBI_NAKED void compute(KIBI_IN_REGISTER kibi_depthwise_channels *row)
{
    __asm__ volatile(KIBI_CHANNELS_BEGIN CONSTANTS KIBI_CHANNELS_COLUMNS);
    __asm__ volatile(KIBI_CHANNELS_STRIDE_1(OUTPUT) RARELY);
    __asm__ volatile(KIBI_CHANNELS_STRIDE_2(OUTPUT) RARELY KIBI_CHANNELS_END);
}
#endif

int kibi_depthwise_rows_s8(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_params *params)
{
#if KIBI_DEPTHWISE_CONV2D_S8_OF_THREES
    const kibi_depthwise_conv2d_s8_params *const p = params;
    if (p->kernel_rows == 3 && p->kernel_width == 3 && p->stride <= 2 && p->dilation == 1 &&
        kibi_depthwise_are_apart(output, rows, p->output_width, p->input_width, p->channels)) {
        kibi_depthwise_channels row;
        row.output = output;
        row.channels = p->channels;
        row.input_zero_point = p->input_zero_point;
        row.rounding = 2 * p->output_zero_point + 1;
        row.low = p->activation_min;
        row.high = p->activation_max;
        row.stride = p->stride;
        row.channel = 0;
        row.end = p->channels;
        row.constants = KIBI_AT(int8_t, p, filter);
        row.bias = KIBI_AT(int32_t, p, bias);
        row.multiplier = KIBI_AT(int32_t, p, multiplier);
        row.shift = KIBI_AT(int8_t, p, shift);
        if (kibi_depthwise_place_windows(&row, rows, p->output_width, p->input_width, p->pad)) {
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
