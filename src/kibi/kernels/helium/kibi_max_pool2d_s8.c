/* MAX_POOL_2D, int8, Armv8.1-M with MVE: sixteen channels at once. Source of the rule: TFLM, integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

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

/* Registers and stack:
 *   r0       output
 *   r1       task
 *   r2, r3   rows, their end
 *   r4       place of sixteen channels
 *   r5       channels
 *   r6       columns
 *   r7       pixels left
 *   r8       the next row
 *   r9       a column
 *   r10      columns left
 *   r11      bytes that a pixel's last vector has too many
 *   r12      free
 *   lr       channels left: lanes after them are not written
 *   q0       maxima
 *   q1, q2   bounds
 *   q3       a column's channels
 *   sp       r4 … r12 and lr of the caller
 * Stack: 40 bytes. */
static KIBI_NOINLINE KIBI_NAKED void pixels_of(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER pool *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}\n"
        "ldm r1, {r2, r3, r4, r5, r6, r7}\n"
        "ldrd r8, r9, [r1, #28]\n"
        "vdup.8 q1, r8\n"
        "vdup.8 q2, r9\n"
        "rsb r11, r5, #0\n"
        "and r11, r11, #15\n"
        "1:\n" /* a pixel */
        "dlstp.8 lr, r5\n"
        "2:\n" /* sixteen channels */
        "vmov q0, q1\n"
        "mov r8, r2\n"
        "3:\n" /* a row */
        "ldr r9, [r8], #4\n"
        "mov r10, r6\n"
        "add r9, r9, r4\n"
        "4:\n" /* a column */
        "vldrb.8 q3, [r9]\n"
        "add r9, r9, r5\n"
        "vmax.s8 q0, q0, q3\n"
        "subs r10, r10, #1\n"
        "bne 4b\n"
        "cmp r8, r3\n"
        "bne 3b\n"
        "vmin.s8 q0, q0, q2\n"
        "add r4, r4, #16\n"
        "vstrb.8 q0, [r0], #16\n"
        "letp lr, 2b\n"
        "ldr r4, [r1, #8]\n"
        "ldr r12, [r1, #24]\n"
        "sub r0, r0, r11\n"
        "add r4, r4, r12\n"
        "str r4, [r1, #8]\n"
        "subs r7, r7, #1\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}\n");
}

void kibi_max_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch)
{
    const kibi_pool_params *const p = params;
    pool task = {rows, rows + p->kernel_rows, 0, p->channels, 0, 1, p->stride * p->channels, p->activation_min, p->activation_max};
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
        task.place = first * p->channels;
        task.columns = end - first;
        task.pixels = 1;
        if (start >= 0 && room >= 0) { /* all of them whose windows are inside */
            const int32_t inside = room / p->stride + 1;
            task.pixels = inside < left ? inside : left;
        }
        left -= task.pixels;
        start += task.pixels * p->stride;
        pixels_of(output, &task);
        output += task.pixels * p->channels;
    }
}
