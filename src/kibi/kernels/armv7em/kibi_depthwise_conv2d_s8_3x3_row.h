/* A row of a depthwise convolution, three by three, Armv7E-M, by a function in assembly. */
#ifndef KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H
#define KIBI_DEPTHWISE_CONV2D_S8_3X3_ROW_H

#include "kibi_clamp_s8.h"
#include "kibi_depthwise_conv2d.h"
#include "kibi_depthwise_conv2d_s8_block.h"

/* Parts that a library leaves out where no layer needs them: channels that are no whole fours, and activations that cut more than int8
 * does. */
#ifndef KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS
#define KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS 1
#endif
#ifndef KIBI_DEPTHWISE_3X3_OF_CLAMPS
#define KIBI_DEPTHWISE_3X3_OF_CLAMPS 1
#endif

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
    int8_t values[BLOCK];  /* of a pixel that is computed alone: outputs of one more block */
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

/* One more block, which shares channels with the one before it; r4 is where `blocks_end` is. */
#if KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS
#define KIBI_DEPTHWISE_ONE_MORE_BLOCK                          \
        "ldrd r6, r7, [r4, #4]\n" /* shared, move */           \
        "cbz r6, 24f\n"                                        \
        "movs r5, #0\n"                                        \
        "str r5, [r4, #4]\n"                                   \
        "sub r0, r0, r6\n"                                     \
        "sub r1, r1, r6\n"                                     \
        "sub r2, r2, r6\n"                                     \
        "sub lr, lr, r6\n"                                     \
        "add r12, r12, r7\n"                                   \
        "b 19b\n"
#else
#define KIBI_DEPTHWISE_ONE_MORE_BLOCK
#endif

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
        ".p2align 2\n" /* so are 12 to 14: of an instruction of four bytes beside a multiple of four, a branch waits */ \
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
        "bcs.w 15f\n"                                          \
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
        ".p2align 2\n"                                         \
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
        "23:\n" /* the last whole block is done */             \
        KIBI_DEPTHWISE_ONE_MORE_BLOCK                          \
        "24:\n" /* the end */                                  \
        "add sp, sp, #48\n"                                    \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n" ::: "memory")

/* Channels after the last whole block. */
static inline uint32_t kibi_depthwise_rest(uint32_t channels)
{
    return KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS ? channels % BLOCK : 0;
}

/* From all pixels, or from the one before, to one pixel, where blocks may not go through a whole row. */
static KIBI_NOINLINE void kibi_depthwise_begin_pixel(kibi_depthwise_pixels *at, const kibi_depthwise_conv2d_s8_3x3_params *p,
                                                     int32_t pixel)
{
    const uint32_t count = kibi_depthwise_rest(at->channels);
    const int32_t before = pixel * p->stride - p->pad; /* under the window's left column */
    const int32_t is_beyond = before + 2 * p->dilation >= p->input_width;
    at->first = (uint32_t)((before < 0 ? LEFT_IS_OUTSIDE : 0) | (is_beyond ? RIGHT_IS_OUTSIDE : 0));
    at->last = 0;
    at->back = at->step - BLOCK;
    at->back_output = at->channels - BLOCK;
    if (pixel != 0) {
        at->output += at->channels;
        for (int32_t i = 0; i < 3; ++i) {
            at->rows[i] += at->step;
        }
    }
    at->end = at->rows[0] + at->step;
    at->blocks_end = at->rows[0] + at->channels - count;
    if (KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS) {
        at->shared = -count % BLOCK;
        at->move = (uint32_t)(uintptr_t)at->values - (at->output + at->channels - count);
    }
}

/* Writes the channels after the last whole block, which are last of those that one more block has. */
static KIBI_NOINLINE void kibi_depthwise_end_pixel(const kibi_depthwise_pixels *at)
{
    int8_t *const end = (int8_t *)(uintptr_t)(at->output + at->channels);
    for (int32_t i = (int32_t)(at->channels % BLOCK); i > 0; --i) {
        end[-i] = at->values[BLOCK - i];
        __asm__ volatile(""); /* else the compiler calls memcpy */
    }
}

/* The row, by a function whose body is KIBI_DEPTHWISE_3X3: all pixels in one call where it can take them, else one after another.
 * Of the parameters, it reads all but the blocks. Each block of channels may go through a whole row if the output does not overlap the
 * rows, or if a pixel's output is written over the same channels of another pixel, which are for no other block; and if at most one
 * window reaches outside on each side. Every row fetches these instructions anew, so there are as few as possible. */
static inline void kibi_depthwise_row_3x3(int8_t *output, const int8_t *const *rows,
                                          const kibi_depthwise_conv2d_s8_3x3_params *p, const int32_t *blocks,
                                          uint32_t rounding, void (*compute)(kibi_depthwise_pixels *))
{
    const uint32_t channels = (uint16_t)p->channels, stride = (uint16_t)p->stride, width = (uint16_t)p->output_width;
    const uint32_t size = width * channels;
    const uint32_t count = kibi_depthwise_rest(channels);
    const int32_t pad = p->pad;
    const int32_t first = 2 * (uint16_t)p->dilation - pad; /* under the first window's right column */
    const int32_t beyond = first + (int32_t)((width - 1) * stride) - (uint16_t)p->input_width; /* likewise the last one's, or less */
    /* Below 0: not by blocks. */
    int32_t by_blocks = ((int32_t)stride - pad) | ((int32_t)stride - 1 - beyond) | ((int32_t)width - 2);
    kibi_depthwise_pixels at;
    at.blocks = blocks;
    at.rounding = rounding;
    at.channels = channels;
    at.output = (uint32_t)(uintptr_t)output;
    at.fill = ((uint32_t)p->input_zero_point & 0xFFFFu) * 0x10001u;
    at.first = pad > 0 ? LEFT_IS_OUTSIDE : 0;
    at.last = ~(uint32_t)(beyond >> 31) & RIGHT_IS_OUTSIDE;
    at.step = stride * channels;
    at.back = width * at.step - BLOCK;
    at.back_output = size - BLOCK;
    if (KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS) {
        at.shared = -count % BLOCK;
        at.move = 0u - at.shared;
    }
    at.left = 0u - (uint16_t)p->dilation * channels;
    for (int32_t i = 2; i >= 0; --i) {
        const uint32_t below = (uint32_t)(uintptr_t)rows[i] - at.output;
        if (below < size && (count != 0 || below % channels != 0)) {
            by_blocks = -1;
        }
        at.rows[i] = (uint32_t)(uintptr_t)rows[i] + (uint32_t)first * channels;
    }
    at.end = at.rows[0] + at.back + BLOCK - (at.step & ~(uint32_t)(beyond >> 31));
    at.blocks_end = at.rows[0] + channels - count;
    if (by_blocks >= 0) {
        compute(&at);
    } else {
        for (int32_t pixel = 0; pixel != p->output_width; ++pixel) {
            kibi_depthwise_begin_pixel(&at, p, pixel);
            compute(&at);
            if (KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS) {
                kibi_depthwise_end_pixel(&at);
            }
        }
    }
    if (KIBI_DEPTHWISE_3X3_OF_CLAMPS && (p->activation_min != INT8_MIN || p->activation_max != INT8_MAX)) {
        kibi_clamp_s8(output, (int32_t)size, p->activation_min, p->activation_max);
    }
}

#endif
