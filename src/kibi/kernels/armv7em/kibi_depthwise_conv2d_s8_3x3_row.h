/* A row of a depthwise convolution, three by three, Armv7E-M: pixels one after another, by a function in assembly. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H
#define KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H

#include "kibi_clamp_s8.h"
#include "kibi_depthwise_conv2d_s8_block.h"

enum { BLOCK = 4, LEFT_IS_OUTSIDE = 1, RIGHT_IS_OUTSIDE = 2 };

/* Neighbouring pixels, all channels or some of each, as the assembly wants them; addresses wrap. */
typedef struct {
    uint32_t rounding;   /* of the output, as the requantization wants it */
    uint32_t output;     /* from where the first pointer is after a block to the block's output */
    uint32_t end;        /* where the first pointer is after the first pixel; 0 if columns are outside */
    uint32_t last;       /* where it is after the last one; if columns are outside, there is one pixel */
    uint32_t outside;    /* LEFT_IS_OUTSIDE, RIGHT_IS_OUTSIDE */
    uint32_t fill;       /* the input's zero point, in both halves */
    uint32_t fill_bytes; /* and in all bytes */
    const int32_t *blocks;
    uint32_t skip;    /* bytes from a pixel's end to the next one's window, less the window */
    uint32_t step;    /* bytes from a pixel's window to the next one's */
    uint32_t back;    /* channels that one more block shares with the one before it; 0: there is none, else there is one pixel */
    int8_t *values;   /* for that block's outputs */
    uint32_t rows[3]; /* to the window's right column */
    uint32_t left;    /* bytes from a column of the window to its left neighbour, below 0 */
} kibi_depthwise_pixels;

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_depthwise_pixels, rounding, 0);
KIBI_FIELD_AT(kibi_depthwise_pixels, output, 4);
KIBI_FIELD_AT(kibi_depthwise_pixels, end, 8);
KIBI_FIELD_AT(kibi_depthwise_pixels, last, 12);
KIBI_FIELD_AT(kibi_depthwise_pixels, outside, 16);
KIBI_FIELD_AT(kibi_depthwise_pixels, fill, 20);
KIBI_FIELD_AT(kibi_depthwise_pixels, fill_bytes, 24);
KIBI_FIELD_AT(kibi_depthwise_pixels, blocks, 28);
KIBI_FIELD_AT(kibi_depthwise_pixels, skip, 32);
KIBI_FIELD_AT(kibi_depthwise_pixels, step, 36);
KIBI_FIELD_AT(kibi_depthwise_pixels, back, 40);
KIBI_FIELD_AT(kibi_depthwise_pixels, values, 44);
KIBI_FIELD_AT(kibi_depthwise_pixels, rows, 48);
KIBI_FIELD_AT(kibi_depthwise_pixels, left, 60);

/* What a row is, with the names and the meaning of the kernels' parameters. */
typedef struct {
    const int32_t *blocks;
    int32_t input_width;
    int32_t channels;
    int32_t input_zero_point;
    int32_t output_width;
    int32_t activation_min;
    int32_t activation_max;
    int32_t stride;
    int32_t dilation;
    int32_t pad;
} kibi_depthwise_row;

/* The body of a naked function of one argument, a pointer to kibi_depthwise_pixels. Four channels at a time: pairs of taps are
 * those of the first two rows in each column, and of the third row in the left and the middle one.
 * Carry says that the right column is outside: else it is clear, as pointers are below where they end.
 *
 * Registers and stack:
 *   r0 … r2   the rows, to the right column; before: at
 *   r3        left: bytes from a column to its left neighbour
 *   r4 … r7   the sums of four channels
 *   r8        the packed constants
 *   r9, r10   inputs; after a block: rounding and output
 *   r11, r12  free; after a block: end and last
 *   lr        free
 *   sp + 0    rounding
 *   sp + 4    output, end, last
 *   sp + 16   outside, fill, fill_bytes
 *   sp + 28   blocks
 *   sp + 32   skip, step, back, values
 *   sp + 48   r4 … r11, lr of the caller
 * Stack: 84 bytes. */
