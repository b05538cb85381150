/* Repeated runs of int8, Thumb-2: a run is loaded once, in whole words, and stored as often as it is repeated. */
#include "kibi_gather_runs.h"

#include <string.h>

#include "kibi_assembly.h"

/* Parts that a library leaves out where no layer needs them: runs of at most four bytes twice, longer ones twice, and all others. */
#ifndef KIBI_REPEAT_RUNS_S8_OF_SMALL
#define KIBI_REPEAT_RUNS_S8_OF_SMALL 1
#endif
#ifndef KIBI_REPEAT_RUNS_S8_OF_TWO
#define KIBI_REPEAT_RUNS_S8_OF_TWO 1
#endif
#ifndef KIBI_REPEAT_RUNS_S8_OF_MORE
#define KIBI_REPEAT_RUNS_S8_OF_MORE 1
#endif
#if KIBI_REPEAT_RUNS_S8_OF_TWO
#define OF_TWO(text) text
#else
#define OF_TWO(text) ""
#endif
#if KIBI_REPEAT_RUNS_S8_OF_MORE
#define OF_MORE(text) text
#else
#define OF_MORE(text) ""
#endif

/* Where the assembly reads the parameters. */
KIBI_FIELD_AT(kibi_repeat_runs_s8_params, elements, 12);
KIBI_FIELD_AT(kibi_repeat_runs_s8_params, repeats, 16);

#if KIBI_REPEAT_RUNS_S8_OF_SMALL
/* Writes neighbouring runs of at most four bytes, each twice: words, of which what is too much is written over by the next one; then
 * the last runs byte by byte. Returns what is after the last copy.
 * Registers and stack:
 *   r0        to
 *   r1        from
 *   r2        elements; before: runs that are written as words
 *   r3        runs left; before: elements in the lowest byte, above it runs that are written as bytes
 *   r4 … r7   four runs; else free
 *   r12       three times elements; then bytes left of a run
 *   lr        runs that are written as bytes
 *   sp + 0    r4 … r7, lr of the caller
 * Stack: 20 bytes. */
static KIBI_NOINLINE KIBI_NAKED int8_t *double_words(KIBI_IN_REGISTER int8_t *to, KIBI_IN_REGISTER const int8_t *from,
                                                      KIBI_IN_REGISTER int32_t runs, KIBI_IN_REGISTER int32_t sizes)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, lr}\n"
        "lsr lr, r3, #8\n"
        "uxtb r12, r3\n"
        "mov r3, r2\n"
        "mov r2, r12\n"
        "add r12, r12, r12, lsl #1\n"
        "subs r3, r3, #4\n"
        "blo 2f\n"
        "1:\n" /* four runs */
        "ldr r4, [r1]\n"
        "ldr r5, [r1, r2]\n"
        "ldr r6, [r1, r2, lsl #1]\n"
        "ldr r7, [r1, r12]\n"
        "add r1, r1, r2, lsl #2\n"
        "str r4, [r0]\n"
        "str r4, [r0, r2]\n"
        "str r5, [r0, r2, lsl #1]\n"
        "str r5, [r0, r12]\n"
        "add r0, r0, r2, lsl #2\n"
        "str r6, [r0]\n"
        "str r6, [r0, r2]\n"
        "str r7, [r0, r2, lsl #1]\n"
        "str r7, [r0, r12]\n"
        "add r0, r0, r2, lsl #2\n"
        "subs r3, r3, #4\n"
        "bhs 1b\n"
        "2:\n"
        "adds r3, r3, #4\n"
        "beq 4f\n"
        "3:\n" /* one run */
        "ldr r4, [r1]\n"
        "add r1, r1, r2\n"
        "str r4, [r0]\n"
        "str r4, [r0, r2]\n"
        "add r0, r0, r2, lsl #1\n"
        "subs r3, r3, #1\n"
        "bne 3b\n"
        "4:\n" /* runs byte by byte */
        "cmp lr, #0\n"
        "beq 7f\n"
        "5:\n"
        "mov r12, r2\n"
        "6:\n"
        "ldrb r4, [r1], #1\n"
        "strb r4, [r0, r2]\n"
        "strb r4, [r0], #1\n"
        "subs r12, r12, #1\n"
        "bne 6b\n"
        "add r0, r0, r2\n"
        "subs lr, lr, #1\n"
        "bne 5b\n"
        "7:\n"
        "pop {r4, r5, r6, r7, pc}\n");
}
#endif

#if KIBI_REPEAT_RUNS_S8_OF_TWO || KIBI_REPEAT_RUNS_S8_OF_MORE
/* Writes neighbouring runs of at most eight words twice, or as often as params say; the last words reach beyond the runs. Returns what
 * is after the last copy.
 * Registers and stack:
 *   r0         to
 *   r1         from
 *   r2         runs, at least 1; then elements, or where the second copy goes
 *   r3         params; then runs left, or copies left
 *   r4 … r11   words of a run
 *   r12, lr    where a run is loaded, and where it is stored
 *   sp + 0     repeats
 *   sp + 4     runs left
 *   sp + 8     r4 … r11, lr of the caller
 * Stack: 44 bytes. */
