/* Winograd's F(2x2, 3x3): what four tiles become before they are multiplied, Armv7E-M. */
#include "kibi_row_pairs_tiles_s8.h"

#include "kibi_dsp.h"
#include "kibi_winograd_tile.h"

/* Two columns of a line: each column has 32 bytes. */
#define COLUMNS(first, second, even1, odd1, even2, odd2) \
    "ldrd " even1 ", " odd1 ", [r12, #" first "]\n"      \
    "ldrd " even2 ", " odd2 ", [r12, #" second "]\n"

/* Registers and stack:
 *   r0 … r3   the planes; before: to, from, groups, group_bytes
 *   r4 … r11  elements of four columns, even and odd ones
 *   r12       the first column of a line
 *   lr        where the first plane ends
 *   sp + 0    the first group's first column of a line
 *   sp + 4    bytes of a plane
 *   sp + 8    group_bytes
 *   sp + 12   the same as at 0 of the last line
 *   sp + 16   r4 … r11, lr of the caller
 * Stack: 52 bytes. */
KIBI_NAKED void kibi_row_pairs_tiles_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const int16_t *from,
                                        KIBI_IN_REGISTER int32_t groups, KIBI_IN_REGISTER int32_t group_bytes)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "lsl r2, r2, #5\n"
        "add r4, r1, #24\n"
        "push {r1, r2, r3, r4}\n"
        "mov r12, r1\n"
        "mov r4, r2\n"
        "add lr, r0, r4\n"
        "add r1, r0, r4, lsl #2\n"
        "add r2, r1, r4, lsl #2\n"
        "add r3, r2, r4, lsl #2\n"
        "1:\n" /* the next four elements; a tile begins two columns after the one before it */
        COLUMNS("0", "32", "r4", "r5", "r6", "r7")
        COLUMNS("64", "96", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_0, "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
        COLUMNS("128", "160", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_1, "r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7")
        COLUMNS("192", "224", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_2, "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
        COLUMNS("256", "288", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_3, "r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7")
        "ldr r4, [sp, #8]\n"
        "add r12, r12, r4\n"
        "adds r0, r0, #32\n"
        "adds r1, r1, #32\n"
        "adds r2, r2, #32\n"
        "adds r3, r3, #32\n"
        "cmp r0, lr\n"
        "bne.w 1b\n"
        /* The next line's planes follow. */
        "ldrd r12, r5, [sp]\n"
        "ldr r4, [sp, #12]\n"
        "cmp r12, r4\n"
        "beq 2f\n"
        "add lr, lr, r5\n"
        "add r12, r12, #8\n"
        "str r12, [sp]\n"
        "b.w 1b\n"
        "2:\n" /* all lines are done */
        "add sp, sp, #16\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