#define KIBI_DEPTHWISE_3X3(requantize)                         \
    __asm__ volatile(                                          \
        ".syntax unified\n"                                    \
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"        \
        "ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"\
        "push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}\n"\
        "ldm r0, {r0, r1, r2, r3}\n"                           \
        "ldr r11, [sp, #8]\n" /* end */                        \
        "cmp r0, r11\n"                                        \
        "bhs 17f\n"                                            \
        "11:\n" /* the next block; no column is outside */     \
        "ldm r8!, {r4, r5, r6, r7}\n"                          \
        "12:\n" /* left column: first two rows */              \
        "ldr r9, [r0, r3, lsl #1]\n"                           \
        "ldr r10, [r1, r3, lsl #1]\n"                          \
        KIBI_TWO_TAPS                                          \
        "ldr r9, [r2, r3, lsl #1]\n"                           \
        "ldr r10, [r2, r3]\n"                                  \
        "13:\n" /* third row: left and middle */               \
        KIBI_TWO_TAPS                                          \
        "ldr r9, [r0, r3]\n"                                   \
        "ldr r10, [r1, r3]\n"                                  \
        KIBI_TWO_TAPS                                          \
        "bcs 15f\n"                                            \
        "ldr r9, [r0], #4\n"                                   \
        "ldr r10, [r1], #4\n"                                  \
        KIBI_TWO_TAPS                                          \
        "ldr r9, [r2], #4\n"                                   \
        KIBI_ONE_TAP                                           \
        "14:\n" /* requantize and store */                     \
        requantize("r9, r10, r11, r12")                        \
        "str r4, [r0, r10]\n"                                  \
        "cmp r0, r11\n"                                        \
        "blo 11b\n"                                            \
        "beq 16f\n"                                            \
        "cmp r0, r12\n"                                        \
        "beq 19f\n"                                            \
        "17:\n" /* the next block; a column is outside */      \
        "ldm r8!, {r4, r5, r6, r7}\n"                          \
        "ldrd r10, r9, [sp, #16]\n" /* outside, fill */        \
        /* outside: 1 left, 2 right, 3 both. Carry, set from 2 on, later leads to 15. */ \
        "cmp r10, #2\n"                                        \
        "blo 18f\n"                                            \
        /* The right column's weights are 48 bytes on, after three pairs of taps. */ \
        KIBI_TWO_TAPS_OUTSIDE(", #48]", ", #56]")              \
        KIBI_ONE_TAP_OUTSIDE(", #64]")                         \
        "beq 12b\n"                                            \
        "18:\n" /* the left column is outside */               \
        KIBI_TWO_TAPS_OUTSIDE("], #8", "], #8")                \
        "ldr r9, [sp, #24]\n" /* fill_bytes */                 \
        "ldr r10, [r2, r3]\n"                                  \
        "b 13b\n"                                              \
        "15:\n" /* the right column is outside */              \
        "add r0, r0, #4\n"                                     \
        "add r1, r1, #4\n"                                     \
        "add r2, r2, #4\n"                                     \
        /* Past the right column's weights: 16 bytes of a pair of taps, 8 of one. */ \
        "add r8, r8, #24\n"                                    \
        "b 14b\n"                                              \
        "16:\n" /* the next pixel */                           \
        "cmp r0, r12\n"                                        \
        "beq 19f\n"                                            \
        "add r9, sp, #28\n"                                    \
        "ldm r9, {r8, r9, r12}\n" /* blocks, skip, step */     \
        "add r0, r0, r9\n"                                     \
        "add r1, r1, r9\n"                                     \
        "add r2, r2, r9\n"                                     \
        "sub r10, r10, r9\n"                                   \
        "add r11, r11, r12\n"                                  \
        "strd r10, r11, [sp, #4]\n" /* output, end */          \
        "b 11b\n"                                              \
        "19:\n" /* all pixels are done */                      \
        "ldrd r9, r12, [sp, #40]\n" /* back, values */         \
        "cmp r9, #0\n"                                         \
        "beq 20f\n"                                            \
        /* One more block ends at the last channel, and shares some with the block before it. */ \
        "sub r0, r0, r9\n"                                     \
        "sub r1, r1, r9\n"                                     \
        "sub r2, r2, r9\n"                                     \
        "mov r10, #0\n"                                        \
        "str r10, [sp, #40]\n"                                 \
        "add r11, r0, #4\n"                                    \
        "sub r12, r12, r11\n"                                  \
        "str r12, [sp, #4]\n" /* output */                     \
        "ldr r10, [sp, #8]\n" /* end */                        \
        /* With no column outside, `end` is where this block ends; else it stays 0. */ \
        "cmp r10, #0\n"                                        \
        "it ne\n"                                              \
        "movne r10, r11\n"                                     \
        "strd r10, r11, [sp, #8]\n" /* end, last */            \
        "beq 17b\n"                                            \
        "cmp r0, r11\n"                                        \
        "b 11b\n"                                              \
        "20:\n" /* the end */                                  \
        "add sp, sp, #48\n"                                    \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n" ::: "memory")

/* The row, by a function whose body is KIBI_DEPTHWISE_3X3. */
static inline void kibi_depthwise_row_3x3(int8_t *output, const int8_t *const *rows, const kibi_depthwise_row *p,
                                          uint32_t rounding, void (*compute)(const kibi_depthwise_pixels *))
{
    const int32_t count = p->channels & 3;
    const uint32_t whole = (uint32_t)(p->channels - count);
    kibi_depthwise_pixels at;
    int8_t values[BLOCK];
    int32_t left = p->output_width;
    int32_t column = 2 * p->dilation - p->pad; /* under the window's right column */
    int8_t *to = output;
    at.rounding = rounding;
    at.fill = ((uint32_t)p->input_zero_point & 0xFFFFu) * 0x10001u;
    at.fill_bytes = ((uint32_t)p->input_zero_point & 0xFFu) * 0x1010101u;
    at.blocks = p->blocks;
    at.skip = (uint32_t)((p->stride - 1) * p->channels);
    at.step = (uint32_t)(p->stride * p->channels);
    at.back = (uint32_t)(-count & 3);
    at.values = values;
    at.left = (uint32_t)(-p->dilation * p->channels);
    do {
        int32_t run = 1;
        at.outside = (column < 2 * p->dilation ? LEFT_IS_OUTSIDE : 0) | (column >= p->input_width ? RIGHT_IS_OUTSIDE : 0);
        if (at.outside == 0 && count == 0) {
            run = (p->input_width - 1 - column) / p->stride + 1;
            run = run < left ? run : left;
        }
        for (int32_t i = 0; i < 3; ++i) {
            at.rows[i] = (uint32_t)(uintptr_t)rows[i] + (uint32_t)(column * p->channels);
        }
        at.output = (uint32_t)(uintptr_t)to - at.rows[0] - BLOCK;
        at.end = at.outside != 0 ? 0 : at.rows[0] + whole;
        at.last = at.rows[0] + whole + (uint32_t)(run - 1) * at.step;
        compute(&at);
        to += p->channels * run;
        for (int32_t i = 1; i <= count; ++i) {
            to[-i] = values[BLOCK - i];
            __asm__ volatile(""); /* else the compiler calls memcpy */
        }
        column += run * p->stride;
        left -= run;
    } while (left != 0);
    if (p->activation_min != INT8_MIN || p->activation_max != INT8_MAX) {
        kibi_clamp_s8(output, p->output_width * p->channels, p->activation_min, p->activation_max);
    }
}

#endif