static KIBI_NOINLINE KIBI_NAKED __attribute__((aligned(4))) int8_t *repeat(KIBI_IN_REGISTER int8_t *to,
                                                                           KIBI_IN_REGISTER const int8_t *from,
                                                                           KIBI_IN_REGISTER int32_t runs,
                                                                           KIBI_IN_REGISTER const kibi_repeat_runs_s8_params *params)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldrd r4, r5, [r3, #12]\n" /* elements, repeats */
        "sub sp, sp, #8\n"
        "strd r5, r2, [sp]\n"
        "mov r3, r2\n"
        "mov r2, r4\n"
        /* Each word has four bytes of instructions in ladders, or eight. */
        "adds r4, r2, #3\n"
        "lsrs r4, r4, #2\n"
        "rsb r4, r4, #8\n"
        "adr.w r12, 6f\n"
        "orr r12, r12, #1\n"
        "add r12, r12, r4, lsl #2\n"
#if KIBI_REPEAT_RUNS_S8_OF_TWO && KIBI_REPEAT_RUNS_S8_OF_MORE
        "cmp r5, #2\n"
        "bne 5f\n"
#endif
        OF_TWO("adr.w lr, 8f\n"
               "add lr, lr, r4, lsl #3\n"
               "add r2, r2, r0\n" /* where the second copy goes */
               "orr lr, lr, #1\n"
               "bx r12\n")
        "5:\n"
        OF_MORE("adr.w lr, 9f\n"
                "add lr, lr, r4, lsl #2\n"
                "mov r3, r5\n"
                "orr lr, lr, #1\n"
                "bx r12\n")
        ".p2align 2\n"
        "6:\n" /* the words of a run, the last one first */
        "ldr.w r11, [r1, #28]\n"
        "ldr.w r10, [r1, #24]\n"
        "ldr.w r9, [r1, #20]\n"
        "ldr.w r8, [r1, #16]\n"
        "ldr.w r7, [r1, #12]\n"
        "ldr.w r6, [r1, #8]\n"
        "ldr.w r5, [r1, #4]\n"
        "ldr.w r4, [r1]\n"
        "bx lr\n"
        ".p2align 2\n"
        OF_TWO("8:\n" /* both copies; what is too much of the first is written over by the second */
               "str.w r11, [r0, #28]\n"
               "str.w r11, [r2, #28]\n"
               "str.w r10, [r0, #24]\n"
               "str.w r10, [r2, #24]\n"
               "str.w r9, [r0, #20]\n"
               "str.w r9, [r2, #20]\n"
               "str.w r8, [r0, #16]\n"
               "str.w r8, [r2, #16]\n"
               "str.w r7, [r0, #12]\n"
               "str.w r7, [r2, #12]\n"
               "str.w r6, [r0, #8]\n"
               "str.w r6, [r2, #8]\n"
               "str.w r5, [r0, #4]\n"
               "str.w r5, [r2, #4]\n"
               "str.w r4, [r0]\n"
               "str.w r4, [r2]\n"
               "add r1, r1, r2\n"
               "sub r1, r1, r0\n"
               "rsb r0, r0, r2, lsl #1\n"
               "subs r3, r3, #1\n"
               "rsb r2, r2, r0, lsl #1\n"
               "beq 11f\n"
               "bx r12\n")
        ".p2align 2\n"
        OF_MORE("9:\n" /* one copy */
                "str.w r11, [r0, #28]\n"
                "str.w r10, [r0, #24]\n"
                "str.w r9, [r0, #20]\n"
                "str.w r8, [r0, #16]\n"
                "str.w r7, [r0, #12]\n"
                "str.w r6, [r0, #8]\n"
                "str.w r5, [r0, #4]\n"
                "str.w r4, [r0]\n"
                "add r0, r0, r2\n"
                "subs r3, r3, #1\n"
                "beq 10f\n"
                "bx lr\n"
                "10:\n" /* all copies */
                "add r1, r1, r2\n"
                "ldrd r3, r4, [sp]\n"
                "subs r4, r4, #1\n"
                "str r4, [sp, #4]\n"
                "beq 11f\n"
                "bx r12\n")
        "11:\n" /* all runs */
        "add sp, sp, #8\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
#endif

void kibi_repeat_runs_s8(int8_t *output, const int8_t *const *rows, const kibi_repeat_runs_s8_params *params, void *scratch)
{
    const kibi_repeat_runs_s8_params *const p = params;
    const int32_t *outer = KIBI_AT(int32_t, p, outer);
    const int32_t *const outer_end = outer + 2 * p->outer_count;
    /* What is after the last run is neither read nor written: runs at the end are written as bytes, so that words before them fit in. */
    const int32_t after = p->elements == 1 ? 3 : (int32_t)(p->elements % 4 != 0);
    const int32_t last = after < p->runs ? after : p->runs;
    const int32_t whole = p->runs - last;
    (void)scratch;
    for (; outer != outer_end; outer += 2) {
        const int8_t *const row = rows[outer[0]];
        const int8_t *from;
        if (row == NULL || outer[1] < 0) {
            const int32_t size = p->runs * p->repeats * p->elements;
            (void)memset(output, *KIBI_AT(int8_t, p, filler), (size_t)size);
            output += size;
            continue;
        }
        from = row + outer[1];
#if KIBI_REPEAT_RUNS_S8_OF_SMALL
        if (p->repeats == 2 && p->elements <= 4) {
            output = double_words(output, from, whole, last << 8 | p->elements);
            continue;
        }
#endif
#if KIBI_REPEAT_RUNS_S8_OF_TWO || KIBI_REPEAT_RUNS_S8_OF_MORE
        if (whole > 0) {
            output = repeat(output, from, whole, p);
            from += whole * p->elements;
        }
        for (int32_t run = 0; run < last; ++run) {
            for (int32_t k = 0; k < p->elements; ++k) {
                const int8_t value = *from++;
                for (int32_t copy = 0; copy < p->repeats; ++copy) {
                    output[copy * p->elements + k] = value;
                }
            }
            output += p->repeats * p->elements;
        }
#else
        (void)from;
        (void)whole;
#endif
    }
}
