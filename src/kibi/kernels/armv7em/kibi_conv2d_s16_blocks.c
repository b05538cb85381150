/* CONV_2D, int16, for cores with the DSP extension: two channels of one to three pixels at once. Source of the rule: TFLM,
 * integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d.h"

#include "kibi_conv2d_s16_pixels.h"

/* Parts that a library leaves out where no layer needs them: blocks of these sizes, windows that reach outside, odd numbers of
 * output channels. */
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_3
#define KIBI_CONV2D_S16_BLOCKS_OF_3 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_2
#define KIBI_CONV2D_S16_BLOCKS_OF_2 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_1
#define KIBI_CONV2D_S16_BLOCKS_OF_1 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_AT_EDGES
#define KIBI_CONV2D_S16_BLOCKS_AT_EDGES 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS
#define KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS 1
#endif

enum { MOST_PIXELS = 3 };

/* Runs of elements that are copied to the window of one pixel, which is in groups of four elements. */
typedef struct {
    int16_t *to;                 /* where the next element goes */
    int32_t at;                  /* its place in its group */
    int32_t skipped;             /* bytes from the end of a group to the pixel's next one */
    int32_t elements;            /* of a run */
    const int16_t *const *rows;  /* a run each, at least one */
    const int16_t *const *rows_end;
    int32_t place_bytes;         /* from where a row begins to its run */
} runs_task;

KIBI_FIELD_AT(runs_task, to, 0);
KIBI_FIELD_AT(runs_task, at, 4);
KIBI_FIELD_AT(runs_task, skipped, 8);
KIBI_FIELD_AT(runs_task, elements, 12);
KIBI_FIELD_AT(runs_task, rows, 16);
KIBI_FIELD_AT(runs_task, rows_end, 20);
KIBI_FIELD_AT(runs_task, place_bytes, 24);

/* Copies the runs, one after another; to and at are then after them.
 * Registers and stack:
 *   r0         task
 *   r1, r2     to, at; while a group is filled up, the elements that it wants
 *   r3, r4     skipped, elements
 *   r5, r6     rows, rows_end
 *   r7         place_bytes
 *   r8, r9     from; elements left, later less four
 *   r12, lr    elements
 *   sp + 0     r4 … r9, lr of the caller
 * Stack: 28 bytes. */
static KIBI_NOINLINE KIBI_NAKED void copy_runs(KIBI_IN_REGISTER runs_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, lr}\n"
        "ldm r0, {r1, r2, r3, r4, r5, r6, r7}\n"
        "1:\n" /* the next run */
        "ldr r8, [r5], #4\n"
        "mov r9, r4\n"
        "add r8, r8, r7\n"
        "cbz r2, 4f\n"
        "rsb r2, r2, #4\n"
        "cmp r9, r2\n"
        "blo 9f\n" /* the run ends before its first group does */
        "sub r9, r9, r2\n"
        "lsls r2, r2, #31\n" /* negative: one element, then carry: two */
        "bpl 2f\n"
        "ldrh r12, [r8], #2\n"
        "strh r12, [r1], #2\n"
        "2:\n"
        "bcc 3f\n"
        "ldr r12, [r8], #4\n"
        "str r12, [r1], #4\n"
        "3:\n"
        "add r1, r1, r3\n"
        "4:\n"
        "subs r9, r9, #4\n"
        "blo 6f\n"
        "5:\n" /* whole groups, which are aligned as words */
        "ldr r12, [r8], #4\n"
        "ldr lr, [r8], #4\n"
        "strd r12, lr, [r1], #8\n"
        "add r1, r1, r3\n"
        "subs r9, r9, #4\n"
        "bhs 5b\n"
        "6:\n"
        "and r2, r9, #3\n"
        "lsls r9, r9, #31\n" /* carry: two elements, then negative: one */
        "bcc 7f\n"
        "ldr r12, [r8], #4\n"
        "str r12, [r1], #4\n"
        "7:\n"
        "bpl 8f\n"
        "ldrh r12, [r8]\n"
        "strh r12, [r1], #2\n"
        "8:\n"
        "cmp r5, r6\n"
        "bne 1b\n"
        "strd r1, r2, [r0]\n"
        "pop {r4, r5, r6, r7, r8, r9, pc}\n"
        "9:\n"
        "rsb r2, r2, #4\n"
        "add r2, r2, r9\n"
        "10:\n"
        "subs r9, r9, #1\n"
        "blo 8b\n"
        "ldrh r12, [r8], #2\n"
        "strh r12, [r1], #2\n"
        "b 10b\n");
}

/* Zeros in the place of elements outside. */
static KIBI_NOINLINE void clear_elements(runs_task *task, int32_t count)
{
    int16_t *to = task->to;
    for (; count > 0; --count) {
        *to++ = 0;
        if (++task->at == 4) {
            task->at = 0;
            to += task->skipped / (int32_t)sizeof(*to);
        }
    }
    task->to = to;
}

