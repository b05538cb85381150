/* DEPTHWISE_CONV_2D, any window, int8, Armv7E-M. Source of the rule: TFLM, integer_ops/depthwise_conv.h. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_clamp_s8.h"
#include "kibi_depthwise_conv2d_s8_block.h"

enum { BLOCK = 4 };

/* A pixel, all channels or some, as the assembly wants it; addresses wrap. Offsets are bytes from where a row begins. */
typedef struct {
    int32_t rounding;    /* twice the output's zero point, plus 1 */
    uint32_t output;     /* from the offset of a block's last column to its output */
    uint32_t next;       /* from there to the next block's first column */
    uint32_t end;        /* the offset of the last column after the last block */
    const int8_t *const *rows;
    uint32_t is_outside; /* whether a column may be outside */
    uint32_t row_bytes;
    int32_t kernel_rows;
    uint32_t fill; /* the input's zero point, in both halves */
    uint32_t step; /* from one column of the window to the next */
    uint32_t first;
    const int8_t *const *last_row;
    uint32_t last; /* column of the first block, as an offset; and `first` is the first one */
    const int32_t *blocks;
} pixel;

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(pixel, rounding, 0);
KIBI_FIELD_AT(pixel, output, 4);
KIBI_FIELD_AT(pixel, next, 8);
KIBI_FIELD_AT(pixel, end, 12);
KIBI_FIELD_AT(pixel, rows, 16);
KIBI_FIELD_AT(pixel, is_outside, 20);
KIBI_FIELD_AT(pixel, row_bytes, 24);
KIBI_FIELD_AT(pixel, kernel_rows, 28);
KIBI_FIELD_AT(pixel, fill, 32);
KIBI_FIELD_AT(pixel, step, 36);
KIBI_FIELD_AT(pixel, first, 40);
KIBI_FIELD_AT(pixel, last_row, 44);
KIBI_FIELD_AT(pixel, last, 48);
KIBI_FIELD_AT(pixel, blocks, 52);

#define TWO_ROWS                  \
    "ldrd r9, r10, [r0], #8\n"    \
    "ldr r9, [r9, r1]\n"          \
    "ldr r10, [r10, r1]\n"        \
    KIBI_TWO_TAPS

/* Registers and stack:
 *   r0            the next row's pointer; before: at
 *   r1            a column's offset
 *   r2            the last row's pointer
 *   r3            the last column's offset
 *   r4 … r7       the sums of four channels
 *   r8            the packed constants
 *   r9 … r12, lr  free; after a block, but for lr: rounding, output, next, end
 *   sp + 0        rounding
 *   sp + 4        output, next, end
 *   sp + 16       rows
 *   sp + 20       where to go with any column
 *   sp + 24       row_bytes
 *   sp + 28       where to go with a column inside
 *   sp + 32       fill
 *   sp + 36       step
 *   sp + 40       r4 … r11, lr of the caller
 * Where to go: 21 with an even number of pairs of rows, 22 with an odd one, 24 with none. Stack: 76 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void compute(KIBI_IN_REGISTER const pixel *at)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}\n"
        "push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}\n"
        "ldm r0, {r1, r2, r3, r8}\n"
        "ldrd r10, r12, [sp, #20]\n" /* is_outside, row_bytes */
        "ldr r9, [sp, #28]\n"        /* kernel_rows */
        "adr.w r11, 21f\n"
        /* Rows over 4: two pairs of rows at a time. The carry says whether one pair is left over. */
        "lsrs r9, r9, #2\n"
        "it eq\n"
        "adreq.w r11, 24f\n"
        "it cs\n"
        "adrcs.w r11, 22f\n"
        "str r11, [sp, #28]\n"
        "cmp r10, #0\n"
        "it ne\n"
        "adrne.w r11, 26f\n"
        "str r11, [sp, #20]\n"
        "10:\n" /* the next block */
        "ldm r8!, {r4, r5, r6, r7}\n"
        "11:\n" /* the next column */
        "ldrd r0, r9, [sp, #16]\n" /* rows, where to go */
        "mov pc, r9\n"
        "21:\n" TWO_ROWS /* two pairs of rows an iteration */
        "22:\n" TWO_ROWS /* enter with an odd number */
        "cmp r0, r2\n"
        "blo 21b\n"
        /* One row is left if the next pointer is the last one; else it is past it. */
        "bne 25f\n"
        "24:\n" /* the last row of an odd number */
        "ldr r9, [r2]\n"
        "ldr r9, [r9, r1]\n"
        KIBI_ONE_TAP
        "25:\n" /* the column is done */
        "cmp r1, r3\n"
        "beq 30f\n"
        "ldr r9, [sp, #36]\n" /* step */
        "add r1, r1, r9\n"
        "b 11b\n"
        "26:\n" /* a column that may be outside */
        "ldrd r9, r10, [sp, #24]\n" /* row_bytes, where to go */
        /* Offsets wrap: a column before the row is after its end, too. */
        "cmp r1, r9\n"
        "it lo\n"
        "movlo pc, r10\n"
        "ldr r9, [sp, #32]\n" /* fill */
        "cmp r0, r2\n"
        "bhs 28f\n"
        "27:\n" /* the next pair of rows, outside */
        KIBI_TWO_TAPS_OUTSIDE("], #8", "], #8")
        "add r0, r0, #8\n"
        "cmp r0, r2\n"
        "blo 27b\n"
        "28:\n" /* the last row of an odd number, outside */
        "bne 25b\n"
        KIBI_ONE_TAP_OUTSIDE("], #8")
        "b 25b\n"
        "30:\n" KIBI_REQUANTIZE_BLOCK("r9, r10, r11, r12") /* all columns are done */
        "str r4, [r10, r1]\n"
        "add r1, r1, r11\n"
        "add r3, r3, #4\n"
        "cmp r3, r12\n"
        "bne 10b\n"
        "add sp, sp, #40\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n" ::: "memory");
}

