/* Copies of neighbouring windows of a convolution, Armv8.1-M with MVE: sixteen bytes at a time. */
#include "kibi_copy_windows.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

KIBI_FIELD_AT(kibi_copied_windows, to, 0);
KIBI_FIELD_AT(kibi_copied_windows, run, 4);
KIBI_FIELD_AT(kibi_copied_windows, rows, 8);
KIBI_FIELD_AT(kibi_copied_windows, place, 12);
KIBI_FIELD_AT(kibi_copied_windows, row_count, 16);
KIBI_FIELD_AT(kibi_copied_windows, windows, 20);
KIBI_FIELD_AT(kibi_copied_windows, advance, 24);

/* Registers and stack:
 *   r0       to
 *   r1       run
 *   r2, r3   rows, place
 *   r4, r5   rows of a window, windows left
 *   r6       advance
 *   r7       from
 *   r8       the next row
 *   r9       bytes up to a run's next multiple of 16
 *   r12      rows left, where a run has more than one vector
 *   lr       rows left, or bytes left
 *   sp       r4 … r9, r12 and lr of the caller
 * Stack: 32 bytes. */
KIBI_NAKED void kibi_copy_windows(KIBI_IN_REGISTER const kibi_copied_windows *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r12, lr}\n"
        "ldm r0, {r0, r1, r2, r3, r4, r5, r6}\n"
        "cmp r1, #16\n"
        "bhi 3f\n"
        "vctp.8 r1\n"
        "1:\n" /* a vector a row */
        "mov r8, r2\n"
        "dls lr, r4\n"
        "2:\n"
        "ldr r7, [r8], #4\n"
        "add r7, r7, r3\n"
        "vpstt\n"
        "vldrbt.8 q0, [r7]\n"
        "vstrbt.8 q0, [r0]\n"
        "add r0, r0, r1\n"
        "le lr, 2b\n"
        "add r3, r3, r6\n"
        "subs r5, r5, #1\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r12, pc}\n"
        "3:\n"
        "rsb r9, r1, #0\n"
        "and r9, r9, #15\n"
        "4:\n"
        "mov r8, r2\n"
        "mov r12, r4\n"
        "5:\n"
        "ldr r7, [r8], #4\n"
        "add r7, r7, r3\n"
        "dlstp.8 lr, r1\n"
        "6:\n"
        "vldrb.8 q0, [r7], #16\n"
        "vstrb.8 q0, [r0], #16\n"
        "letp lr, 6b\n"
        "sub r0, r0, r9\n"
        "subs r12, r12, #1\n"
        "bne 5b\n"
        "add r3, r3, r6\n"
        "subs r5, r5, #1\n"
        "bne 4b\n"
        "pop {r4, r5, r6, r7, r8, r9, r12, pc}\n");
}
