/* CONV_2D, int16, for cores with the DSP extension: two channels of one to three pixels at once. Source of the rule: TFLM,
 * integer_ops/conv.h, ConvPerChannel of int16_t. */
#include "kibi_conv2d_s16_packed.h"

#include "kibi_conv2d_s16_pixels.h"

/* Parts that a library leaves out where no layer needs them: blocks of these sizes, weights of 8 bits and of 16, those of 8 that are
 * widened, windows that reach outside, odd numbers of output channels. */
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_3
#define KIBI_CONV2D_S16_BLOCKS_OF_3 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_2
#define KIBI_CONV2D_S16_BLOCKS_OF_2 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_1
#define KIBI_CONV2D_S16_BLOCKS_OF_1 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS
#define KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS
#define KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS
#define KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_AT_EDGES
#define KIBI_CONV2D_S16_BLOCKS_AT_EDGES 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS
#define KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS 1
#endif

enum { MOST_PIXELS = 3 };

/* Runs of elements that are copied to the windows of neighbouring pixels. */
typedef struct {
    int16_t *to;                 /* where the next pair of elements goes: of all pixels, one after another */
    int16_t *last;               /* the same of the last elements of runs of an odd number; at an upper half after each second one */
    const int16_t *const *rows;  /* a run each, at least one; all of them zeros where it is NULL */
    const int16_t *const *rows_end;
    int32_t place_bytes;         /* from where a row begins to the first pixel's run */
    int32_t second_bytes;        /* from there to the second pixel's */
    int32_t elements;            /* of a run */
    int32_t third_bytes;         /* from the first pixel's run to the third one's */
    int32_t next_bytes;          /* from last to the next one: 2, or after an upper half, those of all pixels' pairs less 2 */
} runs_task;

KIBI_FIELD_AT(runs_task, to, 0);
KIBI_FIELD_AT(runs_task, last, 4);
KIBI_FIELD_AT(runs_task, rows, 8);
KIBI_FIELD_AT(runs_task, rows_end, 12);
KIBI_FIELD_AT(runs_task, place_bytes, 16);
KIBI_FIELD_AT(runs_task, second_bytes, 20);
KIBI_FIELD_AT(runs_task, elements, 24);
KIBI_FIELD_AT(runs_task, third_bytes, 28);
KIBI_FIELD_AT(runs_task, next_bytes, 32);

/* Copies the runs, one after another.
 *   word      copies two elements of each pixel
 *   store     writes r10 … r12 in their place
 *   halves    reads an element of each pixel
 *   keep      writes r10 … r12 as the last elements of a run
 *   pair      bytes of two elements of all pixels
 * Registers and stack:
 *   r0              third_bytes; before: task
 *   r1, r2          to, last
 *   r3              the first pixel's elements
 *   r4, r5          rows, rows_end
 *   r6, r7, r8      place_bytes, second_bytes, elements
 *   r9              elements left, less four
 *   r10, r11, r12   elements
 *   lr              next_bytes
 *   sp + 0          r4 … r11, lr of the caller
 * Stack: 36 bytes. */
