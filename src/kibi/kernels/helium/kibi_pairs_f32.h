/* ADD, SUB and MUL of floats, Armv8.1-M with MVE: eight elements at a time. Before it includes this header, a kernel's file defines
 *   KIBI_PAIRS_KERNEL     its name
 *   KIBI_PAIRS_OPERATOR   what it computes, in C
 * After it, it defines the function that is declared here. */
#ifndef KIBI_PAIRS_F32_H
#define KIBI_PAIRS_F32_H

#include "kibi_binary.h"

#include "kibi_assembly.h"
#include "kibi_cut_f32.h"
#include "kibi_float_flags.h"

enum { KIBI_EIGHT = 8 };

/* Neighbouring elements. */
typedef struct {
    float *output;  /* of the next one; changes, as both inputs do */
    const float *a;
    const float *b;
    int32_t eights; /* that are left; changes */
    float low;      /* the bounds of outputs */
    float high;
} kibi_pairs_task;

KIBI_FIELD_AT(kibi_pairs_task, output, 0);
KIBI_FIELD_AT(kibi_pairs_task, a, 4);
KIBI_FIELD_AT(kibi_pairs_task, b, 8);
KIBI_FIELD_AT(kibi_pairs_task, eights, 12);
KIBI_FIELD_AT(kibi_pairs_task, low, 16);
KIBI_FIELD_AT(kibi_pairs_task, high, 20);

/* Only what is greater than a bound changes, so that a NaN stays. */
#define KIBI_PAIRS_CUT(values)              \
    "vpt.f32 gt, q4, " values "\n"          \
    "vmovt " values ", q4\n"                \
    "vpt.f32 gt, " values ", q5\n"          \
    "vmovt " values ", q5\n"

/* Whole eights of elements, up to such that have a denormal number.
 * Registers:
 *   r0           task
 *   r1, r2, r3   output, inputs
 *   r12          free
 *   lr           eights left
 *   q0 … q3      elements, outputs
 *   q4, q5       bounds
 * Stack: 40 bytes. */
#define KIBI_PAIRS_EIGHTS(instruction)                      \
    __asm__ volatile(                                       \
        ".syntax unified\n"                                 \
        "push {r4, lr}\n"                                   \
        "vpush {d8, d9, d10, d11}\n"                        \
        KIBI_CLEAR_DENORMAL_FLAGS("r12")                    \
        "ldrd r1, r2, [r0, #16]\n"                          \
        "vdup.32 q4, r1\n"                                  \
        "vdup.32 q5, r2\n"                                  \
        "ldm r0, {r1, r2, r3, r4}\n"                        \
        "dls lr, r4\n"                                      \
        "1:\n"                                              \
        "vldrw.32 q0, [r2], #32\n"                          \
        "vldrw.32 q1, [r3], #32\n"                          \
        "vldrw.32 q2, [r2, #-16]\n"                         \
        "vldrw.32 q3, [r3, #-16]\n"                         \
        instruction " q0, q0, q1\n"                         \
        instruction " q2, q2, q3\n"                         \
        KIBI_PAIRS_CUT("q0")                                \
        KIBI_PAIRS_CUT("q2")                                \
        KIBI_READ_DENORMAL_FLAGS("r12")                     \
        "bne 2f\n"                                          \
        "vstrw.32 q0, [r1], #32\n"                          \
        "vstrw.32 q2, [r1, #-16]\n"                         \
        "le lr, 1b\n"                                       \
        "b 3f\n"                                            \
        "2:\n" /* lr counts the eight that is not done */   \
        "sub r2, r2, #32\n"                                 \
        "sub r3, r3, #32\n"                                 \
        "mov r4, lr\n"                                      \
        "b 4f\n"                                            \
        "3:\n"                                              \
        "movs r4, #0\n"                                     \
        "4:\n"                                              \
        "stm r0, {r1, r2, r3, r4}\n"                        \
        "vpop {d8, d9, d10, d11}\n"                         \
        "pop {r4, pc}\n")

/* Computes whole eights: a function of the file, which has these instructions alone. */
static void kibi_compute_eights(kibi_pairs_task *task);

/* Elements in plain C. */
static KIBI_NOINLINE void kibi_compute_elements(kibi_pairs_task *t, int32_t count, int32_t step1, int32_t step2)
{
    for (; count > 0; --count) {
        *t->output++ = kibi_cut_f32(*t->a KIBI_PAIRS_OPERATOR *t->b, t->low, t->high);
        t->a += step1;
        t->b += step2;
    }
}

void KIBI_PAIRS_KERNEL(float *output, const float *const *rows, const kibi_clamped_pair_f32_params *params, void *scratch)
{
    const kibi_clamped_pair_f32_params *const p = params;
    const float *const *const rows2 = rows + p->rows1;
    const uint32_t flags = kibi_float_flags();
    const int has_eights = p->step1 == 1 && p->step2 == 1 && p->elements >= KIBI_EIGHT;
    kibi_pairs_task task;
    (void)scratch;
    task.output = output;
    task.low = p->activation_min;
    task.high = p->activation_max;
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        task.a = rows[piece * p->row_step1] + piece * p->piece_step1;
        task.b = rows2[piece * p->row_step2] + piece * p->piece_step2;
        task.eights = has_eights ? p->elements / KIBI_EIGHT : 0;
        while (task.eights > 0) {
            kibi_compute_eights(&task);
            if (task.eights > 0) {
                kibi_compute_elements(&task, KIBI_EIGHT, 1, 1);
                --task.eights;
            }
        }
        kibi_compute_elements(&task, has_eights ? p->elements % KIBI_EIGHT : p->elements, p->step1, p->step2);
    }
    kibi_raise_float_flags(flags);
}

#endif
