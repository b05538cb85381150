/* Windows of three rows of four pixels as 16 bits each, Armv7E-M. */
#include "kibi_widen4_rows_s8.h"

#include "kibi_dsp.h"

/* A half is 256 * odd + even, even without a sign: all but its highest bit flip, to 256 * odd - even + 127. */
#define WIDEN_AND_STORE                                      \
    "sxtb16 r4, r8\n"                                        \
    "sxtb16 r5, r9\n"                                        \
    "sxtb16 r6, r10\n"                                       \
    "sxtb16 r7, r11\n"                                       \
    "eor r8, r8, #0x007F007F\n"                              \
    "eor r9, r9, #0x007F007F\n"                              \
    "eor r10, r10, #0x007F007F\n"                            \
    "eor r11, r11, #0x007F007F\n"                            \
    "stm r0!, {r4, r5, r6, r7, r8, r9, r10, r11}\n"

/* The last elements of a pixel's rows as the bytes of a word. */
#define LAST_OF_PIXEL(word)                                  \
    "ldrb " word ", [r1]\n"                                  \
    "ldrb lr, [r2]\n"                                        \
    "ldrb r12, [r3]\n"                                       \
    "orr " word ", " word ", lr, lsl #8\n"                   \
    "orr " word ", " word ", r12, lsl #16\n"

#define NEXT_PIXEL                                           \
    "add r1, r1, r5\n"                                       \
    "add r2, r2, r5\n"                                       \
    "add r3, r3, r5\n"

/* Registers and stack:
 *   r0               to
 *   r1 … r3, r12     a row of the four windows; then, r1 … r3, a pixel's last elements; before: rows, distance, whole
 *   r4 … r7          even elements; before, and between rows: the next of rows, distance, whole
 *   r8 … r11         odd elements
 *   lr               where the first window's row ends; then, with r12, elements
 *   sp + 0           the next of rows, distance, whole, the end of rows
 *   sp + 16          r4 … r11, lr of the caller
 * Stack: 52 bytes. */
KIBI_NAKED void kibi_widen4_rows_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int8_t *const *rows,
                                    KIBI_IN_REGISTER int32_t distance, KIBI_IN_REGISTER int32_t whole)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "add r4, r1, #12\n"
        "push {r1, r2, r3, r4}\n"
        "2:\n" /* the next row */
        "ldm sp, {r4, r5, r6}\n"
        "ldr r1, [r4], #4\n"
        "str r4, [sp]\n"
        "add r2, r1, r5\n"
        "add r3, r2, r5\n"
        "add r12, r3, r5\n"
        "add lr, r1, r6\n"
        "1:\n" /* the next four elements of each */
        "ldr r8, [r1], #4\n"
        "ldr r9, [r2], #4\n"
        "ldr r10, [r3], #4\n"
        "ldr r11, [r12], #4\n"
        WIDEN_AND_STORE
        "cmp r1, lr\n"
        "bne 1b\n"
        "ldrd r4, r5, [sp]\n"
        "ldr r6, [sp, #12]\n"
        "cmp r4, r6\n"
        "bne 2b\n");
    __asm__ volatile(
        /* The last elements of all rows. */
        "ldr lr, [sp, #8]\n"
        "ldmdb r4, {r1, r2, r3}\n"
        "add r1, r1, lr\n"
        "add r2, r2, lr\n"
        "add r3, r3, lr\n"
        LAST_OF_PIXEL("r8")
        NEXT_PIXEL
        LAST_OF_PIXEL("r9")
        NEXT_PIXEL
        LAST_OF_PIXEL("r10")
        NEXT_PIXEL
        LAST_OF_PIXEL("r11")
        WIDEN_AND_STORE
        "add sp, sp, #16\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