#define COPY_RUNS(word, store, halves, keep, pair)                          \
    __asm__ volatile(                                                       \
        ".syntax unified\n"                                                 \
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"                     \
        "ldm r0, {r1, r2, r4, r5, r6, r7, r8, r9, lr}\n"                    \
        "mov r0, r9\n"                                                      \
        "1:\n" /* the next run */                                           \
        "ldr r3, [r4], #4\n"                                                \
        "subs r9, r8, #4\n"                                                 \
        "cbz r3, 7f\n"                                                      \
        "add r3, r3, r6\n"                                                  \
        "blo 3f\n"                                                          \
        "2:\n" /* four elements */                                          \
        word                                                                \
        word                                                                \
        "subs r9, r9, #4\n"                                                 \
        "bhs 2b\n"                                                          \
        "3:\n"                                                              \
        "lsls r9, r9, #31\n" /* carry: two elements, and negative: one */   \
        "bcc 4f\n"                                                          \
        word                                                                \
        "4:\n"                                                              \
        "bpl 6f\n"                                                          \
        halves                                                              \
        "5:\n"                                                              \
        keep                                                                \
        "add r2, r2, lr\n"                                                  \
        "rsb lr, lr, #" pair "\n"                                           \
        "6:\n"                                                              \
        "cmp r4, r5\n"                                                      \
        "bne 1b\n"                                                          \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"                      \
        "7:\n" /* zeros */                                                  \
        "mov r10, #0\n"                                                     \
        "mov r11, #0\n"                                                     \
        "mov r12, #0\n"                                                     \
        "lsrs r9, r8, #1\n"                                                 \
        "beq 9f\n"                                                          \
        "8:\n"                                                              \
        store                                                               \
        "subs r9, r9, #1\n"                                                 \
        "bne 8b\n"                                                          \
        "9:\n"                                                              \
        "lsls r9, r8, #31\n"                                                \
        "bmi 5b\n"                                                          \
        "b 6b\n")

#define STORE_3 "stm r1!, {r10, r11, r12}\n"
#define STORE_2 "strd r10, r11, [r1], #8\n"
#define STORE_1 "str r10, [r1], #4\n"
#define KEEP_1 "strh r10, [r2]\n"
#define KEEP_2 KEEP_1 "strh r11, [r2, #4]\n"
#define HALVES_1 "ldrh r10, [r3]\n"
#define HALVES_2 HALVES_1 "ldrh r11, [r3, r7]\n"

static KIBI_NOINLINE KIBI_NAKED void copy_runs_of_3(KIBI_IN_REGISTER runs_task *task)
{
    COPY_RUNS("ldr r11, [r3, r7]\n" "ldr r12, [r3, r0]\n" "ldr r10, [r3], #4\n" STORE_3, STORE_3,
              HALVES_2 "ldrh r12, [r3, r0]\n", KEEP_2 "strh r12, [r2, #8]\n", "12");
}

static KIBI_NOINLINE KIBI_NAKED void copy_runs_of_2(KIBI_IN_REGISTER runs_task *task)
{
    COPY_RUNS("ldr r11, [r3, r7]\n" "ldr r10, [r3], #4\n" STORE_2, STORE_2, HALVES_2, KEEP_2, "8");
}

static KIBI_NOINLINE KIBI_NAKED void copy_runs_of_1(KIBI_IN_REGISTER runs_task *task)
{
    COPY_RUNS("ldr r10, [r3], #4\n" STORE_1, STORE_1, HALVES_1, KEEP_1, "4");
}

static void copy_runs(runs_task *task, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && pixels == 3) {
        copy_runs_of_3(task);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2 && (!KIBI_CONV2D_S16_BLOCKS_OF_1 || pixels == 2)) {
        copy_runs_of_2(task);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_1) {
        copy_runs_of_1(task);
    }
}

static void compute_narrow(const kibi_conv2d_s16_pixels *block, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && pixels == 3) {
        kibi_conv2d_s16_pixels3(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2 && (!KIBI_CONV2D_S16_BLOCKS_OF_1 || pixels == 2)) {
        kibi_conv2d_s16_pixels2(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_1) {
        kibi_conv2d_s16_pixels1(block);
    }
}

/* pixels: 2 or 3. */
static void compute_wide(const kibi_conv2d_s16_pixels *block, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && (!KIBI_CONV2D_S16_BLOCKS_OF_2 || pixels == 3)) {
        kibi_conv2d_s16_wide_pixels3(block);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2) {
        kibi_conv2d_s16_wide_pixels2(block);
    }
}

static void compute(const kibi_conv2d_s16_pixels *block, int32_t pixels, int32_t weight_bits)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS && (!KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS || weight_bits == 16)) {
        compute_wide(block, pixels);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS) {
        compute_narrow(block, pixels);
    }
}

