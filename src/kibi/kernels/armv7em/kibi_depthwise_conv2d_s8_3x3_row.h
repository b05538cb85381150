/* A row of a depthwise convolution, three by three, Armv7E-M, by a function in assembly. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H
#define KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H

#include "kibi_clamp_s8.h"
#include "kibi_depthwise_conv2d.h"
#include "kibi_depthwise_conv2d_s8_block.h"

enum { BLOCK = 4, LEFT_IS_OUTSIDE = 1, RIGHT_IS_OUTSIDE = 2 };

/* Neighbouring pixels as the assembly wants them: at most one with a left column outside, then those inside, then at most one with a
 * right column outside. Each block of four channels goes through all of them before the next one, so that its constants are read
 * from slow memory once, and then from its cache. Addresses wrap. */
typedef struct {
    const int32_t *blocks; /* the block's constants */
    uint32_t rounding;     /* of the output, as the requantization wants it */
    uint32_t channels;     /* bytes from a pixel's output to the next one's */
    uint32_t step;         /* bytes from a pixel's window to the next one's */
    uint32_t output;       /* of the block's next pixel */
    uint32_t end;          /* where the first of the rows is after the pixels that are inside */
    uint32_t first;        /* what is outside of the first pixel; 0: nothing, it is one of those inside */
    uint32_t fill;         /* the input's zero point, in both halves */
    uint32_t last;         /* RIGHT_IS_OUTSIDE where such a pixel follows those inside; else 0 */
    uint32_t back;         /* from the rows after a block's last pixel back to the next block's first one */
    uint32_t back_output;  /* the same of the output */
    uint32_t blocks_end;   /* where the first of the rows is after the last whole block */
    uint32_t shared;       /* channels that one more block shares with the one before it; 0: no more block */
    uint32_t move;         /* from the output after the last whole block to that block's */
    uint32_t rows[3];      /* to the right column of the first window */
    uint32_t left;         /* bytes from a column of the window to its left neighbour, below 0 */
} kibi_depthwise_pixels;

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_depthwise_pixels, blocks, 0);
KIBI_FIELD_AT(kibi_depthwise_pixels, rounding, 4);
KIBI_FIELD_AT(kibi_depthwise_pixels, channels, 8);
KIBI_FIELD_AT(kibi_depthwise_pixels, step, 12);
KIBI_FIELD_AT(kibi_depthwise_pixels, output, 16);
KIBI_FIELD_AT(kibi_depthwise_pixels, end, 20);
KIBI_FIELD_AT(kibi_depthwise_pixels, first, 24);
KIBI_FIELD_AT(kibi_depthwise_pixels, fill, 28);
KIBI_FIELD_AT(kibi_depthwise_pixels, last, 32);
KIBI_FIELD_AT(kibi_depthwise_pixels, back, 36);
KIBI_FIELD_AT(kibi_depthwise_pixels, back_output, 40);
KIBI_FIELD_AT(kibi_depthwise_pixels, blocks_end, 44);
KIBI_FIELD_AT(kibi_depthwise_pixels, shared, 48);
KIBI_FIELD_AT(kibi_depthwise_pixels, move, 52);
KIBI_FIELD_AT(kibi_depthwise_pixels, rows, 56);
KIBI_FIELD_AT(kibi_depthwise_pixels, left, 68);

/* The body of a naked function of one argument, a pointer to kibi_depthwise_pixels, which it changes. Pairs of taps are those of
 * the first two rows in each column, and of the third row in the left and the middle one.
 * Carry says that the right column is outside: else it is clear, as pointers are below where they end.
 *
 * Registers and stack:
 *   r0 … r2   the rows, to the right column; before: at
 *   r3        left: bytes from a column to its left neighbour
 *   r4 … r7   the sums of four channels; else free
 *   r8        the packed constants
 *   r9, r10   inputs; after a pixel: rounding and channels
 *   r11, r12  free; after a pixel: step and output
 *   lr        free; after a pixel: end
 *   sp + 0    blocks, rounding
 *   sp + 8    channels, step, output, end
 *   sp + 24   first, fill, last
 *   sp + 36   back, back_output
 *   sp + 44   where `blocks_end` and what follows it are
 *   sp + 48   r4 … r11, lr of the caller
 * Stack: 84 bytes. */
