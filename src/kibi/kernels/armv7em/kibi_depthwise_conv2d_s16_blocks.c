/* DEPTHWISE_CONV_2D, int16, from packed constants, Armv7E-M: four channels of a pixel at once. Source of the rule: TFLM,
 * integer_ops/depthwise_conv.h, DepthwiseConvPerChannel. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_dsp.h"
#include "kibi_window_columns.h"

enum { FOUR = 4 };

/* What the assembly reads of a pixel. It moves on what the next four channels need. */
typedef struct {
    int16_t *output;             /* of the next four channels */
    int32_t place_bytes;         /* from where a row begins to the first column inside, and there to the next four channels */
    int32_t fours;               /* the number of columns inside, at least 1, in fours, rounded up */
    int32_t column_bytes;        /* from a column to the next one of the window */
    int32_t before_bytes;        /* of the weights of a row's columns before the first one inside */
    int32_t columns;             /* that are inside; the assembly puts there where its loop begins */
    int32_t gap_bytes;           /* of the weights of all of a row's columns outside */
    const int16_t *const *rows_end;
    int32_t row_bytes;           /* of those of a row, which are skipped where its pointer is NULL */
    const int16_t *const *rows;
    const int32_t *blocks;
    const int16_t *end;          /* of the output */
    int32_t is_cut;              /* 1: the activation leaves some numbers of 16 bits out; else 0 */
    uint32_t low;                /* the activation's range, in both halves */
    uint32_t high;
} pixel_task;

KIBI_FIELD_AT(pixel_task, output, 0);
KIBI_FIELD_AT(pixel_task, place_bytes, 4);
KIBI_FIELD_AT(pixel_task, fours, 8);
KIBI_FIELD_AT(pixel_task, column_bytes, 12);
KIBI_FIELD_AT(pixel_task, before_bytes, 16);
KIBI_FIELD_AT(pixel_task, columns, 20);
KIBI_FIELD_AT(pixel_task, gap_bytes, 24);
KIBI_FIELD_AT(pixel_task, rows_end, 28);
KIBI_FIELD_AT(pixel_task, row_bytes, 32);
KIBI_FIELD_AT(pixel_task, rows, 36);
KIBI_FIELD_AT(pixel_task, blocks, 40);
KIBI_FIELD_AT(pixel_task, end, 44);
KIBI_FIELD_AT(pixel_task, is_cut, 48);
KIBI_FIELD_AT(pixel_task, low, 52);
KIBI_FIELD_AT(pixel_task, high, 56);

/* A column: 40 bytes of instructions. */
#define COLUMN                          \
    "ldr.w r11, [r0], #4\n"             \
    "ldr.w r9, [r2, #4]\n"              \
    "ldr.w r8, [r2]\n"                  \
    "sxtb16 r10, r11\n"                 \
    "sxtb16 r11, r11, ror #8\n"         \
    "add.w r2, r2, r3\n"                \
    "smlabb r4, r8, r10, r4\n"          \
    "smlatb r5, r8, r11, r5\n"          \
    "smlabt r6, r9, r10, r6\n"          \
    "smlatt r7, r9, r11, r7\n"