/* Copies the runs of a window whose columns are spread, column by column. */
static KIBI_NOINLINE void copy_columns(runs_task *task, const kibi_conv2d_s16_blocks_params *p, int32_t pixels)
{
    runs_task each = *task;
    for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
        const int32_t runs = kx * p->kernel_rows;
        each.to = task->to + runs * (task->elements & ~1) * pixels;
        each.last = task->last + runs / 2 * 2 * pixels + runs % 2;
        each.next_bytes = runs % 2 == 0 ? 2 : 4 * pixels - 2;
        copy_runs(&each, pixels);
        each.place_bytes += p->dilation * p->input_channels * (int32_t)sizeof(*task->to);
    }
}

/* Runs of one pixel, some of whose elements are outside. */
typedef struct {
    int32_t next_bytes;          /* as of runs_task, and so are the next four */
    int16_t *to;
    int16_t *last;
    const int16_t *const *rows;
    const int16_t *const *rows_end;
    int32_t place_bytes;         /* from where a row begins to the first element inside */
    int32_t zero_pairs;          /* outside before that */
    int32_t copied;              /* inside, without the last one of an odd number: zeros in their place where a row is NULL */
    int32_t zero_pairs_after;    /* outside after these; a pair with the last element inside is none of them */
    int32_t ends;                /* of these bits: what is the last element of runs of an odd number, and IS_SPLIT */
    int32_t pair_bytes;          /* from a pair of elements to the pixel's next one */
} edge_task;

/* The last element of a run of an odd number is outside, or inside. IS_SPLIT: a pair is outside by its first element, and inside by its
 * second one, which `copied` does not count. */
enum { LAST_OUTSIDE = 1, LAST_INSIDE = 3, IS_SPLIT = 4 };

KIBI_FIELD_AT(edge_task, next_bytes, 0);
KIBI_FIELD_AT(edge_task, to, 4);
KIBI_FIELD_AT(edge_task, last, 8);
KIBI_FIELD_AT(edge_task, rows, 12);
KIBI_FIELD_AT(edge_task, rows_end, 16);
KIBI_FIELD_AT(edge_task, place_bytes, 20);
KIBI_FIELD_AT(edge_task, zero_pairs, 24);
KIBI_FIELD_AT(edge_task, copied, 28);
KIBI_FIELD_AT(edge_task, zero_pairs_after, 32);
KIBI_FIELD_AT(edge_task, ends, 36);
KIBI_FIELD_AT(edge_task, pair_bytes, 40);

/* Zeros in the place of lr pairs, if there are any. */
#define CLEAR(loop, end)                \
    "beq " end "f\n"                    \
    loop ":\n"                          \
    "str r12, [r1]\n"                   \
    "subs lr, lr, #1\n"                 \
    "add r1, r1, r11\n"                 \
    "bne " loop "b\n"                   \
    end ":\n"

/* Copies the runs, one after another.
 * Registers and stack:
 *   r0              next_bytes; before: task
 *   r1, r2          to, last
 *   r3              elements of a row
 *   r4, r5          rows, rows_end
 *   r6, r7, r8, r9  place_bytes, zero_pairs, copied, zero_pairs_after
 *   r10, r11        ends, pair_bytes
 *   r12, lr         elements, and how many are left
 *   sp + 0          r4 … r11, lr of the caller
 * Stack: 36 bytes. */
