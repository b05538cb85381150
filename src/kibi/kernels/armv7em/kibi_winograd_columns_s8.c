/* Winograd's F(2,3): what columns become before they are multiplied, Armv7E-M. */
#include "kibi_winograd_columns_s8.h"

#include "kibi_dsp.h"
#include "kibi_winograd_tile.h"

#define STORE(plane, even, odd) "strd " even ", " odd ", [" plane "], #8\n"

/* Registers and stack:
 *   r0 … r3   the planes; before: to, from, count, plane_bytes
 *   r4 … r11  elements of four columns, even and odd ones; before: the pointers to columns
 *   r12       bytes of a column that are done; before: distance
 *   lr        count
 *   sp + 0    eight pointers to columns, of which two tiles use six
 *   sp + 32   where the second tile leads
 *   sp + 36   plane_bytes
 *   sp + 40   r4 … r11, lr of the caller
 *   sp + 76   tiles, distance: arguments
 * Stack: 76 bytes. */
KIBI_NAKED int16_t *kibi_winograd_columns_s8(KIBI_IN_REGISTER int16_t *to, KIBI_IN_REGISTER const void *from,
                                             KIBI_IN_REGISTER int32_t count, KIBI_IN_REGISTER int32_t plane_bytes,
                                             KIBI_IN_REGISTER int32_t tiles, KIBI_IN_REGISTER int32_t distance)
{
    __asm__ volatile(
        ".syntax unified\n"
        ".p2align 2\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "mov lr, r2\n"
        "ldrd r4, r12, [sp, #36]\n"
        "adr.w r2, 2f\n"
        "cmp r4, #3\n"
        "beq 1f\n"
        "adr.w r2, 3f\n"
        "1:\n" /* r2: where the second tile leads */
        "orr r2, r2, #1\n"
        "push {r2, r3}\n"
        "mov r4, r1\n"
        "add r5, r4, r12\n"
        "add r6, r5, r12\n"
        "add r7, r6, r12\n"
        "add r8, r7, r12\n"
        "add r9, r8, r12\n"
        "add r10, r9, r12\n"
        "add r11, r10, r12\n"
        "cmp r12, #0\n"
        "bne 4f\n"
        /* No distance: `from` is an array of pointers. */
        "ldm r1, {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "4:\n" /* the columns are known */
        "push {r4, r5, r6, r7, r8, r9, r10, r11}\n"
        "add r1, r0, r3\n"
        "add r2, r1, r3\n"
        "add r3, r2, r3\n"
        "mov r12, #0\n"
        "5:\n" /* the next four elements */
        KIBI_WINOGRAD_COLUMNS("0", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_COLUMNS("8", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_TILE(STORE, "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
        /* A tile begins two columns after the one before it: the registers of both that they share change roles. */
        KIBI_WINOGRAD_COLUMNS("16", "r4", "r5", "r6", "r7")
        KIBI_WINOGRAD_TILE(STORE, "r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7")
        "ldr pc, [sp, #32]\n"
        "2:\n" /* the third tile */
        KIBI_WINOGRAD_COLUMNS("24", "r8", "r9", "r10", "r11")
        KIBI_WINOGRAD_TILE(STORE, "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")
        "3:\n" /* two or three tiles are done */
        "add r12, r12, #4\n"
        "cmp r12, lr\n"
        "bne.w 5b\n"
        "add sp, sp, #40\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
