/* Windows of one to three pixels of CONV_2D, int16, copied to scratch two elements at a time, in the order of the weights. */
#ifndef KIBI_CONV2D_S16_WINDOWS_H
#define KIBI_CONV2D_S16_WINDOWS_H

#include "kibi_assembly.h"
#include "kibi_conv2d_s16_packed.h"

/* Parts that a library leaves out where no layer needs them: blocks of these sizes. */
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_3
#define KIBI_CONV2D_S16_BLOCKS_OF_3 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_2
#define KIBI_CONV2D_S16_BLOCKS_OF_2 1
#endif
#ifndef KIBI_CONV2D_S16_BLOCKS_OF_1
#define KIBI_CONV2D_S16_BLOCKS_OF_1 1
#endif

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
} kibi_s16_runs;

KIBI_FIELD_AT(kibi_s16_runs, to, 0);
KIBI_FIELD_AT(kibi_s16_runs, last, 4);
KIBI_FIELD_AT(kibi_s16_runs, rows, 8);
KIBI_FIELD_AT(kibi_s16_runs, rows_end, 12);
KIBI_FIELD_AT(kibi_s16_runs, place_bytes, 16);
KIBI_FIELD_AT(kibi_s16_runs, second_bytes, 20);
KIBI_FIELD_AT(kibi_s16_runs, elements, 24);
KIBI_FIELD_AT(kibi_s16_runs, third_bytes, 28);
KIBI_FIELD_AT(kibi_s16_runs, next_bytes, 32);

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
#define KIBI_COPY_S16_RUNS(word, store, halves, keep, pair)                 \
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

#define KIBI_S16_STORE_3 "stm r1!, {r10, r11, r12}\n"
#define KIBI_S16_STORE_2 "strd r10, r11, [r1], #8\n"
#define KIBI_S16_STORE_1 "str r10, [r1], #4\n"
#define KIBI_S16_KEEP_1 "strh r10, [r2]\n"
#define KIBI_S16_KEEP_2 KIBI_S16_KEEP_1 "strh r11, [r2, #4]\n"
#define KIBI_S16_HALVES_1 "ldrh r10, [r3]\n"
#define KIBI_S16_HALVES_2 KIBI_S16_HALVES_1 "ldrh r11, [r3, r7]\n"

static KIBI_NOINLINE KIBI_NAKED void kibi_copy_s16_runs_of_3(KIBI_IN_REGISTER kibi_s16_runs *task)
{
    KIBI_COPY_S16_RUNS("ldr r11, [r3, r7]\n" "ldr r12, [r3, r0]\n" "ldr r10, [r3], #4\n" KIBI_S16_STORE_3, KIBI_S16_STORE_3,
                       KIBI_S16_HALVES_2 "ldrh r12, [r3, r0]\n", KIBI_S16_KEEP_2 "strh r12, [r2, #8]\n", "12");
}

static KIBI_NOINLINE KIBI_NAKED void kibi_copy_s16_runs_of_2(KIBI_IN_REGISTER kibi_s16_runs *task)
{
    KIBI_COPY_S16_RUNS("ldr r11, [r3, r7]\n" "ldr r10, [r3], #4\n" KIBI_S16_STORE_2, KIBI_S16_STORE_2, KIBI_S16_HALVES_2,
                       KIBI_S16_KEEP_2, "8");
}

static KIBI_NOINLINE KIBI_NAKED void kibi_copy_s16_runs_of_1(KIBI_IN_REGISTER kibi_s16_runs *task)
{
    KIBI_COPY_S16_RUNS("ldr r10, [r3], #4\n" KIBI_S16_STORE_1, KIBI_S16_STORE_1, KIBI_S16_HALVES_1, KIBI_S16_KEEP_1, "4");
}

