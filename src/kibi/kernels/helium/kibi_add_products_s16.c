/* Products of int16 and weights of four channels, Armv8.1-M with MVE: eight at a time, in sums of 64 bits. */
#include "kibi_add_products_s16.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

KIBI_FIELD_AT(kibi_products_s16, weights, 0);
KIBI_FIELD_AT(kibi_products_s16, elements, 4);
KIBI_FIELD_AT(kibi_products_s16, end, 8);
KIBI_FIELD_AT(kibi_products_s16, depth, 12);

/* Registers and stack:
 *   r0 … r3    weights of each channel; before: sums, task
 *   r4 … r11   the sums, two registers each
 *   r12        elements
 *   lr         elements left
 *   q0, q1     elements, weights
 *   sp + 0     sums
 *   sp + 4     r4 … r11, lr of the caller
 * Stack: 40 bytes. */
KIBI_NAKED void kibi_add_products_s16(KIBI_IN_REGISTER char *sums, KIBI_IN_REGISTER const kibi_products_s16 *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r0, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "ldrd r12, lr, [r1, #4]\n"
        "ldr r3, [r1, #12]\n"
        "ldr r0, [r1]\n"
        "sub lr, lr, r12\n"
        "add r1, r0, r3\n"
        "add r2, r1, r3\n"
        "add r3, r2, r3\n"
        "lsr lr, lr, #1\n"
        "dlstp.16 lr, lr\n"
        "1:\n"
        "vldrh.16 q0, [r12], #16\n"
        "vldrb.s16 q1, [r0], #8\n"
        "vmlaldava.s16 r4, r5, q0, q1\n"
        "vldrb.s16 q1, [r1], #8\n"
        "vmlaldava.s16 r6, r7, q0, q1\n"
        "vldrb.s16 q1, [r2], #8\n"
        "vmlaldava.s16 r8, r9, q0, q1\n"
        "vldrb.s16 q1, [r3], #8\n"
        "vmlaldava.s16 r10, r11, q0, q1\n"
        "letp lr, 1b\n"
        "pop {r0}\n"
        "stm r0, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