static KIBI_NOINLINE KIBI_NAKED void copy_edge_runs(KIBI_IN_REGISTER edge_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r0, {r0, r1, r2, r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "1:\n" /* the next run */
        "ldr r3, [r4], #4\n"
        "mov r12, #0\n"
        "cmp r3, #0\n"
        "beq 9f\n"
        "movs lr, r7\n"
        CLEAR("2", "3")
        "add r3, r3, r6\n"
        "tst r10, #4\n" /* IS_SPLIT */
        "beq 4f\n"
        "ldrh r12, [r3], #2\n"
        "lsl r12, r12, #16\n"
        "str r12, [r1]\n"
        "add r1, r1, r11\n"
        "4:\n"
        "subs lr, r8, #2\n"
        "blt 6f\n"
        "5:\n"
        "ldr r12, [r3], #4\n"
        "subs lr, lr, #2\n"
        "str r12, [r1]\n"
        "add r1, r1, r11\n"
        "bge 5b\n"
        "6:\n"
        "lsls lr, lr, #31\n"
        "bpl 7f\n"
        "ldrh r12, [r3]\n" /* the last element inside */
        "str r12, [r1]\n"
        "add r1, r1, r11\n"
        "7:\n"
        "mov r12, #0\n"
        "movs lr, r9\n"
        CLEAR("10", "11")
        "lsls lr, r10, #31\n" /* zero: neither; carry: LAST_INSIDE */
        "beq 13f\n"
        "it cs\n"
        "ldrhcs r12, [r3]\n"
        "12:\n"
        "strh r12, [r2]\n"
        "add r2, r2, r0\n"
        "rsb r0, r0, r11\n"
        "13:\n"
        "cmp r4, r5\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        "9:\n" /* the row is outside */
        "add lr, r8, #1\n"
        "asr lr, lr, #1\n"
        "tst r10, #4\n"
        "it ne\n"
        "addne lr, lr, #1\n"
        "add lr, lr, r9\n"
        "adds lr, lr, r7\n"
        CLEAR("14", "15")
        "lsls lr, r10, #31\n"
        "bne 12b\n"
        "b 13b\n");
}

static int32_t limited(int32_t start, int32_t limit)
{
    return start < 0 ? 0 : start > limit ? limit : start;
}

/* Copies the runs of one pixel that begin at an element of a row, which may be outside; to, last, rows and pair_bytes are those of
 * the task. elements: of a run. */
static KIBI_NOINLINE void copy_edge(edge_task *edge, int32_t first, int32_t elements, int32_t row_elements)
{
    const int32_t paired = elements & ~1;
    const int32_t end = row_elements - first;
    const int32_t inside_end = limited(end, paired);
    const int32_t before = limited(-first, inside_end); /* what is after that is outside, too */
    const int32_t copied = inside_end - before;
    const int32_t odd = before & 1;
    edge->place_bytes = (first + before) * (int32_t)sizeof(*edge->to);
    edge->zero_pairs = before >> 1;
    edge->copied = copied == 0 ? 0 : copied - odd;
    edge->zero_pairs_after = (paired - inside_end + (copied == 0 ? odd : 0)) >> 1;
    edge->ends = (copied == 0 || odd == 0 ? 0 : IS_SPLIT) |
                 (paired == elements ? 0 : -first <= paired && paired < end ? LAST_INSIDE : LAST_OUTSIDE);
    copy_edge_runs(edge);
}

/* Copies the window of one pixel whose columns are spread, some of which are outside, column by column. */
static KIBI_NOINLINE void copy_edge_columns(const edge_task *of, const kibi_conv2d_s16_blocks_params *p, int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t step = of->pair_bytes / (int32_t)sizeof(*of->to);
    edge_task edge = *of;
    for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
        const int32_t runs = kx * p->kernel_rows;
        edge.to = of->to + (depth >> 1) * runs * step;
        edge.last = of->last + runs / 2 * step + runs % 2;
        edge.next_bytes = runs % 2 == 0 ? 2 : of->pair_bytes - 2;
        copy_edge(&edge, (start + kx * p->dilation) * depth, depth, p->input_width * depth);
    }
}

/* Copies the windows of a block, some of which reach outside: where they would be inside, then those again. limit: the last start
 * of a window that is inside. */