/* Computes blocks of four channels up to the end.
 * Registers and stack:
 *   r0         constants; before: task
 *   r1         task
 *   r2         elements; then outputs
 *   r3         column_bytes; then place_bytes
 *   r4 … r7    the sums, then outputs
 *   r8, r9     elements; gap_bytes, rows_end; factors; the range
 *   r10, r11   weights of the channels 0 and 2, 1 and 3; factors
 *   r12        the next row's pointer
 *   lr         fours of columns left
 *   sp + 0     r4 … r11, lr of the caller
 * Stack: 36 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) void compute_blocks(KIBI_IN_REGISTER pixel_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "mov r1, r0\n"
        "ldr r0, [r1, #40]\n" /* blocks */
        /* The loop is entered where as many columns are left as there are after whole iterations. */
        "ldr r2, [r1, #20]\n" /* columns */
        "adr.w r3, 3f\n"
        "rsb r2, r2, #0\n"
        "and r2, r2, #3\n"
        "add r2, r2, r2, lsl #2\n"
        "add r3, r3, r2, lsl #3\n"
        "orr r3, r3, #1\n"
        "str r3, [r1, #20]\n"
        "1:\n" /* the next four channels */
        "ldr r12, [r1, #36]\n" /* rows */
        "ldrd r3, r9, [r1, #12]\n" /* column_bytes, before_bytes */
        "ldm r0!, {r4, r5, r6, r7}\n"
        "add r0, r0, r9\n"
        "2:\n" /* the next row */
        "ldr r2, [r12], #4\n"
        "cmp r2, #0\n"
        "beq 7f\n"
        "ldrd r8, lr, [r1, #4]\n" /* place_bytes, fours */
        "add r2, r2, r8\n"
        "ldr pc, [r1, #20]\n"
        ".p2align 2\n"
        "3:\n"
        COLUMN
        COLUMN
        COLUMN
        COLUMN
        "subs lr, lr, #1\n"
        "bne 3b\n"
        "ldrd r8, r9, [r1, #24]\n" /* gap_bytes, rows_end */
        "4:\n" /* the row is done */
        "add r0, r0, r8\n"
        "cmp r12, r9\n"
        "bne 2b\n"
        "ldr r8, [r1, #16]\n" /* before_bytes */
        "sub r0, r0, r8\n"
        "ldm r0!, {r8, r9, r10, r11}\n"
        /* The high halves of the sums times the factors, rounded half up. */
        "smmulr r4, r4, r8\n"
        "smmulr r5, r5, r9\n"
        "smmulr r6, r6, r10\n"
        "smmulr r7, r7, r11\n"
        "ldr r2, [r1, #48]\n" /* is_cut */
        "ssat r4, #16, r4\n"
        "ssat r5, #16, r5\n"
        "ssat r6, #16, r6\n"
        "ssat r7, #16, r7\n"
        "pkhbt r4, r4, r5, lsl #16\n"
        "pkhbt r6, r6, r7, lsl #16\n"
        "cbnz r2, 8f\n"
        "5:\n"
        "ldrd r2, r3, [r1]\n" /* output, place_bytes */
        "ldr r8, [r1, #44]\n" /* end */
        "str r6, [r2, #4]\n"
        "str r4, [r2], #8\n"
        "adds r3, r3, #8\n"
        "strd r2, r3, [r1]\n"
        "cmp r2, r8\n"
        "bne 1b\n"
        "str r0, [r1, #40]\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "7:\n" /* a row outside */
        "ldrd r9, r8, [r1, #28]\n" /* rows_end, row_bytes */
        "b 4b\n"
        "8:\n"
        "ldrd r8, r9, [r1, #52]\n" /* low, high */
        "ssub16 r10, r4, r8\n"
        "sel r4, r4, r8\n"
        "ssub16 r10, r9, r4\n"
        "sel r4, r4, r9\n"
        "ssub16 r10, r6, r8\n"
        "sel r6, r6, r8\n"
        "ssub16 r10, r9, r6\n"
        "sel r6, r6, r9\n"
        "b 5b\n");
}

/* Computes all channels of a pixel. The last four may be some of those before once more. */
static void pixel(int16_t *output, pixel_task *task, int32_t columns, const kibi_depthwise_conv2d_s16_blocks_params *p)
{
    const int32_t rest = p->channels % FOUR;
    task->columns = columns;
    task->fours = (columns + FOUR - 1) / FOUR;
    task->output = output;
    task->end = output + (p->channels - rest);
    task->blocks = KIBI_AT(int32_t, p, blocks);
    compute_blocks(task);
    if (rest != 0) {
        task->columns = columns;
        task->output -= FOUR - rest;
        task->end += rest;
        task->place_bytes -= (FOUR - rest) * (int32_t)sizeof(*output);
        compute_blocks(task);
    }
}

void kibi_depthwise_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows,
                                      const kibi_depthwise_conv2d_s16_blocks_params *params, void *scratch)
{
    const kibi_depthwise_conv2d_s16_blocks_params *const p = params;
    const int16_t *const outside[1] = {NULL};
    const uint32_t each = 0x10001u;
    const int32_t limit = p->input_width - (p->kernel_width - 1) * p->dilation - 1; /* the last start of a window inside */
    int32_t start = -p->pad;
    pixel_task task;
    (void)scratch;
    task.column_bytes = p->dilation * p->channels * (int32_t)sizeof(*output);
    task.low = (uint16_t)p->activation_min * each;
    task.high = (uint16_t)p->activation_max * each;
    task.is_cut = p->activation_min > -32768 || p->activation_max < 32767;
    for (int32_t x = 0; x < p->output_width; ++x) {
        int32_t columns = p->kernel_width;
        task.rows = rows;
        task.rows_end = rows + p->kernel_rows;
        task.row_bytes = p->kernel_width * (int32_t)sizeof(int32_t);
        task.before_bytes = 0;
        task.gap_bytes = 0;
        task.place_bytes = start * p->channels * (int32_t)sizeof(*output);
        if (start < 0 || start > limit) {
            kibi_window_columns found = kibi_find_columns(start, p->kernel_width, p->dilation, p->input_width, p->channels, 1);
            columns = found.runs;
            task.before_bytes = found.weight * (int32_t)sizeof(int32_t);
            task.gap_bytes = task.row_bytes - columns * (int32_t)sizeof(int32_t);
            task.place_bytes = found.place * (int32_t)sizeof(*output);
        }
        if (columns == 0) { /* All columns are outside, as if all rows were. */
            task.rows = outside;
            task.rows_end = outside + 1;
            task.row_bytes *= p->kernel_rows;
        }
        pixel(output, &task, columns, p);
        output += p->channels;
        start += p->stride;
    }
}
