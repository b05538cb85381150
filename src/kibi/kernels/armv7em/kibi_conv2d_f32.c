/* CONV_2D, float, Armv7E-M: four channels at once; plain C without a floating-point unit. Source of the rule: TFLM,
 * reference/conv.h, Conv. */
#include "kibi_conv2d.h"

#include "kibi_dot_f32_4x1.h"
#include "kibi_dot_f32_fours.h"
#include "kibi_finish_f32.h"
#include "kibi_window_columns.h"

/* Parts that a library leaves out where no layer needs them. Four channels at once, where a group has as many. */
#ifndef KIBI_CONV2D_F32_OF_FOURS
#define KIBI_CONV2D_F32_OF_FOURS 1
#endif
/* Windows of three rows of three elements, and of nine, in registers. */
#ifndef KIBI_CONV2D_F32_OF_3X3X1
#define KIBI_CONV2D_F32_OF_3X3X1 1
#endif
#ifndef KIBI_CONV2D_F32_OF_3X3X3
#define KIBI_CONV2D_F32_OF_3X3X3 1
#endif

enum { BLOCK = KIBI_DOT_F32_CHANNELS, MOST_GATHERED = 40, SHORT = 16 };

/* Four channels at a time of one window, all of whose rows have one run inside. */
typedef struct {
    const float *const *rows;
    const float *const *rows_end;
    int32_t place_bytes;   /* from where a row begins to its run */
    int32_t run_bytes;     /* at least 4 */
    int32_t skipped;       /* bytes of a channel's weights from the end of a row's run to the next row's */
    int32_t row_bytes;     /* of a channel's weights of a row */
    const float *weights;  /* of the first row's run; then of the next channels */
    int32_t channel_bytes; /* of a channel's weights */
    float *output;
    const float *bias;
    const float *bias_end; /* a multiple of four after bias, at least four */
    int32_t range_kind;
    const float *range;    /* low and high */
} channels_task;

#if defined(__ARM_FP) && KIBI_CONV2D_F32_OF_FOURS
KIBI_FIELD_AT(channels_task, rows, 0);
KIBI_FIELD_AT(channels_task, rows_end, 4);
KIBI_FIELD_AT(channels_task, place_bytes, 8);
KIBI_FIELD_AT(channels_task, run_bytes, 12);
KIBI_FIELD_AT(channels_task, skipped, 16);
KIBI_FIELD_AT(channels_task, row_bytes, 20);
KIBI_FIELD_AT(channels_task, weights, 24);
KIBI_FIELD_AT(channels_task, channel_bytes, 28);
KIBI_FIELD_AT(channels_task, output, 32);
KIBI_FIELD_AT(channels_task, bias, 36);
KIBI_FIELD_AT(channels_task, bias_end, 40);
KIBI_FIELD_AT(channels_task, range_kind, 44);
KIBI_FIELD_AT(channels_task, range, 48);

#define TWO_ELEMENTS                        \
    "vldm r3!, {s4-s5}\n"                   \
    "vldm r1!, {s8-s9}\n"                   \
    "vldm r4!, {s10-s11}\n"                 \
    "vldm r5!, {s12-s13}\n"                 \
    "vldm r2!, {s14-s15}\n"                 \
    "vmla.f32 s0, s8, s4\n"                 \
    "vmla.f32 s1, s10, s4\n"                \
    "vmla.f32 s2, s12, s4\n"                \
    "vmla.f32 s3, s14, s4\n"                \
    "vmla.f32 s0, s9, s5\n"                 \
    "vmla.f32 s1, s11, s5\n"                \
    "vmla.f32 s2, s13, s5\n"                \
    "vmla.f32 s3, s15, s5\n"

/* Registers and stack:
 *   r0               task
 *   r1, r4, r5, r2   weights of four channels; at the end r1 output, r2 bias
 *   r3               elements; at the end the kind of range
 *   r6               where whole fours of elements end
 *   r7, r12          what weights skip, and free
 *   r8, lr           the next row's pointer, where these end
 *   r9, r10, r11     place_bytes, bytes of whole fours, run_bytes
 *   s0 … s3          the sums
 *   s4 … s15         elements and weights
 *   sp + 0           r4 … r11, lr of the caller
 * Stack: 36 bytes. */
