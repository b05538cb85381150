/* A unit of SVDF, Armv7E-M: what memories of int8 and of int16 share. */
#ifndef KIBI_SVDF_UNIT_H
#define KIBI_SVDF_UNIT_H

#include "kibi_dsp.h"
#include "kibi_svdf_units.h"

KIBI_FIELD_AT(kibi_svdf_units, results, 0);
KIBI_FIELD_AT(kibi_svdf_units, feature_multiplier, 4);
KIBI_FIELD_AT(kibi_svdf_units, feature_shift, 8);
KIBI_FIELD_AT(kibi_svdf_units, bias, 12);
KIBI_FIELD_AT(kibi_svdf_units, state, 16);
KIBI_FIELD_AT(kibi_svdf_units, weights, 20);
KIBI_FIELD_AT(kibi_svdf_units, memory, 24);
KIBI_FIELD_AT(kibi_svdf_units, output_multiplier, 28);
KIBI_FIELD_AT(kibi_svdf_units, output_shift, 32);
KIBI_FIELD_AT(kibi_svdf_units, output_zero_point, 36);
KIBI_FIELD_AT(kibi_svdf_units, output, 40);
KIBI_FIELD_AT(kibi_svdf_units, results_end, 44);
KIBI_FIELD_AT(kibi_svdf_units, state_zero_point, 48);

/* Registers and stack of both functions:
 *   r0         task
 *   r1, r2     state, weights
 *   r3         results
 *   r4, r5     a multiplier, a shift; of int8, while what is kept is weighted, its even and odd elements
 *   r6         bias
 *   r7         output
 *   r8         the newest result
 *   r9         the sum
 *   r10, r11   what is kept, its weights; else r10 is free
 *   r12        where the last word of the state begins
 *   lr         of int8 -state_zero_point in both halves
 *   sp + 0     r4 … r11, lr of the caller
 * Stack: 36 bytes. */

/* A sum, scaled by r4 and r5 (rule N4): r5 is ~shift, below 0 where the shift is to the left. `left` and `done` are labels, of what
 * KIBI_SVDF_SHIFT_LEFT does and of where it goes on. */
#define KIBI_SVDF_SCALE(sum, left, done)                \
    "cmp r5, #0\n"                                      \
    "blt " left "f\n"                                   \
    "and r10, " sum ", r4, asr #31\n"                   \
    "smmlar " sum ", " sum ", r4, r10\n"                \
    "add " sum ", " sum ", " sum ", asr #31\n"          \
    "asr " sum ", " sum ", r5\n"                        \
    "add " sum ", " sum ", #1\n"                        \
    "asr " sum ", " sum ", #1\n"                        \
    done ":\n"

#define KIBI_SVDF_SHIFT_LEFT(sum, left, done)           \
    left ":\n"                                          \
    "mvn r5, r5\n"                                      \
    "lsl " sum ", " sum ", r5\n"                        \
    "and r10, " sum ", r4, asr #31\n"                   \
    "smmlar " sum ", " sum ", r4, r10\n"                \
    "b " done "b\n"

/* The next result in r8; its bias in r9. `prepare` comes before the first one. */
#define KIBI_SVDF_BEGIN(prepare)                        \
    ".syntax unified\n"                                 \
    "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"     \
    "ldr r3, [r0]\n"                                    \
    "ldr r6, [r0, #12]\n"                               \
    "ldrd r1, r2, [r0, #16]\n"                          \
    "ldr r7, [r0, #40]\n"                               \
    prepare                                             \
    "1:\n" /* the next unit */                          \
    "ldr r8, [r3], #4\n"                                \
    "ldrd r4, r5, [r0, #4]\n"                           \
    KIBI_SVDF_SCALE("r8", "6", "7")                               \
    "ldr r9, [r6], #4\n"                                \
    "ldr r12, [r0, #24]\n"

/* The unit's output; then the next unit. */
#define KIBI_SVDF_END                                   \
    "ldrd r4, r5, [r0, #28]\n"                          \
    KIBI_SVDF_SCALE("r9", "8", "9")                               \
    "ldr r10, [r0, #36]\n"                              \
    "add r9, r9, r10\n"                                 \
    "ssat r9, #8, r9\n"                                 \
    "strb r9, [r7], #1\n"                               \
    "ldr r10, [r0, #44]\n"                              \
    "cmp r3, r10\n"                                     \
    "bne 1b\n"                                          \
    "str r3, [r0]\n"                                    \
    "str r6, [r0, #12]\n"                               \
    "strd r1, r2, [r0, #16]\n"                          \
    "str r7, [r0, #40]\n"                               \
    "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"      \
    KIBI_SVDF_SHIFT_LEFT("r8", "6", "7")                \
    KIBI_SVDF_SHIFT_LEFT("r9", "8", "9")

#endif