static KIBI_NOINLINE void copy_edges(const runs_task *of, const kibi_conv2d_s16_blocks_params *p, int32_t start, int32_t limit,
                                     int32_t pixels)
{
    const int32_t depth = p->input_channels;
    const int32_t column_bytes = depth * (int32_t)sizeof(*of->to);
    const int32_t first = limited(start, limit);
    runs_task task = *of;
    edge_task edge;
    task.place_bytes = first * column_bytes;
    task.second_bytes = (limited(start + p->stride, limit) - first) * column_bytes;
    task.third_bytes = (limited(start + 2 * p->stride, limit) - first) * column_bytes;
    if (limit >= 0 && p->dilation == 1) {
        copy_runs(&task, pixels);
    } else if (limit >= 0) {
        copy_columns(&task, p, pixels);
    }
    edge.next_bytes = 2;
    edge.to = task.to;
    edge.last = task.last;
    edge.rows = task.rows;
    edge.rows_end = task.rows_end;
    edge.pair_bytes = 2 * pixels * (int32_t)sizeof(*task.to);
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        const int is_outside = start < 0 || start > limit;
        if (is_outside && p->dilation == 1) {
            copy_edge(&edge, start * depth, task.elements, p->input_width * depth);
        } else if (is_outside) {
            copy_edge_columns(&edge, p, start);
        }
        edge.to += 2;
        edge.last += 2;
        start += p->stride;
    }
}

/* Four elements' weights of both channels. */
#define WIDEN                           \
    "ldrd r6, r7, [r1], #8\n"           \
    "sxtb16 r4, r6\n"                   \
    "sxtb16 r5, r7\n"                   \
    "sxtb16 r6, r6, ror #8\n"           \
    "sxtb16 r7, r7, ror #8\n"           \
    "stm r0!, {r4, r5, r6, r7}\n"

/* Writes a stream of `pairs` pairs of channels with weights of 16 bits. groups: of four elements, at least one.
 * Registers and stack:
 *   r0, r1          the wide stream, the narrow one
 *   r2, r3          pairs, groups
 *   r4 … r7         weights; constants of channels
 *   r12             groups left
 *   sp + 0          r4 … r7 of the caller
 * Stack: 16 bytes. */
static KIBI_NOINLINE KIBI_NAKED void widen(KIBI_IN_REGISTER int32_t *wide, KIBI_IN_REGISTER const int32_t *narrow,
                                           KIBI_IN_REGISTER int32_t pairs, KIBI_IN_REGISTER int32_t groups)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7}\n"
        "ldrd r4, r5, [r1], #8\n"
        "strd r4, r5, [r0], #8\n"
        "1:\n" /* the weights of the next pair of channels; an odd number of groups begins in the middle */
        "lsrs r12, r3, #1\n"
        "bcs 3f\n"
        "sub r12, r12, #1\n"
        "2:\n" /* eight elements */
        WIDEN
        "3:\n"
        WIDEN
        "subs r12, r12, #1\n"
        "bhs 2b\n"
        "subs r2, r2, #1\n"
        "beq 4f\n"
        "ldm r1!, {r4, r5, r6, r7}\n" /* the factors, the next biases */
        "stm r0!, {r4, r5, r6, r7}\n"
        "b 1b\n"
        "4:\n"
        "ldrd r4, r5, [r1]\n"
        "strd r4, r5, [r0]\n"
        "pop {r4, r5, r6, r7}\n"
        "bx lr\n");
}