static KIBI_NOINLINE KIBI_NAKED void compute_channels(KIBI_IN_REGISTER channels_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldrd r9, r11, [r0, #8]\n"
        "bic r10, r11, #15\n"
        "10:\n" /* the next four channels */
        "ldrd r1, r2, [r0, #24]\n"
        "ldrd r8, lr, [r0]\n"
        "movs r3, #0\n"
        "add r4, r1, r2\n"
        "add r5, r4, r2\n"
        "add r12, r5, r2, lsl #1\n"
        "add r2, r5, r2\n"
        "str r12, [r0, #24]\n"
        "vmov s0, s1, r3, r3\n"
        "vmov s2, s3, r3, r3\n"
        "1:\n" /* the next row */
        "ldr r3, [r8], #4\n"
        "cmp r3, #0\n"
        "beq 8f\n"
        "add r3, r3, r9\n"
        "add r6, r3, r10\n"
        "tst r10, #16\n"
        "bne 3f\n"
        "b 4f\n"
        "2:\n" KIBI_DOT_F32_FOUR_ELEMENTS /* two fours an iteration */
        "3:\n" KIBI_DOT_F32_FOUR_ELEMENTS /* enter with an odd number */
        "4:\n"
        "cmp r3, r6\n"
        "bne 2b\n"
        "lsls r7, r11, #29\n" /* carry: two elements more; negative: one more */
        "bcc 5f\n"
        TWO_ELEMENTS
        "5:\n"
        "bpl 6f\n"
        KIBI_DOT_F32_ONE_ELEMENT
        "6:\n" /* the row is done */
        "cmp r8, lr\n"
        "beq 9f\n"
        "ldr r12, [r0, #16]\n"
        "7:\n"
        "add r1, r1, r12\n"
        "add r4, r4, r12\n"
        "add r5, r5, r12\n"
        "add r2, r2, r12\n"
        "b 1b\n"
        "8:\n" /* the row is outside */
        "ldr r12, [r0, #20]\n"
        "cmp r8, lr\n"
        "bne 7b\n"
        "9:\n"
        "ldrd r1, r2, [r0, #32]\n"
        "ldr r3, [r0, #44]\n"
        KIBI_FINISH_FOUR("[r0, #48]")
        "strd r1, r2, [r0, #32]\n"
        "ldr r3, [r0, #40]\n"
        "cmp r2, r3\n"
        "bne 10b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}

/* Neighbouring pixels with windows of three rows that are inside, and of which all channels are computed by fours. */
typedef struct {
    const float *rows[3];  /* of the next window */
    int32_t step_bytes;    /* from there to the one after it */
    const float *weights;
    const float *bias;
    const float *bias_end;
    int32_t range_kind;
    const float *range;
    float *output;
    int32_t count;         /* of pixels, at least one */
} three_rows_task;

KIBI_FIELD_AT(three_rows_task, rows, 0);
KIBI_FIELD_AT(three_rows_task, step_bytes, 12);
KIBI_FIELD_AT(three_rows_task, weights, 16);
KIBI_FIELD_AT(three_rows_task, bias, 20);
KIBI_FIELD_AT(three_rows_task, bias_end, 24);
KIBI_FIELD_AT(three_rows_task, range_kind, 28);
KIBI_FIELD_AT(three_rows_task, range, 32);
KIBI_FIELD_AT(three_rows_task, output, 36);
KIBI_FIELD_AT(three_rows_task, count, 40);

/* The pixels, one after another: a window stays in registers while all channels are computed.
 *   first, second, third   registers for the elements of the three rows
 *   keep                   keeps r4 for again
 *   channels               four sums in s0 … s3, from zeros in r3 and weights from r8 on
 *   again                  reads elements anew that KIBI_FINISH_FOUR overwrites
 * Registers and stack:
 *   r0          task
 *   r1, r2      output, bias
 *   r3 … r7     rows and step_bytes; then zero, sums, and what KIBI_FINISH_FOUR uses
 *   r8, r9      weights, bias_end
 *   r10, r11    count, the first row of the window
 *   sp + 0      s16 … s31, then r4 … r11, lr of the caller
 * Stack: 100 bytes. */
#define THREE_ROWS(first, second, third, keep, channels, again) \
    __asm__ volatile(                                        \
        ".syntax unified\n"                                  \
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"      \
        "vpush {s16-s31}\n"                                  \
        "ldr r9, [r0, #24]\n"                                \
        "ldrd r1, r10, [r0, #36]\n"                          \
        "1:\n" /* the next pixel */                          \
        "ldm r0, {r4, r5, r6, r7, r8}\n"                     \
        "ldr r2, [r0, #20]\n"                                \
        keep                                                 \
        "vldm r4, {" first "}\n"                             \
        "vldm r5, {" second "}\n"                            \
        "vldm r6, {" third "}\n"                             \
        "add r4, r4, r7\n"                                   \
        "add r5, r5, r7\n"                                   \
        "add r6, r6, r7\n"                                   \
        "stm r0, {r4, r5, r6}\n"                             \
        "2:\n" /* the next four channels */                  \
        "movs r3, #0\n"                                      \
        channels                                             \
        "ldr r3, [r0, #28]\n"                                \
        KIBI_FINISH_FOUR("[r0, #32]")                        \
        again                                                \
        "cmp r2, r9\n"                                       \
        "bne 2b\n"                                           \
        "subs r10, r10, #1\n"                                \
        "bne 1b\n"                                           \
        "vpop {s16-s31}\n"                                   \
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n")

/* A window of nine elements in s16 … s24, times nine weights. */
#define NINE(sum)                                            \
    "vldm r8!, {s7-s15}\n"                                   \
    "vmla.f32 " sum ", s7, s16\n"                            \
    "vmla.f32 " sum ", s8, s17\n"                            \
    "vmla.f32 " sum ", s9, s18\n"                            \
    "vmla.f32 " sum ", s10, s19\n"                           \
    "vmla.f32 " sum ", s11, s20\n"                           \
    "vmla.f32 " sum ", s12, s21\n"                           \
    "vmla.f32 " sum ", s13, s22\n"                           \
    "vmla.f32 " sum ", s14, s23\n"                           \
    "vmla.f32 " sum ", s15, s24\n"

/* Three weights or four, times elements. */
#define THREE_OF(weights, x0, x1, x2)                        \
    "vldm r8!, {" weights "}\n"                              \
    "vmla.f32 s0, s1, " x0 "\n"                              \
    "vmla.f32 s0, s2, " x1 "\n"                              \
    "vmla.f32 s0, s3, " x2 "\n"
#define FOUR_OF(x0, x1, x2, x3)                              \
    THREE_OF("s1-s4", x0, x1, x2)                            \
    "vmla.f32 s0, s4, " x3 "\n"

/* A window of 27 elements in s5 … s31, times 27 weights: the sum is kept in a general register. */
#define TWENTY_SEVEN(sum)                                    \
    "vmov s0, r3\n"                                          \
    FOUR_OF("s5", "s6", "s7", "s8")                          \
    FOUR_OF("s9", "s10", "s11", "s12")                       \
    FOUR_OF("s13", "s14", "s15", "s16")                      \
    FOUR_OF("s17", "s18", "s19", "s20")                      \
    FOUR_OF("s21", "s22", "s23", "s24")                      \
    FOUR_OF("s25", "s26", "s27", "s28")                      \
    THREE_OF("s1-s3", "s29", "s30", "s31")                   \
    "vmov " sum ", s0\n"

static KIBI_NOINLINE KIBI_NAKED void three_by_three_of_one(KIBI_IN_REGISTER three_rows_task *task)
{
    THREE_ROWS("s16-s18", "s19-s21", "s22-s24", "",
               "vmov s0, s1, r3, r3\n" "vmov s2, s3, r3, r3\n"
               NINE("s0") NINE("s1") NINE("s2") NINE("s3"), "");
}

static KIBI_NOINLINE KIBI_NAKED void three_by_three_of_three(KIBI_IN_REGISTER three_rows_task *task)
{
    THREE_ROWS("s5-s13", "s14-s22", "s23-s31", "mov r11, r4\n",
               ".irp sum, r4, r5, r6, r7\n"
               TWENTY_SEVEN("\\sum")
               ".endr\n"
               "vmov s0, s1, r4, r5\n" "vmov s2, s3, r6, r7\n",
               "vldm r11, {s5-s9}\n");
}

/* Computes pixels from column `first` on, if a window of three rows fits the registers: all of these windows are inside. Returns
 * what is after the outputs; NULL if it does not fit. */
static float *pixels_in_registers(float *output, const float *const *rows, int32_t first, int32_t count, const channels_task *of,
                                  const kibi_conv2d_f32_params *p)
{
    const int32_t run = p->kernel_width * p->input_channels;
    const int is_nine = KIBI_CONV2D_F32_OF_3X3X1 && run == 3;
    three_rows_task task;
    if (p->kernel_rows != 3 || p->output_channels % BLOCK != 0 || !(is_nine || (KIBI_CONV2D_F32_OF_3X3X3 && run == 9))) {
        return NULL;
    }
    for (int32_t row = 0; row < 3; ++row) {
        task.rows[row] = rows[row] + first * p->input_channels;
    }
    task.step_bytes = p->stride * p->input_channels * (int32_t)sizeof(*output);
    task.weights = KIBI_AT(float, p, filter);
    task.bias = KIBI_AT(float, p, bias);
    task.bias_end = task.bias + p->output_channels;
    task.range_kind = of->range_kind;
    task.range = of->range;
    task.output = output;
    task.count = count;
    if (is_nine) {
        three_by_three_of_one(&task);
    } else if (KIBI_CONV2D_F32_OF_3X3X3) {
        three_by_three_of_three(&task);
    }
    return output + count * p->output_channels;
}

static int has_fours(int32_t outputs)
{
    return outputs >= BLOCK;
}
#else
static void compute_channels(channels_task *task)
{
    (void)task;
}

static float *pixels_in_registers(float *output, const float *const *rows, int32_t first, int32_t count, const channels_task *of,
                                  const kibi_conv2d_f32_params *p)
{
    (void)output;
    (void)rows;
    (void)first;
    (void)count;
    (void)of;
    (void)p;
    return NULL;
}

static int has_fours(int32_t outputs)
{
    (void)outputs;
    return 0;
}
#endif

/* Adds the products of a window with the weights of four channels, or with those of one. */
static void add_window(float *sums, int32_t channels, const float *const *rows, const float *w, int32_t first,
                       const kibi_window_columns *c, const kibi_conv2d_f32_params *p)
{
    const int32_t width = p->kernel_width * (p->input_channels / p->groups);
    const int32_t size = p->kernel_rows * width;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] != NULL) {
            const float *x = rows[ky] + c->place + first;
            const float *from = w + ky * width + c->weight;
            for (int32_t k = 0; k < c->runs; ++k) {
                if (KIBI_CONV2D_F32_OF_FOURS && channels == BLOCK) {
                    kibi_dot_f32_4x1(sums, from, size, x, c->run);
                } else {
                    sums[0] = kibi_dot_f32(sums[0], from, x, c->run);
                }
                x += c->step;
                from += c->run;
            }
        }
    }
}

/* Computes the channels of one group of one pixel, from channel `o` on. */
static KIBI_NOINLINE void group_of(float *output, const float *const *rows, int32_t o, int32_t first, const kibi_window_columns *c,
                     const kibi_conv2d_f32_params *p)
{
    const int32_t size = p->kernel_rows * p->kernel_width * (p->input_channels / p->groups);
    const int32_t end = o + p->output_channels / p->groups;
    const int32_t block = KIBI_CONV2D_F32_OF_FOURS && end - o >= BLOCK ? BLOCK : 1;
    while (o < end) {
        /* The last block has the last four channels, of which some are computed already. */
        const int32_t begin = o < end - block ? o : end - block;
        float sums[BLOCK] = {0.0f, 0.0f, 0.0f, 0.0f};
        add_window(sums, block, rows, KIBI_AT(float, p, filter) + begin * size, first, c, p);
        for (; o < begin + block; ++o) {
            *output++ = kibi_clamp_f32(sums[o - begin] + KIBI_AT(float, p, bias)[o], p->activation_min, p->activation_max);
        }
    }
}

/* Copies the runs of a window that is inside, one after another. */
static KIBI_NOINLINE void gather(float *to, const float *const *rows, int32_t place, int32_t run, int32_t count)
{
    for (int32_t ky = 0; ky < count; ++ky) {
        const float *from = rows[ky] + place;
        int32_t left = run;
        for (; left >= 3; left -= 3) {
            __asm__ volatile("ldm %[from]!, {r3, r4, r5}\n\t"
                             "stm %[to]!, {r3, r4, r5}"
                             : [from] "+l"(from), [to] "+l"(to)
                             :
                             : "r3", "r4", "r5", "memory");
        }
        for (; left > 0; --left) {
            *to++ = *from++;
        }
    }
}

/* Computes `count` channels of one pixel from `first` on, a multiple of four. */
static void channels_of(float *output, channels_task *task, const float *filter, int32_t first, int32_t count,
                        const kibi_conv2d_f32_params *p)
{
    task->weights = filter + first * (task->channel_bytes / (int32_t)sizeof(*filter));
    task->output = output + first;
    task->bias = KIBI_AT(float, p, bias) + first;
    task->bias_end = task->bias + count;
    compute_channels(task);
}

/* Computes the channels of one pixel by fours, from a window that has one run in each row. */
static KIBI_NOINLINE void pixel_of(float *output, channels_task *task, const kibi_window_columns *c,
                                   const kibi_conv2d_f32_params *p)
{
    const int32_t size = (int32_t)sizeof(*output);
    const int32_t rest = p->output_channels % BLOCK;
    const float *const filter = KIBI_AT(float, p, filter) + c->weight;
    task->place_bytes = c->place * size;
    task->run_bytes = c->run * size;
    task->skipped = task->row_bytes - task->run_bytes;
    channels_of(output, task, filter, 0, p->output_channels - rest, p);
    if (rest != 0) {
        /* The last block has the last four channels, of which some are computed already. */
        channels_of(output, task, filter, p->output_channels - BLOCK, BLOCK, p);
    }
}

/* Pixels whose windows are copied one after another: all of them are inside. A multiple of four channels is computed from `task`,
 * which has a single row; the last four of others once more. Returns what is after the outputs. */
static KIBI_NOINLINE float *gathered_pixels(float *output, const float *const *rows, int32_t first, int32_t count,
                                            const channels_task *of, const kibi_conv2d_f32_params *p)
{
    const int32_t run = p->kernel_width * p->input_channels;
    const int32_t step = p->stride * p->input_channels;
    const int32_t outputs = p->output_channels;
    const int32_t rest = outputs % BLOCK;
    const float *const filter = KIBI_AT(float, p, filter);
    const float *const bias = KIBI_AT(float, p, bias);
    int32_t place = first * p->input_channels;
    float window[MOST_GATHERED];
    const float *const only = window;
    channels_task task = *of;
    task.rows = &only;
    task.rows_end = &only + 1;
    task.place_bytes = 0;
    task.run_bytes = task.channel_bytes;
    task.skipped = 0;
    for (; count > 0; --count) {
        gather(window, rows, place, run, p->kernel_rows);
        task.weights = filter;
        task.output = output;
        task.bias = bias;
        task.bias_end = bias + (outputs - rest);
        compute_channels(&task);
        if (rest != 0) {
            channels_of(output, &task, filter, outputs - BLOCK, BLOCK, p);
        }
        output += outputs;
        place += step;
    }
    return output;
}

/* True if windows inside are short enough to be copied, so that their rows follow one another. */
static KIBI_NOINLINE int is_gathered(const float *const *rows, const kibi_conv2d_f32_params *p)
{
    const int32_t width = p->kernel_width * p->input_channels;
    int is_whole = p->kernel_rows > 1 && width < SHORT && p->kernel_rows * width <= MOST_GATHERED;
    for (int32_t ky = 0; is_whole && ky < p->kernel_rows; ++ky) {
        is_whole = rows[ky] != NULL;
    }
    return is_whole;
}

void kibi_conv2d_f32(float *output, const float *const *rows, const kibi_conv2d_f32_params *params, void *scratch)
{
    const kibi_conv2d_f32_params *const p = params;
    const int32_t depth = p->input_channels / p->groups;
    const int32_t outputs = p->output_channels / p->groups;
    const int32_t width = p->kernel_width * depth;
    const float range[2] = {p->activation_min, p->activation_max};
    const int by_fours = p->groups == 1 && has_fours(outputs);
    const int gathers = by_fours && p->dilation == 1 && is_gathered(rows, p);
    const int32_t limit = p->input_width - p->kernel_width;
    channels_task task;
    task.row_bytes = width * (int32_t)sizeof(*output);
    task.channel_bytes = p->kernel_rows * task.row_bytes;
    task.range_kind = kibi_kind_of_range(range[0], range[1]);
    task.range = range;
    (void)scratch;
    KIBI_ASSERT(p->groups * depth == p->input_channels && p->groups * outputs == p->output_channels);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        if (gathers && start >= 0 && start <= limit) {
            const int32_t inside = (limit - start) / p->stride + 1;
            const int32_t count = inside < p->output_width - x ? inside : p->output_width - x;
            float *const end = pixels_in_registers(output, rows, start, count, &task, p);
            output = end != NULL ? end : gathered_pixels(output, rows, start, count, &task, p);
            x += count - 1;
            continue;
        }
        const kibi_window_columns found =
            kibi_find_columns(start, p->kernel_width, p->dilation, p->input_width, p->input_channels, depth);
        if (by_fours && found.runs == 1) {
            task.rows = rows;
            task.rows_end = rows + p->kernel_rows;
            pixel_of(output, &task, &found, p);
            output += outputs;
            continue;
        }
        for (int32_t group = 0; group < p->groups; ++group) {
            group_of(output, rows, group * outputs, group * depth, &found, p);
            output += outputs;
        }
    }
}