#define KIBI_DEPTHWISE_3X3(requantize)                         \
    __asm__ volatile(                                          \
        ".syntax unified\n"                                    \
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"        \
        "ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11}\n" \
        "mov r12, r0\n"                                        \
        "push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}\n" \
        "mov r8, r1\n" /* blocks */                            \
        "mov lr, r6\n" /* end */                               \
        "add r0, r0, #12\n"                                    \
        "ldm r0, {r0, r1, r2, r3}\n" /* rows, left */          \
        "b 20f\n"                                              \
        "11:\n" /* the next pixel; no column is outside */     \
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
        "ldr r9, [r0]\n"                                       \
        "ldr r10, [r1]\n"                                      \
        KIBI_TWO_TAPS                                          \
        "ldr r9, [r2]\n"                                       \
        KIBI_ONE_TAP                                           \
        "14:\n" /* requantize and store */                     \
        requantize("r8, r9, r10, r11, r12, lr")                \
        "str r4, [r12]\n"                                      \
        "add r12, r12, r10\n"                                  \
        "str r12, [sp, #16]\n" /* output */                    \
        "add r0, r0, r11\n"                                    \
        "add r1, r1, r11\n"                                    \
        "add r2, r2, r11\n"                                    \
        "cmp r0, lr\n"                                         \
        "blo 11b\n"                                            \
        "bhi 22f\n"                                            \
        "21:\n" /* all pixels inside are done */               \
        "ldr r4, [sp, #32]\n" /* last */                       \
        "cbnz r4, 17f\n"                                       \
        "22:\n" /* the next block */                           \
        "ldrd r9, r10, [sp, #36]\n" /* back, back_output */    \
        "ldr r4, [sp, #44]\n"                                  \
        "sub r0, r0, r9\n"                                     \
        "sub r1, r1, r9\n"                                     \
        "sub r2, r2, r9\n"                                     \
        "sub r12, r12, r10\n"                                  \
        "add lr, lr, #4\n"                                     \
        "add r8, r8, #104\n" /* 26 words */                    \
        "ldr r5, [r4]\n" /* blocks_end */                      \
        "cmp r0, r5\n"                                         \
        "bhs 23f\n"                                            \
        "19:\n" /* begin the block */                          \
        "str r8, [sp]\n"                                       \
        "strd r12, lr, [sp, #16]\n" /* output, end */          \
        "20:\n" /* its first pixel */                          \
        "ldr r4, [sp, #24]\n" /* first */                      \
        "cbnz r4, 17f\n"                                       \
        "cmp r0, lr\n"                                         \
        "blo 11b\n"                                            \
        "b 21b\n"                                              \
        "17:\n" /* the next pixel; r4 says which column is outside */ \
        "ldr r9, [sp, #28]\n" /* fill */                       \
        /* 1: left, 2: right, 3: both. Carry, set from 2 on, later leads to 15. */ \
        "cmp r4, #2\n"                                         \
        "ldm r8!, {r4, r5, r6, r7}\n"                          \
        "blo 18f\n"                                            \
        /* The right column's weights are 48 bytes on, after three pairs of taps. */ \
        KIBI_TWO_TAPS_OUTSIDE(", #48]", ", #56]")              \
        KIBI_ONE_TAP_OUTSIDE(", #64]")                         \
        "beq 12b\n"                                            \
        "18:\n" /* the left column is outside */               \
        KIBI_TWO_TAPS_OUTSIDE("], #8", "], #8")                \
        "uxtb16 r9, r9\n" /* the fill in all bytes */           \
        "orr r9, r9, r9, lsl #8\n"                             \
        "ldr r10, [r2, r3]\n"                                  \
        "b 13b\n"                                              \
        "15:\n" /* the right column is outside: past its weights, 16 bytes of a pair of taps, 8 of one */ \
        "add r8, r8, #24\n"                                    \
        "b 14b\n"                                              \
        "23:\n" /* one more block, which shares channels with the one before it, or the end */ \
        "ldrd r6, r7, [r4, #4]\n" /* shared, move */           \
        "cbz r6, 24f\n"                                        \
        "movs r5, #0\n"                                        \
        "str r5, [r4, #4]\n"                                   \
        "sub r0, r0, r6\n"                                     \
        "sub r1, r1, r6\n"                                     \
        "sub r2, r2, r6\n"                                     \
        "sub lr, lr, r6\n"                                     \
        "add r12, r12, r7\n"                                   \
        "b 19b\n"                                              \
        "24:\n" /* the end */                                  \
        "add sp, sp, #48\n"                                    \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n" ::: "memory")