static void kibi_copy_s16_runs(kibi_s16_runs *task, int32_t pixels)
{
    if (KIBI_CONV2D_S16_BLOCKS_OF_3 && pixels == 3) {
        kibi_copy_s16_runs_of_3(task);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_2 && (!KIBI_CONV2D_S16_BLOCKS_OF_1 || pixels == 2)) {
        kibi_copy_s16_runs_of_2(task);
    } else if (KIBI_CONV2D_S16_BLOCKS_OF_1) {
        kibi_copy_s16_runs_of_1(task);
    }
}

/* Copies the runs of a window whose columns are spread, column by column. */
static KIBI_NOINLINE void kibi_copy_s16_columns(kibi_s16_runs *task, const kibi_conv2d_s16_blocks_params *p, int32_t pixels)
{
    kibi_s16_runs each = *task;
    for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
        const int32_t runs = kx * p->kernel_rows;
        each.to = task->to + runs * (task->elements & ~1) * pixels;
        each.last = task->last + runs / 2 * 2 * pixels + runs % 2;
        each.next_bytes = runs % 2 == 0 ? 2 : 4 * pixels - 2;
        kibi_copy_s16_runs(&each, pixels);
        each.place_bytes += p->dilation * p->input_channels * (int32_t)sizeof(*task->to);
    }
}

/* Runs of one pixel, some of whose elements are outside. */
typedef struct {
    int32_t next_bytes;          /* as of kibi_s16_runs, and so are the next four */
    int16_t *to;
    int16_t *last;
    const int16_t *const *rows;
    const int16_t *const *rows_end;
    int32_t place_bytes;         /* from where a row begins to the first element inside */
    int32_t zero_pairs;          /* outside before that */
    int32_t copied;              /* inside, without the last one of an odd number: zeros in their place where a row is NULL */
    int32_t zero_pairs_after;    /* outside after these; a pair with the last element inside is none of them */
    int32_t ends;                /* of these bits: what is the last element of runs of an odd number, and KIBI_S16_IS_SPLIT */
    int32_t pair_bytes;          /* from a pair of elements to the pixel's next one */
} kibi_s16_edge;

/* The last element of a run of an odd number is outside, or inside. KIBI_S16_IS_SPLIT: a pair is outside by its first element, and
 * inside by its second one, which `copied` does not count. */
enum { KIBI_S16_LAST_OUTSIDE = 1, KIBI_S16_LAST_INSIDE = 3, KIBI_S16_IS_SPLIT = 4 };

KIBI_FIELD_AT(kibi_s16_edge, next_bytes, 0);
KIBI_FIELD_AT(kibi_s16_edge, to, 4);
KIBI_FIELD_AT(kibi_s16_edge, last, 8);
KIBI_FIELD_AT(kibi_s16_edge, rows, 12);
KIBI_FIELD_AT(kibi_s16_edge, rows_end, 16);
KIBI_FIELD_AT(kibi_s16_edge, place_bytes, 20);
KIBI_FIELD_AT(kibi_s16_edge, zero_pairs, 24);
KIBI_FIELD_AT(kibi_s16_edge, copied, 28);
KIBI_FIELD_AT(kibi_s16_edge, zero_pairs_after, 32);
KIBI_FIELD_AT(kibi_s16_edge, ends, 36);
KIBI_FIELD_AT(kibi_s16_edge, pair_bytes, 40);

/* Zeros in the place of lr pairs, if there are any. */
#define KIBI_CLEAR_S16_PAIRS(loop, end) \
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
static KIBI_NOINLINE KIBI_NAKED void kibi_copy_s16_edge_runs(KIBI_IN_REGISTER kibi_s16_edge *task)
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
        KIBI_CLEAR_S16_PAIRS("2", "3")
        "add r3, r3, r6\n"
        "tst r10, #4\n" /* KIBI_S16_IS_SPLIT */
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
        KIBI_CLEAR_S16_PAIRS("10", "11")
        "lsls lr, r10, #31\n" /* zero: neither; carry: KIBI_S16_LAST_INSIDE */
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
        KIBI_CLEAR_S16_PAIRS("14", "15")
        "lsls lr, r10, #31\n"
        "bne 12b\n"
        "b 13b\n");
}

