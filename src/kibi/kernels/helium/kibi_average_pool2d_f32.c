/* AVERAGE_POOL_2D, float, Armv8.1-M with MVE: four channels at a time. Source of the rule: TFLM, reference/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_assembly.h"
#include "kibi_float_flags.h"

enum { FOUR = 4 };

/* A window. */
typedef struct {
    const float *const *rows; /* those that are inside, at least one */
    const float *const *rows_end;
    int32_t place;            /* bytes from where a row begins to the next four channels of the first column; changes */
    int32_t column_bytes;
    int32_t columns;          /* that are inside, at least one */
    float count;              /* of its elements of a channel */
    float *output;            /* of the next channel; changes */
    int32_t channels;         /* that are left, at least one; changes */
    float low;                /* the bounds of outputs */
    float high;
} window_task;

KIBI_FIELD_AT(window_task, rows, 0);
KIBI_FIELD_AT(window_task, rows_end, 4);
KIBI_FIELD_AT(window_task, place, 8);
KIBI_FIELD_AT(window_task, column_bytes, 12);
KIBI_FIELD_AT(window_task, columns, 16);
KIBI_FIELD_AT(window_task, count, 20);
KIBI_FIELD_AT(window_task, output, 24);
KIBI_FIELD_AT(window_task, channels, 28);
KIBI_FIELD_AT(window_task, low, 32);
KIBI_FIELD_AT(window_task, high, 36);

/* All channels of a window, or those up to four that have a denormal number: these are left.
 * Registers and stack:
 *   r0           task
 *   r1, r2       pointers to rows, and their end
 *   r3           elements
 *   r4, r5       place, column_bytes
 *   r6, r7       output, channels left
 *   r8           columns
 *   r9           free
 *   lr           columns left
 *   q0           sums, averages
 *   q1           elements
 *   s8           count
 *   q4, q5       bounds
 *   sp           q4, q5, then r4 … r9 and lr of the caller, and 4 bytes
 * Stack: 64 bytes. */
static KIBI_NOINLINE KIBI_NAKED void average(KIBI_IN_REGISTER window_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r3, r4, r5, r6, r7, r8, r9, lr}\n"
        "vpush {d8, d9, d10, d11}\n"
        KIBI_CLEAR_DENORMAL_FLAGS("r9")
        "ldrd r1, r2, [r0, #32]\n"
        "vdup.32 q4, r1\n"
        "vdup.32 q5, r2\n"
        "ldrd r4, r5, [r0, #8]\n"
        "ldrd r6, r7, [r0, #24]\n"
        "ldr r2, [r0, #4]\n"
        "ldr r8, [r0, #16]\n"
        "vldr s8, [r0, #20]\n"
        "1:\n" /* the next channels */
        "ldr r1, [r0]\n"
        "vctp.32 r7\n"
        "vmov.i32 q0, #0\n"
        "2:\n" /* the next row */
        "ldr r3, [r1], #4\n"
        "add r3, r3, r4\n"
        "dls lr, r8\n"
        "3:\n" /* the next column */
        "vpst\n"
        "vldrwt.32 q1, [r3]\n"
        "add r3, r3, r5\n"
        "vadd.f32 q0, q0, q1\n"
        "le lr, 3b\n"
        "cmp r1, r2\n"
        "bne 2b\n"
        "vdiv.f32 s0, s0, s8\n"
        "vdiv.f32 s1, s1, s8\n"
        "vdiv.f32 s2, s2, s8\n"
        "vdiv.f32 s3, s3, s8\n"
        "vpt.f32 gt, q4, q0\n"
        "vmovt q0, q4\n"
        "vpt.f32 gt, q0, q5\n"
        "vmovt q0, q5\n"
        KIBI_READ_DENORMAL_FLAGS("r9")
        "bne 4f\n"
        "vctp.32 r7\n"
        "vpst\n"
        "vstrwt.32 q0, [r6], #16\n"
        "add r4, r4, #16\n"
        "subs r7, r7, #4\n"
        "bgt 1b\n"
        "4:\n"
        "str r4, [r0, #8]\n"
        "strd r6, r7, [r0, #24]\n"
        "vpop {d8, d9, d10, d11}\n"
        "pop {r3, r4, r5, r6, r7, r8, r9, pc}\n");
}

/* Up to four channels in plain C. */
static KIBI_NOINLINE void four_channels(window_task *t)
{
    for (int32_t c = 0; c < FOUR && c < t->channels; ++c) {
        float sum = 0.0f;
        for (const float *const *row = t->rows; row != t->rows_end; ++row) {
            for (int32_t i = 0; i < t->columns; ++i) {
                sum += *(const float *)(const void *)((const char *)(*row + c) + t->place + i * t->column_bytes);
            }
        }
        *t->output++ = kibi_clamp_f32(sum / t->count, t->low, t->high);
    }
    t->place += FOUR * (int32_t)sizeof(float);
    t->channels -= FOUR;
}

void kibi_average_pool2d_f32(float *output, const float *const *rows, const kibi_pool_f32_params *params, void *scratch)
{
    const kibi_pool_f32_params *const p = params;
    const uint32_t flags = kibi_float_flags();
    window_task task;
    (void)scratch;
    task.rows = rows;
    task.rows_end = rows + p->kernel_rows;
    while (*task.rows == NULL) {
        ++task.rows;
    }
    while (task.rows_end[-1] == NULL) {
        --task.rows_end;
    }
    task.column_bytes = p->channels * (int32_t)sizeof(*output);
    task.low = p->activation_min;
    task.high = p->activation_max;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        task.columns = end - first;
        task.count = (float)(task.columns * (int32_t)(task.rows_end - task.rows));
        task.place = first * task.column_bytes;
        task.output = output + x * p->channels;
        task.channels = p->channels;
        while (task.channels > 0) {
            average(&task);
            if (task.channels > 0) {
                four_channels(&task);
            }
        }
    }
    kibi_raise_float_flags(flags);
}
