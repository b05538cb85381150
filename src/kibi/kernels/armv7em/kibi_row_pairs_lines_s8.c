/* Winograd's F(2x2, 3x3): what four rows become before their columns are added up, Armv7E-M. */
#include "kibi_row_pairs_lines_s8.h"

#include "kibi_dsp.h"

/* Four elements of a row, from byte r12 on: even and odd ones widened. */
#define FOUR(row, even, odd)                  \
    "ldr " odd ", [" row ", r12]\n"           \
    "sxtb16 " even ", " odd "\n"              \
    "sxtb16 " odd ", " odd ", ror #8\n"

/* Registers and stack:
 *   r0        to
 *   r1 … r4   the rows; before: rows, columns, depth
 *   r5 … r10  elements of three rows, even and odd ones
 *   r11       depth
 *   r12       bytes of the rows that are done
 *   lr        the same at the end of a group
 *   sp + 0    bytes of all columns
 *   sp + 4    r4 … r11, lr of the caller
 *   sp + 40   gap: an argument
 * Stack: 40 bytes. */
KIBI_NAKED void kibi_row_pairs_lines_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int8_t *const *rows,
                                        KIBI_IN_REGISTER int32_t columns, KIBI_IN_REGISTER int32_t depth,
                                        KIBI_IN_REGISTER int32_t gap)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #4\n"
        "mov r11, r3\n"
        "mul lr, r2, r3\n"
        "str lr, [sp]\n"
        "ldm r1, {r1, r2, r3, r4}\n"
        "mov r12, #0\n"
        "1:\n" /* the next column */
        FOUR("r1", "r5", "r6")
        FOUR("r3", "r7", "r8")
        "ssub16 r5, r5, r7\n"
        "ssub16 r6, r6, r8\n"
        "strd r5, r6, [r0, #24]\n"
        FOUR("r2", "r9", "r10")
        FOUR("r4", "r5", "r6")
        "ssub16 r5, r5, r9\n"
        "ssub16 r6, r6, r10\n"
        "strd r5, r6, [r0, #16]\n"
        "ssub16 r5, r7, r9\n"
        "ssub16 r6, r8, r10\n"
        "strd r5, r6, [r0, #8]\n"
        "sadd16 r7, r7, r9\n"
        "sadd16 r8, r8, r10\n"
        "strd r7, r8, [r0], #32\n"
        "add r12, r12, r11\n"
        "cmp r12, lr\n"
        "bne 1b\n"
        /* The next group. */
        "ldr r5, [sp]\n"
        "ldr r6, [sp, #40]\n"
        "add r0, r0, r6\n"
        "add lr, lr, #4\n"
        "sub r12, lr, r5\n"
        "cmp r12, r11\n"
        "bne 1b\n"
        "add sp, sp, #4\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