/* Computes the last one of an odd number of channels, and throws its neighbour away. */
static KIBI_NOINLINE void odd_channel(int16_t *output, const kibi_conv2d_s16_pixels *of, const kibi_conv2d_s16_blocks_params *p,
                                      int32_t pixels, int32_t groups, int32_t weight_bits)
{
    const int32_t channels = p->output_channels;
    int16_t both[2 * MOST_PIXELS];
    kibi_conv2d_s16_pixels block = *of;
    block.stream += channels / 2 * (weight_bits / 4 * groups + 4);
    block.output = both;
    block.pixel_bytes = 2 * (int32_t)sizeof(*both);
    block.end = both + 2;
    compute(&block, pixels, weight_bits);
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

/* What an activation leaves of 16 bits. */
static int32_t range_kind(int32_t low, int32_t high)
{
    return high != 32767 ? KIBI_S16_RANGE
         : low == 0      ? KIBI_S16_NOT_NEGATIVE
         : low == -32768 ? KIBI_S16_ALL_NUMBERS
                         : KIBI_S16_RANGE;
}

void kibi_conv2d_s16_blocks(int16_t *output, const int16_t *const *rows, const kibi_conv2d_s16_blocks_params *params,
                            void *scratch)
{
    const kibi_conv2d_s16_blocks_params *const p = params;
    const int32_t groups = (p->kernel_rows * p->kernel_width * p->input_channels + 3) >> 2;
    const int32_t channels = p->output_channels;
    const int32_t paired = channels & ~1;
    const int32_t weight_bits = p->is_widened != 0 ? 16 : p->weight_bits;
    const int is_narrow = p->dilation == 1;
    const uint32_t each = 0x10001u;
    const int32_t column_bytes = p->input_channels * (int32_t)sizeof(*output);
    const int32_t limit = p->input_width - (p->kernel_width - 1) * p->dilation - 1;
    int16_t *const windows = (int16_t *)scratch;
    int32_t start = -p->pad;
    int32_t before;
    runs_task task;
    kibi_conv2d_s16_pixels block;
    task.to = windows;
    task.rows = rows;
    task.rows_end = rows + p->kernel_rows;
    task.elements = (is_narrow ? p->kernel_width : 1) * p->input_channels;
    task.second_bytes = p->stride * column_bytes;
    task.third_bytes = 2 * task.second_bytes;
    task.next_bytes = 2;
    before = (task.elements & ~1) * p->kernel_rows * (is_narrow ? 1 : p->kernel_width);
    block.windows = windows;
    block.fours = groups - 1;
    block.range_kind = range_kind(p->activation_min, p->activation_max);
    block.zero_point = p->output_zero_point;
    block.low = (uint16_t)p->activation_min * each;
    block.high = (uint16_t)p->activation_max * each;
    block.pixel_bytes = p->output_channels * (int32_t)sizeof(*output);
    block.stream = KIBI_AT(int32_t, p, stream);
    if (KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS && p->is_widened != 0) {
        int32_t *const wide = (int32_t *)(void *)(windows + 4 * groups * MOST_PIXELS);
        widen(wide, block.stream, (channels + 1) >> 1, groups);
        block.stream = wide;
    }
    for (int32_t left = p->output_width; left > 0;) {
        const int32_t pixels = next_pixels(left, p->pixels);
        const int32_t windows_stride = pixels * p->stride;
        const int32_t last_start = limit - windows_stride + p->stride;
        task.last = windows + before * pixels;
        task.place_bytes = start * column_bytes;
        block.windows_end = windows + 4 * groups * pixels;
        do {
            if (KIBI_CONV2D_S16_BLOCKS_AT_EDGES && (start < 0 || start > last_start)) {
                copy_edges(&task, p, start, limit, pixels);
            } else if (is_narrow) {
                copy_runs(&task, pixels);
            } else {
                copy_columns(&task, p, pixels);
            }
            block.output = output;
            block.end = output + paired;
            if (paired != 0) {
                compute(&block, pixels, weight_bits);
            }
            if (KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS && paired != channels) {
                odd_channel(output + paired, &block, p, pixels, groups, weight_bits);
            }
            start += windows_stride;
            task.place_bytes += windows_stride * column_bytes;
            output += pixels * channels;
            left -= pixels;
        } while (left > 4);
    }
}
