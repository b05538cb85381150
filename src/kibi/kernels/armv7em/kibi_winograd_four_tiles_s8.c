/* Winograd's F(2,3): what the columns of four tiles become before they are multiplied, Armv7E-M. */
#include "kibi_winograd_four_tiles_s8.h"

#include "kibi_dsp.h"
#include "kibi_winograd_tile.h"

/* Registers and stack:
 *   r0 … r3   the planes; before: to, from, count, plane_bytes
 *   r4 … r11  elements of four columns, even and odd ones; before: the pointers to columns
 *   r12       bytes of a column that are done; before: distance
 *   lr        count
 *   sp + 0    ten pointers to columns
 *   sp + 40   r4 … r11, lr of the caller
 *   sp + 76   distance: an argument
 * Stack: 76 bytes. */
KIBI_NAKED int16_t *kibi_winograd_four_tiles_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const void *from,
                                                KIBI_IN_REGISTER int32_t count, KIBI_IN_REGISTER int32_t plane_bytes,
                                                KIBI_IN_REGISTER int32_t distance)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #40\n"
        "mov lr, r2\n"
        "ldr r12, [sp, #76]\n"
        "mov r4, sp\n"
        "add r5, sp, #40\n"
        "1:\n" /* the next pointer: so far from the one before it, or, where that is 0, of those at `from` */
        "mov r6, r1\n"
        "cmp r12, #0\n"
        "ite ne\n"
        "addne r1, r1, r12\n"
        "ldreq r6, [r1], #4\n"
        "str r6, [r4], #4\n"
        "cmp r4, r5\n"
        "bne 1b\n"
        "add r1, r0, r3\n"
        "add r2, r1, r3\n"
        "add r3, r2, r3\n"
        "mov r12, #0\n"
        "2:\n" /* the next four elements; a tile begins two columns after the one before it */
        KIBI_WINOGRAD_COLUMNS("0", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_COLUMNS("8", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_0, "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_COLUMNS("16", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_1, "r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_COLUMNS("24", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_2, "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_COLUMNS("32", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_TILE(KIBI_WINOGRAD_STORE_3, "r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7")
        "adds r0, r0, #32\n"
        "adds r1, r1, #32\n"
        "adds r2, r2, #32\n"
        "adds r3, r3, #32\n"
        "add r12, r12, #4\n"
        "cmp r12, lr\n"
        "bne.w 2b\n"
        "add sp, sp, #40\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