/* Blocks of a pixel, `bytes` together; first, last, output and blocks are then those of the next one. */
static KIBI_NOINLINE void run(pixel *at, int8_t *output, uint32_t bytes, uint32_t back)
{
    at->first -= back;
    at->last -= back;
    at->output = (uint32_t)(uintptr_t)output - at->last;
    at->end = at->last + bytes;
    compute(at);
    at->first += bytes;
    at->last += bytes;
}

void kibi_depthwise_conv2d_s8_columns(int8_t *output, const int8_t *const *rows,
                                      const kibi_depthwise_conv2d_s8_columns_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s8_columns_params *const p = params;
    const int32_t count = p->channels & 3;
    const int32_t whole = p->channels - count;
    const int32_t words = 2 * BLOCK + p->kernel_width * (p->kernel_rows & 1) * (BLOCK / 2) +
                          p->kernel_width * (p->kernel_rows / 2) * BLOCK;
    const int32_t reach = (p->kernel_width - 1) * p->dilation;
    int32_t column = -p->pad;
    pixel at;
    int8_t *const end = output + p->output_width * p->channels;
    (void)scratch;
    at.rounding = 2 * p->output_zero_point + 1;
    at.next = (uint32_t)(BLOCK - reach * p->channels);
    at.rows = rows;
    at.row_bytes = (uint32_t)(p->input_width * p->channels);
    at.kernel_rows = p->kernel_rows;
    at.fill = ((uint32_t)p->input_zero_point & 0xFFFFu) * 0x10001u;
    at.step = (uint32_t)(p->dilation * p->channels);
    at.last_row = rows + p->kernel_rows - 1;
    for (int8_t *to = output; to != end; to += count) {
        at.is_outside = column < 0 || column + reach >= p->input_width;
        at.first = (uint32_t)(column * p->channels);
        at.last = (uint32_t)((column + reach) * p->channels);
        at.blocks = KIBI_AT(int32_t, p, blocks);
        run(&at, to, (uint32_t)whole, 0);
        to += whole;
        if (count != 0) {
            /* The last channels with those before them, which are written already. */
            int8_t values[BLOCK];
            at.blocks += whole / BLOCK * words;
            run(&at, values, BLOCK, (uint32_t)(BLOCK - count));
            for (int32_t i = 0; i < count; ++i) {
                to[i] = values[BLOCK - count + i];
                __asm__ volatile(""); /* else the compiler calls memcpy */
            }
        }
        column += p->stride;
    }
    if (p->activation_min != INT8_MIN || p->activation_max != INT8_MAX) {
        kibi_clamp_s8(output, p->output_width * p->channels, p->activation_min, p->activation_max);
    }
}
