/* MAX_POOL_2D, int8, a row of the window at a time, Armv8.1-M with MVE: sixteen channels at once. Source of the rule: TFLM,
 * integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* Writes the larger ones of two arrays of as many bytes; they may be one.
 *
 * Registers and stack:
 *   r0       largest
 *   r1, r2   first, second
 *   r3       bytes
 *   r12      lr of the caller
 *   lr       bytes left
 *   q0, q1   sixteen of each array
 * Stack: 0 bytes. */
static KIBI_NOINLINE KIBI_NAKED void larger(KIBI_IN_REGISTER int8_t *largest, KIBI_IN_REGISTER const int8_t *first,
                                            KIBI_IN_REGISTER const int8_t *second, KIBI_IN_REGISTER int32_t bytes)
{
    __asm__ volatile(
        ".syntax unified\n"
        "mov r12, lr\n"
        "dlstp.8 lr, r3\n"
        "1:\n"
        "vldrb.8 q0, [r1], #16\n"
        "vldrb.8 q1, [r2], #16\n"
        "vmax.s8 q0, q0, q1\n"
        "vstrb.8 q0, [r0], #16\n"
        "letp lr, 1b\n"
        "bx r12\n");
}

/* Cuts as many bytes to bounds, the lower one first.
 *
 * Registers and stack:
 *   r0, r1   output, maxima
 *   r2       bytes
 *   r3       bounds; then lr of the caller
 *   r12      a bound
 *   lr       bytes left
 *   q0       sixteen bytes
 *   q1, q2   bounds
 * Stack: 0 bytes. */
static KIBI_NOINLINE KIBI_NAKED void cut(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const int8_t *maxima,
                                         KIBI_IN_REGISTER int32_t bytes, KIBI_IN_REGISTER const int32_t *bounds)
{
    __asm__ volatile(
        ".syntax unified\n"
        "ldr r12, [r3]\n"
        "vdup.8 q1, r12\n"
        "ldr r12, [r3, #4]\n"
        "vdup.8 q2, r12\n"
        "mov r3, lr\n"
        "dlstp.8 lr, r2\n"
        "1:\n"
        "vldrb.8 q0, [r1], #16\n"
        "vmax.s8 q0, q0, q1\n"
        "vmin.s8 q0, q0, q2\n"
        "vstrb.8 q0, [r0], #16\n"
        "letp lr, 1b\n"
        "bx r3\n");
}

void kibi_max_pool2d_s8_accumulate(int8_t *output, const int8_t *const *rows, const kibi_pool_accumulate_params *params,
                                   void *scratch, int32_t step)
{
    const kibi_pool_accumulate_params *const p = params;
    const int32_t bounds[2] = {p->activation_min, p->activation_max};
    int8_t *const maxima = (int8_t *)scratch;
    KIBI_ASSERT(maxima != NULL && step >= 0 && step < p->steps);
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        int8_t *const largest = maxima + x * p->channels;
        for (int32_t column = first; column < end; ++column) {
            const int8_t *const input = rows[0] + column * p->channels;
            larger(largest, step == 0 && column == first ? input : largest, input, p->channels);
        }
    }
    if (step == p->steps - 1) {
        cut(output, maxima, p->output_width * p->channels, bounds);
    }
}
