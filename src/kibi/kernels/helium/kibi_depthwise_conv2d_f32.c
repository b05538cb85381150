/* DEPTHWISE_CONV_2D, float, Armv8.1-M with MVE: sixteen, eight or four channels at once. Source of the rule: TFLM,
 * reference/depthwiseconv_float.h, DepthwiseConv. */
#include "kibi_depthwise_conv2d.h"

#include "kibi_assembly.h"
#include "kibi_float_flags.h"
#include "kibi_window_columns.h"

/* Parts that only some layers need: blocks of so many channels, or of fewer than eight, and several channels that read one of the input. */
#ifndef KIBI_DEPTHWISE_CONV2D_F32_BY_SIXTEENS
#define KIBI_DEPTHWISE_CONV2D_F32_BY_SIXTEENS 1
#endif
#ifndef KIBI_DEPTHWISE_CONV2D_F32_BY_EIGHTS
#define KIBI_DEPTHWISE_CONV2D_F32_BY_EIGHTS 1
#endif
#ifndef KIBI_DEPTHWISE_CONV2D_F32_BY_FOURS
#define KIBI_DEPTHWISE_CONV2D_F32_BY_FOURS 1
#endif
#ifndef KIBI_DEPTHWISE_CONV2D_F32_MULTIPLIED
#define KIBI_DEPTHWISE_CONV2D_F32_MULTIPLIED 1
#endif

enum { FOUR = 4, EIGHT = 8, SIXTEEN = 16 };

/* Neighbouring pixels whose windows have the same columns inside, and where the computation is among them. */
typedef struct {
    const float *const *rows;
    const float *const *rows_end;
    const float *weights;     /* of the window's first row, at its first column inside */
    int32_t weight_bytes;     /* from a column's weights to the next one's; at the same time from an output to that of the next pixel */
    int32_t column_bytes;     /* from a column to the next one of the window */
    int32_t columns;          /* that are inside, at least 1 */
    int32_t skipped;          /* bytes of the weights of a row's columns outside */
    int32_t row_bytes;        /* of weights of all columns of a row */
    int32_t place;            /* bytes from where a row begins to the first column of the next pixel; changes */
    float *output;            /* of the next pixel; changes */
    int32_t channel_bytes;    /* bytes of the channels of this pixel that are done; changes */
    int32_t pixels;           /* that are left, at least 1; changes */
    int32_t step;             /* bytes from a pixel to the next one, in the input */
    const float *bias;
    float low;                /* the bounds of outputs */
    float high;
    uint32_t sources[FOUR];   /* input channels of four outputs, where several read one of the input */
} channels_task;

KIBI_FIELD_AT(channels_task, rows, 0);
KIBI_FIELD_AT(channels_task, rows_end, 4);
KIBI_FIELD_AT(channels_task, weights, 8);
KIBI_FIELD_AT(channels_task, weight_bytes, 12);
KIBI_FIELD_AT(channels_task, column_bytes, 16);
KIBI_FIELD_AT(channels_task, columns, 20);
KIBI_FIELD_AT(channels_task, skipped, 24);
KIBI_FIELD_AT(channels_task, row_bytes, 28);
KIBI_FIELD_AT(channels_task, place, 32);
KIBI_FIELD_AT(channels_task, output, 36);
KIBI_FIELD_AT(channels_task, channel_bytes, 40);
KIBI_FIELD_AT(channels_task, pixels, 44);
KIBI_FIELD_AT(channels_task, step, 48);
KIBI_FIELD_AT(channels_task, bias, 52);
KIBI_FIELD_AT(channels_task, low, 56);
KIBI_FIELD_AT(channels_task, high, 60);
KIBI_FIELD_AT(channels_task, sources, 64);

/* Registers and stack of both functions:
 *   r0           task
 *   r1, r2       weights and elements
 *   r3           free
 *   r4, r5       column_bytes, weight_bytes
 *   r6, r7       pointers to rows, and their end
 *   r8, r9       place and output of the pixel
 *   r10          row_bytes
 *   r12          channel_bytes
 *   lr           columns left
 *   q0 … q3      sums
 *   q4 … q7      elements and weights; at the end biases, bounds
 *   sp           q4 … q7, then r4 … r12 and lr of the caller
 * Stack: 104 bytes. */
