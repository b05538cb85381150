/* Copies of runs of bytes to one place after another, Thumb-2: sixteen bytes at once, then words, then the rest. */
#include "kibi_copy_runs.h"

#include "kibi_assembly.h"

KIBI_FIELD_AT(kibi_copied_runs, to, 0);
KIBI_FIELD_AT(kibi_copied_runs, entry, 4);
KIBI_FIELD_AT(kibi_copied_runs, entries_end, 8);
KIBI_FIELD_AT(kibi_copied_runs, rows, 12);
KIBI_FIELD_AT(kibi_copied_runs, place, 16);
KIBI_FIELD_AT(kibi_copied_runs, element_bytes, 20);
KIBI_FIELD_AT(kibi_copied_runs, run_bytes, 24);

/* Registers and stack:
 *   r0         runs; at the end entry
 *   r1         to
 *   r2, r3     entry, entries_end
 *   r4         rows
 *   r5, r6     place, element_bytes
 *   r7         run_bytes
 *   r8         the row; then from
 *   r9         the place in the row; then bytes left, less 16 or 4
 *   r12, lr    free
 *   sp + 0     r4 … r9, lr of the caller
 * Stack: 28 bytes. */
KIBI_NAKED const int32_t *kibi_copy_runs(KIBI_IN_REGISTER kibi_copied_runs *runs)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, lr}\n"
        "ldm r0, {r1, r2, r3, r4, r5, r6, r7}\n"
        "b 7f\n"
        "1:\n" /* the next run */
        "ldrd r8, r9, [r2]\n"
        "adds r9, r9, r5\n"
        "bmi 8f\n"
        "ldr r8, [r4, r8, lsl #2]\n"
        "cmp r8, #0\n"
        "beq 8f\n"
        "mla r8, r9, r6, r8\n"
        "sub r9, r1, r8\n"
        "cmp r9, r7\n"
        "blo 8f\n" /* it overlaps its copy */
        "adds r2, r2, #8\n"
        "subs r9, r7, #16\n"
        "blo 3f\n"
        "2:\n" /* sixteen bytes */
        "ldr r12, [r8], #4\n"
        "ldr lr, [r8], #4\n"
        "str r12, [r1], #4\n"
        "str lr, [r1], #4\n"
        "ldr r12, [r8], #4\n"
        "ldr lr, [r8], #4\n"
        "str r12, [r1], #4\n"
        "str lr, [r1], #4\n"
        "subs r9, r9, #16\n"
        "bhs 2b\n"
        "adds r12, r9, #16\n"
        "beq 7f\n"
        "3:\n"
        "adds r9, r9, #12\n"
        "bmi 5f\n"
        "4:\n" /* a word */
        "ldr r12, [r8], #4\n"
        "str r12, [r1], #4\n"
        "subs r9, r9, #4\n"
        "bpl 4b\n"
        "5:\n"
        "lsls r9, r9, #31\n" /* carry: two bytes, then negative: one */
        "bcc 6f\n"
        "ldrh r12, [r8], #2\n"
        "strh r12, [r1], #2\n"
        "6:\n"
        "bpl 7f\n"
        "ldrb r12, [r8]\n"
        "strb r12, [r1], #1\n"
        "7:\n"
        "cmp r2, r3\n"
        "bne 1b\n"
        "8:\n"
        "strd r1, r2, [r0]\n"
        "mov r0, r2\n"
        "pop {r4, r5, r6, r7, r8, r9, pc}\n");
}
