/* AVERAGE_POOL_2D of at most 256 bytes, whose sums fit 16 bits, Armv8.1-M with MVE: eight channels at once, divided by rule N51 of Kibi's
 * numerics. Source of the rule: TFLM, integer_ops/pooling.h, AveragePool. */
#include "kibi_pool2d.h"

#include "kibi_assembly.h"
#include "kibi_fill_bytes.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* What becomes of sums; the assembly knows where each field is. */
typedef struct {
    int32_t factor; /* 2^28 / count + 1 */
    int32_t low;
    int32_t high;
} division;

KIBI_FIELD_AT(division, factor, 0);
KIBI_FIELD_AT(division, low, 4);
KIBI_FIELD_AT(division, high, 8);

/* Adds columns, at least one, to the sums of their channels.
 *
 * Registers and stack:
 *   r0       sums
 *   r1       the first column
 *   r2, r3   channels left, columns
 *   r4       channels
 *   r5       a column
 *   r6       free
 *   lr       columns left
 *   q0, q1   sums, a column's channels
 *   sp       r4 … r6 and lr of the caller
 * Stack: 16 bytes. */
static KIBI_NOINLINE KIBI_NAKED void add_columns(KIBI_IN_REGISTER int16_t *sums, KIBI_IN_REGISTER const int8_t *input,
                                                 KIBI_IN_REGISTER int32_t channels, KIBI_IN_REGISTER int32_t columns)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, lr}\n"
        "mov r4, r2\n"
        "1:\n" /* eight channels */
        "vctp.16 r2\n"
        "mov r5, r1\n"
        "vpst\n"
        "vldrht.u16 q0, [r0]\n"
        "dls lr, r3\n"
        "2:\n" /* a column */
        "vpst\n"
        "vldrbt.s16 q1, [r5]\n"
        "add r5, r5, r4\n"
        "vadd.i16 q0, q0, q1\n"
        "le lr, 2b\n"
        "add r1, r1, #8\n"
        "vpst\n"
        "vstrht.16 q0, [r0], #16\n"
        "subs r2, r2, #8\n"
        "bgt 1b\n"
        "pop {r4, r5, r6, pc}\n");
}

/* Divides the sums of so many channels. Products are doubled, so that sums 2^15-fold give floor(sum * factor / 2^16).
 *
 * Registers and stack:
 *   r0, r1   output, sums
 *   r2       channels left
 *   r3, r12  by; then bounds; factor
 *   q0, q1   sums
 *   q2, q3   bounds
 * Stack: 0 bytes. */
static KIBI_NOINLINE KIBI_NAKED void divide(KIBI_IN_REGISTER int8_t *output, KIBI_IN_REGISTER const int16_t *sums,
                                            KIBI_IN_REGISTER int32_t channels, KIBI_IN_REGISTER const division *by)
{
    __asm__ volatile(
        ".syntax unified\n"
        "ldr r12, [r3, #4]\n"
        "vdup.16 q2, r12\n"
        "ldr r12, [r3, #8]\n"
        "vdup.16 q3, r12\n"
        "ldr r12, [r3]\n"
        "1:\n"
        "vctp.16 r2\n"
        "vpst\n"
        "vldrht.u16 q0, [r1], #16\n"
        "vshllb.s16 q1, q0, #15\n"
        "vshllt.s16 q0, q0, #15\n"
        "vqdmulh.s32 q1, q1, r12\n"
        "vqdmulh.s32 q0, q0, r12\n"
        "vqrshrnb.s32 q1, q1, #12\n"
        "vqrshrnt.s32 q1, q0, #12\n"
        "vmax.s16 q1, q1, q2\n"
        "vmin.s16 q1, q1, q3\n"
        "vpst\n"
        "vstrbt.16 q1, [r0], #8\n"
        "subs r2, r2, #8\n"
        "bgt 1b\n"
        "bx lr\n");
}

/* The columns of window `x` that are inside the input: the first, and how many. */
static inline int32_t columns_inside(int32_t x, const kibi_pool_accumulate_params *p, int32_t *first)
{
    const int32_t start = x * p->stride - p->pad;
    const int32_t end = start + p->kernel_width;
    *first = start > 0 ? start : 0;
    return (end < p->input_width ? end : p->input_width) - *first;
}

void kibi_average_pool2d_s8_accumulate_small(int8_t *output, const int8_t *const *rows,
                                             const kibi_pool_accumulate_params *params, void *scratch, int32_t step)
{
    const kibi_pool_accumulate_params *const p = params;
    int16_t *const sums = (int16_t *)scratch;
    division by = {0, p->activation_min, p->activation_max};
    int32_t first;
    KIBI_ASSERT(sums != NULL && (uintptr_t)scratch % sizeof(*sums) == 0 && step >= 0 && step < p->steps);
    if (step == 0) {
        kibi_fill_bytes((int8_t *)scratch, 0, 2 * p->output_width * p->channels);
    }
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t columns = columns_inside(x, p, &first);
        add_columns(sums + x * p->channels, *rows + first * p->channels, p->channels, columns);
    }
    if (step != p->steps - 1) {
        return;
    }
    for (int32_t x = 0; x < p->output_width; ++x) { /* the output may be in the place of the row */
        by.factor = (1 << 28) / (columns_inside(x, p, &first) * p->steps) + 1;
        divide(output + x * p->channels, sums + x * p->channels, p->channels, &by);
    }
}