#define ENTER                               \
    ".syntax unified\n"                     \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n" \
    "vpush {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
    KIBI_CLEAR_DENORMAL_FLAGS("r3")         \
    "ldr r7, [r0, #4]\n"                    \
    "ldrd r5, r4, [r0, #12]\n"              \
    "ldrd r8, r9, [r0, #32]\n"              \
    "ldr r10, [r0, #28]\n"                  \
    "ldr r12, [r0, #40]\n"
#define LEAVE                               \
    "99:\n"                                 \
    "vpop {d8, d9, d10, d11, d12, d13, d14, d15}\n" \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n"

/* All taps: `to_channel` moves r2 from a pixel's first channel, `taps` adds the products at r2 and r1. */
#define SUM(to_channel, taps)               \
    "ldr r1, [r0, #8]\n"                    \
    "ldr r6, [r0]\n"                        \
    "add r1, r1, r12\n"                     \
    "1:\n" /* the next row */               \
    "ldr r2, [r6], #4\n"                    \
    "cmp r2, #0\n"                          \
    "it eq\n"                               \
    "addeq r1, r1, r10\n"                   \
    "beq 3f\n"                              \
    "ldrd lr, r3, [r0, #20]\n"              \
    "add r2, r2, r8\n"                      \
    to_channel                              \
    "dls lr, lr\n"                          \
    "2:\n" /* the next column */            \
    taps                                    \
    "add r2, r2, r4\n"                      \
    "add r1, r1, r5\n"                      \
    "le lr, 2b\n"                           \
    "add r1, r1, r3\n"                      \
    "3:\n"                                  \
    "cmp r6, r7\n"                          \
    "bne 1b\n"

/* A tap of four channels. */
#define TAP(at, x, w, sums)                 \
    "vldrw.32 " x ", [r2, #" at "]\n"       \
    "vldrw.32 " w ", [r1, #" at "]\n"       \
    "vmul.f32 " x ", " x ", " w "\n"        \
    "vadd.f32 " sums ", " sums ", " x "\n"
/* One of the channels that VPR names. */
#define TAP_OF_REST(elements)               \
    "vpstt\n"                               \
    elements "\n"                           \
    "vldrwt.32 q5, [r1]\n"                  \
    "vmul.f32 q4, q4, q5\n"                 \
    "vadd.f32 q0, q0, q4\n"

/* Bounds in q5 and q6: only what is greater changes, so that a NaN stays. */
#define CUT(sums)                           \
    "vpt.f32 gt, q5, " sums "\n"            \
    "vmovt " sums ", q5\n"                  \
    "vpt.f32 gt, " sums ", q6\n"            \
    "vmovt " sums ", q6\n"
#define BIAS(at, sums)                      \
    "vldrw.32 q4, [r3, #" at "]\n"          \
    "vadd.f32 " sums ", " sums ", q4\n"
/* Biases, bounds and the flags; r3: the place of outputs. */
#define FINISH(biases, cut)                 \
    "ldr r3, [r0, #52]\n"                   \
    "ldrd r1, r2, [r0, #56]\n"              \
    "add r3, r3, r12\n"                     \
    "vdup.32 q5, r1\n"                      \
    "vdup.32 q6, r2\n"                      \
    biases                                  \
    cut                                     \
    KIBI_READ_DENORMAL_FLAGS("r1")          \
    "bne 90f\n"                             \
    "add r3, r9, r12\n"

/* What is left of a pixel's channels, in bytes. */
#define LEFT "subs r11, r5, r12\n"

#if KIBI_DEPTHWISE_CONV2D_F32_BY_SIXTEENS
#define SIXTEENS                            \
    "11:\n"                                 \
    LEFT                                    \
    "cmp r11, #64\n"                        \
    "blt 12f\n"                             \
    "vmov.i32 q0, #0\n"                     \
    "vmov.i32 q1, #0\n"                     \
    "vmov.i32 q2, #0\n"                     \
    "vmov.i32 q3, #0\n"                     \
    SUM("add r2, r2, r12\n", TAP("0", "q4", "q5", "q0") TAP("16", "q6", "q7", "q1")    \
        TAP("32", "q4", "q5", "q2") TAP("48", "q6", "q7", "q3"))                       \
    FINISH(BIAS("0", "q0") BIAS("16", "q1") BIAS("32", "q2") BIAS("48", "q3"),         \
           CUT("q0") CUT("q1") CUT("q2") CUT("q3"))                                    \
    "vstrw.32 q0, [r3]\n"                   \
    "vstrw.32 q1, [r3, #16]\n"              \
    "vstrw.32 q2, [r3, #32]\n"              \
    "vstrw.32 q3, [r3, #48]\n"              \
    "add r12, r12, #64\n"                   \
    "b 11b\n"
#else
#define SIXTEENS ""
#endif

#if KIBI_DEPTHWISE_CONV2D_F32_BY_EIGHTS
#define EIGHTS                              \
    LEFT                                    \
    "cmp r11, #32\n"                        \
    "blt 13f\n"                             \
    "vmov.i32 q0, #0\n"                     \
    "vmov.i32 q1, #0\n"                     \
    SUM("add r2, r2, r12\n", TAP("0", "q4", "q5", "q0") TAP("16", "q6", "q7", "q1"))   \
    FINISH(BIAS("0", "q0") BIAS("16", "q1"), CUT("q0") CUT("q1"))                      \
    "vstrw.32 q0, [r3]\n"                   \
    "vstrw.32 q1, [r3, #16]\n"              \
    "add r12, r12, #32\n"
#else
#define EIGHTS ""
#endif

/* Up to four channels, r11 bytes of them. */
#define FOURS(to_channel, elements)         \
    "lsr r11, r11, #2\n"                    \
    "vctp.32 r11\n"                         \
    "vmov.i32 q0, #0\n"                     \
    SUM(to_channel, TAP_OF_REST(elements))  \
    FINISH("vpst\n" "vldrwt.32 q4, [r3]\n" "vadd.f32 q0, q0, q4\n", CUT("q0"))         \
    "vctp.32 r11\n"                         \
    "vpst\n"                                \
    "vstrwt.32 q0, [r3]\n"

#if KIBI_DEPTHWISE_CONV2D_F32_BY_FOURS
#define REST                                \
    LEFT                                    \
    "ble 14f\n"                             \
    FOURS("add r2, r2, r12\n", "vldrwt.32 q4, [r2]") \
    "add r12, r12, #16\n"                   \
    "b 13b\n"
#else
#define REST ""
#endif

/* All channels of the pixels. Returns 0; or 1 where an operand or a result of the next four channels, or of more, is a denormal number. */
static KIBI_NOINLINE KIBI_NAKED int32_t compute(KIBI_IN_REGISTER channels_task *task)
{
    __asm__ volatile(
        ENTER
        "10:\n" /* the next pixel */
        SIXTEENS
        "12:\n"
        EIGHTS
        "13:\n"
        REST
        "14:\n"
        "ldrd r1, r2, [r0, #44]\n"
        "add r9, r9, r5\n"
        "add r8, r8, r2\n"
        "movs r12, #0\n"
        "subs r1, r1, #1\n"
        "str r1, [r0, #44]\n"
        "bne 10b\n"
        "movs r3, #0\n"
        "b 98f\n"
        "90:\n"
        "movs r3, #1\n"
        "98:\n"
        "strd r8, r9, [r0, #32]\n"
        "str r12, [r0, #40]\n"
        "mov r0, r3\n"
        LEAVE);
}

#if KIBI_DEPTHWISE_CONV2D_F32_MULTIPLIED
/* Up to four channels of a pixel, from the input channels that the task names. Returns as above. */
static KIBI_NOINLINE KIBI_NAKED int32_t compute_four(KIBI_IN_REGISTER channels_task *task)
{
    __asm__ volatile(
        ENTER
        "vldrw.32 q7, [r0, #64]\n"
        "sub r11, r5, r12\n"
        FOURS("", "vldrwt.u32 q4, [r2, q7, uxtw #2]")
        "movs r0, #0\n"
        "b 99f\n"
        "90:\n"
        "movs r0, #1\n"
        LEAVE);
}
#endif

/* Computes channels of the task's pixel in plain C. */
static KIBI_NOINLINE void channels_in_c(const channels_task *t, int32_t o, int32_t end, const kibi_depthwise_conv2d_f32_params *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    for (; o < end; ++o) {
        const int32_t place = t->place / (int32_t)sizeof(float) + o / p->depth_multiplier;
        const float *w = t->weights + o;
        float sum = 0.0f;
        for (const float *const *row = t->rows; row != t->rows_end; ++row) {
            for (int32_t k = 0; *row != NULL && k < t->columns; ++k) {
                sum += (*row)[place + k * (t->column_bytes / (int32_t)sizeof(float))] * w[k * outputs];
            }
            w += t->row_bytes / (int32_t)sizeof(float);
        }
        t->output[o] = kibi_clamp_f32(sum + t->bias[o], t->low, t->high);
    }
}

/* The pixels of a task whose channels read one of the input each. */
static void compute_pixels(channels_task *task, const kibi_depthwise_conv2d_f32_params *p)
{
    while (task->pixels > 0 && compute(task) != 0) {
        const int32_t first = task->channel_bytes / (int32_t)sizeof(float);
        const int32_t left = p->input_channels - first;
        const int32_t block = left >= SIXTEEN ? (int32_t)SIXTEEN : left >= EIGHT ? (int32_t)EIGHT : left >= FOUR ? (int32_t)FOUR : left;
        channels_in_c(task, first, first + block, p);
        task->channel_bytes += block * (int32_t)sizeof(float);
    }
}

/* Those where several read one. */
static void compute_multiplied(channels_task *task, const kibi_depthwise_conv2d_f32_params *p)
{
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    for (; task->pixels > 0; --task->pixels) {
        for (int32_t o = 0; o < outputs; o += FOUR) {
            int32_t is_flagged = 1;
#if KIBI_DEPTHWISE_CONV2D_F32_MULTIPLIED
            for (int32_t lane = 0; lane < FOUR; ++lane) {
                task->sources[lane] = (uint32_t)((o + lane) / p->depth_multiplier);
            }
            task->channel_bytes = o * (int32_t)sizeof(float);
            is_flagged = compute_four(task);
#endif
            if (is_flagged != 0) {
                channels_in_c(task, o, o + FOUR < outputs ? o + FOUR : outputs, p);
            }
        }
        task->place += task->step;
        task->output += outputs;
    }
}

void kibi_depthwise_conv2d_f32(float *output, const float *const *rows, const kibi_depthwise_conv2d_f32_params *params,
                               void *scratch)
{
    const kibi_depthwise_conv2d_f32_params *const p = params;
    const uint32_t flags = kibi_float_flags();
    const int32_t size = (int32_t)sizeof(*output);
    const int32_t outputs = p->input_channels * p->depth_multiplier;
    const int32_t limit = p->input_width - (p->kernel_width - 1) * p->dilation - 1;
    int32_t start = -p->pad;
    int32_t count;
    channels_task task;
    (void)scratch;
    task.rows = rows;
    task.rows_end = rows + p->kernel_rows;
    task.weight_bytes = outputs * size;
    task.column_bytes = p->dilation * p->input_channels * size;
    task.row_bytes = p->kernel_width * task.weight_bytes;
    task.step = p->stride * p->input_channels * size;
    task.bias = KIBI_AT(float, p, bias);
    task.low = p->activation_min;
    task.high = p->activation_max;
    task.output = output;
    for (int32_t left = p->output_width; left > 0; left -= count) {
        const kibi_window_columns found =
            kibi_find_columns(start, p->kernel_width, p->dilation, p->input_width, p->input_channels, 1);
        const int32_t inside = start >= 0 && start <= limit ? (limit - start) / p->stride + 1 : 1;
        count = inside < left ? inside : left;
        task.columns = found.runs * found.run; /* also where those of a single channel are neighbours */
        task.skipped = task.row_bytes - task.columns * task.weight_bytes;
        task.weights = KIBI_AT(float, p, filter) + found.weight * outputs;
        task.place = found.place * size;
        task.channel_bytes = 0;
        task.pixels = count;
        if (task.columns == 0) {
            channels_in_c(&task, 0, outputs, p);
            task.output += outputs;
        } else if (p->depth_multiplier == 1) {
            compute_pixels(&task, p);
        } else {
            compute_multiplied(&task, p);
        }
        start += count * p->stride;
    }
    kibi_raise_float_flags(flags);
}