static int32_t kibi_limited_start(int32_t start, int32_t limit)
{
    return start < 0 ? 0 : start > limit ? limit : start;
}

/* Copies the runs of one pixel that begin at an element of a row, which may be outside; to, last, rows and pair_bytes are those of
 * the task. elements: of a run. */
static KIBI_NOINLINE void kibi_copy_s16_edge(kibi_s16_edge *edge, int32_t first, int32_t elements, int32_t row_elements)
{
    const int32_t paired = elements & ~1;
    const int32_t end = row_elements - first;
    const int32_t inside_end = kibi_limited_start(end, paired);
    const int32_t before = kibi_limited_start(-first, inside_end); /* what is after that is outside, too */
    const int32_t copied = inside_end - before;
    const int32_t odd = before & 1;
    edge->place_bytes = (first + before) * (int32_t)sizeof(*edge->to);
    edge->zero_pairs = before >> 1;
    edge->copied = copied == 0 ? 0 : copied - odd;
    edge->zero_pairs_after = (paired - inside_end + (copied == 0 ? odd : 0)) >> 1;
    edge->ends = (copied == 0 || odd == 0 ? 0 : KIBI_S16_IS_SPLIT) |
                 (paired == elements ? 0 : -first <= paired && paired < end ? KIBI_S16_LAST_INSIDE : KIBI_S16_LAST_OUTSIDE);
    kibi_copy_s16_edge_runs(edge);
}

/* Copies the window of one pixel whose columns are spread, some of which are outside, column by column. */
static KIBI_NOINLINE void kibi_copy_s16_edge_columns(const kibi_s16_edge *of, const kibi_conv2d_s16_blocks_params *p,
                                                     int32_t start)
{
    const int32_t depth = p->input_channels;
    const int32_t step = of->pair_bytes / (int32_t)sizeof(*of->to);
    kibi_s16_edge edge = *of;
    for (int32_t kx = 0; kx < p->kernel_width; ++kx) {
        const int32_t runs = kx * p->kernel_rows;
        edge.to = of->to + (depth >> 1) * runs * step;
        edge.last = of->last + runs / 2 * step + runs % 2;
        edge.next_bytes = runs % 2 == 0 ? 2 : of->pair_bytes - 2;
        kibi_copy_s16_edge(&edge, (start + kx * p->dilation) * depth, depth, p->input_width * depth);
    }
}

/* Copies the windows of a block, some of which reach outside: where they would be inside, then those again. limit: the last start
 * of a window that is inside. */
static KIBI_NOINLINE void kibi_copy_s16_edges(const kibi_s16_runs *of, const kibi_conv2d_s16_blocks_params *p, int32_t start,
                                              int32_t limit, int32_t pixels)
{
    const int32_t depth = p->input_channels;
    const int32_t column_bytes = depth * (int32_t)sizeof(*of->to);
    const int32_t first = kibi_limited_start(start, limit);
    kibi_s16_runs task = *of;
    kibi_s16_edge edge;
    task.place_bytes = first * column_bytes;
    task.second_bytes = (kibi_limited_start(start + p->stride, limit) - first) * column_bytes;
    task.third_bytes = (kibi_limited_start(start + 2 * p->stride, limit) - first) * column_bytes;
    if (limit >= 0 && p->dilation == 1) {
        kibi_copy_s16_runs(&task, pixels);
    } else if (limit >= 0) {
        kibi_copy_s16_columns(&task, p, pixels);
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
            kibi_copy_s16_edge(&edge, start * depth, task.elements, p->input_width * depth);
        } else if (is_outside) {
            kibi_copy_s16_edge_columns(&edge, p, start);
        }
        edge.to += 2;
        edge.last += 2;
        start += p->stride;
    }
}

#endif
