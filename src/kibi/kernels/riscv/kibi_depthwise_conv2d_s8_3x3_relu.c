/* DEPTHWISE_CONV_2D, three by three with a ReLU, int8, RISC-V. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_depthwise_channels.h"
#include "kibi_depthwise_conv2d_s8_3x3_row.h"

/* Rounds the sum in t4 once, and stores the output: rule N53 of Kibi's numerics. */
#define OUTPUT              \
    "mulh t0, t4, s10\n"    \
    "add t0, t0, ra\n"      \
    "srai t0, t0, 8\n"      \
    KIBI_CHANNELS_CUT

/* A channel's constants, of a block of 26 words for four channels, from where its sums start on; the factor in s10. The number of the
 * channel is, in fours, the place in the block: two of them have the last weight elsewhere. */
#define CONSTANTS           \
    "lw t3, 60(t0)\n"       \
    "lw s9, 0(t3)\n"        \
    "lh s0, 16(t3)\n"       \
    "lh s3, 18(t3)\n"       \
    "lh s6, 32(t3)\n"       \
    "lh s7, 34(t3)\n"       \
    "lh s1, 48(t3)\n"       \
    "lh s4, 50(t3)\n"       \
    "lh s2, 64(t3)\n"       \
    "lh s5, 66(t3)\n"       \
    "lh s8, 80(t3)\n"       \
    "lw s10, 88(t3)\n"      \
    "andi t4, t1, 2\n"      \
    "beqz t4, 9f\n"         \
    "lh s8, 74(t3)\n"       \
    "9:\n"                  \
    "not t4, t1\n"          \
    "andi t4, t4, 3\n"      \
    "addi t3, t3, 4\n"      \
    "bnez t4, 9f\n"         \
    "addi t3, t3, 88\n"     \
    "9:\n"                  \
    "sw t3, 60(t0)\n"

/* Stack: 64 bytes. */
static KIBI_NOINLINE KIBI_NAKED void compute(KIBI_IN_REGISTER kibi_depthwise_channels *row)
{
    __asm__ volatile(KIBI_CHANNELS_BEGIN CONSTANTS KIBI_CHANNELS_COLUMNS);
    __asm__ volatile(KIBI_CHANNELS_STRIDE_1(OUTPUT));
    __asm__ volatile(KIBI_CHANNELS_STRIDE_2(OUTPUT) KIBI_CHANNELS_END);
}

/* The row, channel by channel; returns 0 where it cannot be computed so. */
static int compute_channels(int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_3x3_params *p)
{
    const int32_t rest = p->channels % BLOCK;
    kibi_depthwise_channels row;
    if (p->stride > 2 || p->dilation != 1 ||
        !kibi_depthwise_are_apart(output, rows, p->output_width, p->input_width, p->channels)) {
        return 0;
    }
    row.output = output;
    row.channels = p->channels;
    row.input_zero_point = p->input_zero_point;
    row.rounding = p->output_zero_point * (1 << KIBI_DEPTHWISE_FRACTION_BITS);
    row.low = p->activation_min;
    row.high = p->activation_max;
    row.stride = p->stride;
    row.channel = 0;
    row.end = p->channels - rest;
    row.constants = KIBI_AT(int32_t, p, blocks);
    if (!kibi_depthwise_place_windows(&row, rows, p->output_width, p->input_width, p->pad)) {
        return 0;
    }
    compute(&row);
    if (rest != 0) {
        /* The last channels are the last of a block: they are counted from its first place on. */
        const int32_t places = BLOCK - rest;
        row.constants = (const int32_t *)row.constants + places;
        row.channel = row.end + places;
        row.end = row.channel + rest;
        row.output -= places;
        for (int32_t i = 0; i < 3; ++i) {
            row.rows[i] -= places;
        }
        compute(&row);
    }
    return 1;
}

void kibi_depthwise_conv2d_s8_3x3_relu(int8_t *output, const int8_t *const *rows,
                                       const kibi_depthwise_conv2d_s8_3x3_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_3x3_params *const p = params;
    (void)scratch;
    if (compute_channels(output, rows, p) == 0) {
        const kibi_depthwise_row row = {KIBI_AT(int32_t, p, blocks), p->input_width,  p->channels,
                                        p->input_zero_point,         p->output_width, p->output_zero_point,
                                        p->activation_min,           p->activation_max, p->stride,
                                        p->dilation,                 p->pad,         KIBI_DEPTHWISE_FRACTION_BITS};
        kibi_depthwise_row_3x3(output, rows, &row);
    }
}