/* Copies a run that starts at column `column`, some of which may be outside. */
static KIBI_NOINLINE void copy_edge(runs_task *task, const int16_t *const *row, int32_t column, int32_t run,
                                    const kibi_conv2d_s16_blocks_params *p)
{
    const int32_t depth = p->input_channels;
    const int32_t first = column < 0 ? 0 : column;
    const int32_t end = column + run < p->input_width ? column + run : p->input_width;
    const int32_t inside = *row != NULL && first < end ? end - first : 0;
    const int32_t before = inside != 0 ? first - column : run;
    clear_elements(task, before * depth);
    if (inside != 0) {
        task->elements = inside * depth;
        task->rows = row;
        task->rows_end = row + 1;
        task->place_bytes = first * depth * (int32_t)sizeof(**row);
        copy_runs(task);
        clear_elements(task, (run - before - inside) * depth);
    }
}

/* Copies the window of one pixel, which starts at column `start`. What is left of its last group keeps what was there, whose weights
 * are 0. step: elements from a group to the next. is_whole: all rows are inside, and their columns touch. */
static void gather(int16_t *to, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *p, int32_t start, int32_t step,
                   int is_whole)
{
    const int32_t depth = p->input_channels;
    const int32_t run = p->dilation == 1 ? p->kernel_width : 1; /* columns that touch */
    runs_task task;
    task.to = to;
    task.at = 0;
    task.skipped = (step - 4) * (int32_t)sizeof(*to);
    if (is_whole && (!KIBI_CONV2D_S16_BLOCKS_AT_EDGES || (start >= 0 && start + run <= p->input_width))) {
        task.elements = run * depth;
        task.rows = rows;
        task.rows_end = rows + p->kernel_rows;
        task.place_bytes = start * depth * (int32_t)sizeof(*to);
        copy_runs(&task);
        return;
    }
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        int32_t column = start;
        for (int32_t kx = 0; kx < p->kernel_width; kx += run) {
            copy_edge(&task, rows + ky, column, run, p);
            column += p->dilation;
        }
    }
}

/* True if all rows are inside, and the columns of a window touch. */
static int are_whole(const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *p)
{
    int is_whole = p->dilation == 1;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        is_whole = is_whole && rows[ky] != NULL;
    }
    return is_whole;
}

static void compute(const kibi_conv2d_s16_pixels *block, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && pixels == 3) {
        kibi_conv2d_s16_pixels3(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2 && (!KIBI_CONV2D_S16_BLOCKS_OF_1 || pixels == 2)) {
        kibi_conv2d_s16_pixels2(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_1) {
        kibi_conv2d_s16_pixels1(block);
    }
}

/* Computes the last one of an odd number of channels, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(int16_t *output, const kibi_conv2d_s16_pixels *of, int32_t channels, int32_t pixels,
                                      int32_t groups)
{
    int16_t both[2 * MOST_PIXELS];
    kibi_conv2d_s16_pixels block = *of;
    block.channels += channels / 2 * 4;
    block.filter += channels / 2 * 2 * groups;
    block.output = both;
    block.pixel_bytes = 2 * (int32_t)sizeof(*both);
    block.end = both + 2;
    compute(&block, pixels);
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        output[pixel * channels] = both[2 * pixel];
    }
}

/* How many of the pixels that are left the next block has. */
static int32_t next_pixels(int32_t left, int32_t pixels)
{
    if (pixels == 3) {
        return left == 2 || left == 4 ? 2 : 3;
    }
    return left < pixels ? left : pixels;
}

void kibi_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *params,
                            void *scratch)
{
    const kibi_conv2d_s16_blocks_params *const p = params;
    const int32_t groups = (p->kernel_rows * p->kernel_width * p->input_channels + 3) >> 2;
    const int32_t paired = p->output_channels & ~1;
    const uint32_t each = 0x10001u;
    const int is_whole = are_whole(rows, p);
    int16_t *const windows = (int16_t *)scratch;
    int32_t start = -p->pad;
    int32_t pixels;
    kibi_conv2d_s16_pixels block;
    block.channels = KIBI_AT(int32_t, p, channels);
    block.windows = windows;
    block.is_odd = groups & 1;
    block.zero_point = p->output_zero_point;
    block.low = (uint16_t)p->activation_min * each;
    block.high = (uint16_t)p->activation_max * each;
    block.pixel_bytes = p->output_channels * (int32_t)sizeof(*output);
    block.filter = KIBI_AT(int32_t, p, filter);
    for (int32_t left = p->output_width; left > 0; left -= pixels) {
        pixels = next_pixels(left, p->pixels);
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            gather(windows + 4 * pixel, rows, p, start, 4 * pixels, is_whole);
            start += p->stride;
        }
        block.windows_end = windows + 4 * groups * pixels;
        block.output = output;
        block.end = output + paired;
        if (paired != 0) {
            compute(&block, pixels);
        }
        if (KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS && paired != p->output_channels) {
            odd_channel(output + paired, &block, p->output_channels, pixels, groups);
        }
        output += pixels * p->output_channels;
    }
}