/* True if each block of channels may go through a whole row: the output does not overlap the rows, or a pixel's output is written
 * over the same channels of another pixel, which are for no other block. At most one window reaches outside on each side. */
static inline int may_go_by_blocks(const int8_t *output, const int8_t *const *rows, const kibi_depthwise_conv2d_s8_3x3_params *p,
                                   int32_t last)
{
    const uint32_t channels = (uint32_t)p->channels;
    const uint32_t size = (uint32_t)p->output_width * channels;
    for (int32_t i = 0; i < 3; ++i) {
        const uint32_t below = (uint32_t)(uintptr_t)rows[i] - (uint32_t)(uintptr_t)output;
        if (below < size && (channels % BLOCK != 0 || below % channels != 0)) {
            return 0;
        }
    }
    return p->stride >= p->pad && last - p->stride < p->input_width && p->output_width > 1;
}

/* The row, by a function whose body is KIBI_DEPTHWISE_3X3: all pixels in one call where it can take them, else one after another.
 * Of the parameters, it reads all but the blocks. */
static inline void kibi_depthwise_row_3x3(int8_t *output, const int8_t *const *rows,
                                          const kibi_depthwise_conv2d_s8_3x3_params *p, const int32_t *blocks,
                                          uint32_t rounding, void (*compute)(kibi_depthwise_pixels *))
{
    const int32_t count = p->channels % BLOCK;
    const int32_t reach = 2 * p->dilation;
    const int32_t last = (p->output_width - 1) * p->stride + reach - p->pad; /* under the last window's right column */
    const int by_blocks = may_go_by_blocks(output, rows, p, last);
    const int32_t pixels = by_blocks ? p->output_width : 1;
    const int8_t *const end = output + p->output_width * p->channels;
    kibi_depthwise_pixels at;
    int8_t values[BLOCK];
    int32_t column = reach - p->pad; /* under the window's right column */
    int8_t *to = output;
    at.rounding = rounding;
    at.channels = (uint32_t)p->channels;
    at.step = (uint32_t)(p->stride * p->channels);
    at.fill = ((uint32_t)p->input_zero_point & 0xFFFFu) * 0x10001u;
    at.last = by_blocks && last >= p->input_width ? RIGHT_IS_OUTSIDE : 0;
    at.back = (uint32_t)pixels * at.step - BLOCK;
    at.back_output = (uint32_t)pixels * at.channels - BLOCK;
    at.blocks = blocks;
    at.left = (uint32_t)(-p->dilation * p->channels);
    do {
        const uint32_t outside = !by_blocks && column >= p->input_width ? RIGHT_IS_OUTSIDE : 0;
        at.first = (column < reach ? LEFT_IS_OUTSIDE : 0) | outside;
        for (int32_t i = 0; i < 3; ++i) {
            at.rows[i] = (uint32_t)(uintptr_t)rows[i] + (uint32_t)(column * p->channels);
        }
        at.output = (uint32_t)(uintptr_t)to;
        at.end = at.rows[0] + at.back + BLOCK - (at.last != 0 ? at.step : 0);
        at.blocks_end = at.rows[0] + at.channels - (uint32_t)count;
        at.shared = (uint32_t)(-count & (BLOCK - 1));
        at.move = by_blocks ? 0u - at.shared : (uint32_t)(uintptr_t)values - at.output - (at.channels - (uint32_t)count);
        compute(&at);
        to += pixels * p->channels;
        for (int32_t i = by_blocks ? 0 : count; i > 0; --i) {
            to[-i] = values[BLOCK - i];
            __asm__ volatile(""); /* else the compiler calls memcpy */
        }
        column += p->stride;
    } while (to != end);
    if (p->activation_min != INT8_MIN || p->activation_max != INT8_MAX) {
        kibi_clamp_s8(output, p->output_width * p->channels, p->activation_min, p->activation_max);
    }
}

#endif
