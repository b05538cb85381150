/* AVERAGE_POOL_2D, int8, Armv8.1-M with MVE: eight channels at once, divided by rule N51 of Kibi's numerics. Source of the rule: TFLM,
 * integer_ops/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_assembly.h"
#include "kibi_requantize.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* Windows whose sums do not fit 16 bits. */
#ifndef KIBI_AVERAGE_POOL2D_S8_OF_SINGLES
#define KIBI_AVERAGE_POOL2D_S8_OF_SINGLES 1
#endif

/* Sums of as many bytes fit 16 bits. */
enum { MOST_ELEMENTS = 256 };

/* Pixels whose windows have as many columns inside of the input; the assembly knows where each field is. */
typedef struct {
    const int8_t *const *rows;     /* of a window, those inside of the input */
    const int8_t *const *rows_end;
    int32_t place;                 /* in a row: the first pixel's first column; changes */
    int32_t channels;
    int32_t columns;               /* of a window, at least 1 */
    int32_t pixels;                /* at least 1 */
    int32_t advance;               /* from a pixel's place to the next one's */
    int32_t low;                   /* bounds of outputs */
    int32_t high;
    int32_t factor;                /* 2^28 / elements of a window + 1 */
} pool;

KIBI_FIELD_AT(pool, rows, 0);
KIBI_FIELD_AT(pool, rows_end, 4);
KIBI_FIELD_AT(pool, place, 8);
KIBI_FIELD_AT(pool, channels, 12);
KIBI_FIELD_AT(pool, columns, 16);
KIBI_FIELD_AT(pool, pixels, 20);
KIBI_FIELD_AT(pool, advance, 24);
KIBI_FIELD_AT(pool, low, 28);
KIBI_FIELD_AT(pool, high, 32);
KIBI_FIELD_AT(pool, factor, 36);

/* Products are doubled, so that sums 2^15-fold give floor(sum * factor / 2^16).
 *
 * Registers and stack:
 *   r0       output
 *   r1       task
 *   r2, r3   rows, their end
 *   r4       place of eight channels
 *   r5       channels
 *   r6       columns
 *   r7       a column
 *   r8       the next row
 *   r9       pixels left
 *   r10      channels left
 *   r11      factor
 *   r12      free
 *   lr       columns left
 *   q0, q1   sums, a column's channels
 *   q2, q3   bounds
 *   sp       r4 … r12 and lr of the caller
 * Stack: 40 bytes. */
static KIBI_NOINLINE KIBI_NAKED void pixels_of(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER pool *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n"
        "ldm r1, {r2, r3, r4, r5, r6, r9}\n"
        "ldrd r7, r8, [r1, #28]\n"
        "vdup.16 q2, r7\n"
        "vdup.16 q3, r8\n"
        "ldr r11, [r1, #36]\n"
        "1:\n" /* a pixel */
        "mov r10, r5\n"
        "2:\n" /* eight channels */
        "vctp.16 r10\n"
        "vmov.i32 q0, #0\n"
        "mov r8, r2\n"
        "3:\n" /* a row */
        "ldr r7, [r8], #4\n"
        "add r7, r7, r4\n"
        "dls lr, r6\n"
        "4:\n" /* a column */
        "vpst\n"
        "vldrbt.s16 q1, [r7]\n"
        "add r7, r7, r5\n"
        "vadd.i16 q0, q0, q1\n"
        "le lr, 4b\n"
        "cmp r8, r3\n"
        "bne 3b\n"
        "vshllb.s16 q1, q0, #15\n"
        "vshllt.s16 q0, q0, #15\n"
        "vqdmulh.s32 q1, q1, r11\n"
        "vqdmulh.s32 q0, q0, r11\n"
        "vqrshrnb.s32 q1, q1, #12\n"
        "vqrshrnt.s32 q1, q0, #12\n"
        "vmax.s16 q1, q1, q2\n"
        "vmin.s16 q1, q1, q3\n"
        "add r4, r4, #8\n"
        "vpst\n"
        "vstrbt.16 q1, [r0], #8\n"
        "subs r10, r10, #8\n"
        "bgt 2b\n"
        "add r0, r0, r10\n" /* back by the lanes of the last vector that were not written */
        "ldr r4, [r1, #8]\n"
        "ldr r7, [r1, #24]\n"
        "add r4, r4, r7\n"
        "str r4, [r1, #8]\n"
        "subs r9, r9, #1\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n");
}

/* The task's pixels with any window, channel by channel: rounded half away from zero. */
static KIBI_NOINLINE void one_by_one(int8_t *output, const pool *task)
{
    const int32_t count = task->columns * (int32_t)(task->rows_end - task->rows);
    for (int32_t x = 0; x < task->pixels; ++x) {
        for (int32_t c = 0; c < task->channels; ++c) {
            int32_t sum = 0;
            for (const int8_t *const *row = task->rows; row != task->rows_end; ++row) {
                const int8_t *input = *row + task->place + x * task->advance + c;
                for (int32_t i = 0; i < task->columns; ++i) {
                    sum += *input;
                    input += task->channels;
                }
            }
            const int32_t half = sum > 0 ? count / 2 : -(count / 2);
            *output++ = (int8_t)kibi_clamp((sum + half) / count, task->low, task->high);
        }
    }
}

void kibi_average_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch)
{
    const kibi_pool_params *const p = params;
    pool task = {rows, rows + p->kernel_rows, 0, p->channels, 0, 1, p->stride * p->channels, p->activation_min, p->activation_max, 0};
    int32_t start = -p->pad;
    int32_t left = p->output_width;
    (void)scratch;
    while (*task.rows == NULL) {
        ++task.rows;
    }
    while (task.rows_end[-1] == NULL) {
        --task.rows_end;
    }
    while (left > 0) {
        const int32_t room = p->input_width - p->kernel_width - start;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const int32_t count = (end - first) * (int32_t)(task.rows_end - task.rows);
        task.place = first * p->channels;
        task.columns = end - first;
        task.pixels = 1;
        if (start >= 0 && room >= 0) { /* all of them whose windows are inside */
            const int32_t inside = room / p->stride + 1;
            task.pixels = inside < left ? inside : left;
        }
        left -= task.pixels;
        start += task.pixels * p->stride;
        if (KIBI_AVERAGE_POOL2D_S8_OF_SINGLES && count > MOST_ELEMENTS) {
            one_by_one(output, &task);
        } else {
            task.factor = (1 << 28) / count + 1;
            pixels_of(output, &task);
        }
        output += task.pixels * p->channels;
    }
}
