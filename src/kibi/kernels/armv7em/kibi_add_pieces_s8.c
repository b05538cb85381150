/* Sums of two channels of two pixels over a piece of their windows, Armv7E-M: the same instructions from every compiler. */
#include "kibi_add_pieces_s8.h"

#include "kibi_conv2d_s8_pixels.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_add_pieces, windows, 0);
KIBI_FIELD_AT(kibi_add_pieces, filter, 4);
KIBI_FIELD_AT(kibi_add_pieces, sums, 8);
KIBI_FIELD_AT(kibi_add_pieces, windows_end, 12);
KIBI_FIELD_AT(kibi_add_pieces, sums_end, 16);

/* Two groups of four elements: 23 instructions of four bytes. */
#define TWO_GROUPS "92"

/* Loads the weights of a second group, and goes to it, so many times two groups before the last one. */
#define ENTER_SECOND(before) "ldrd r10, r11, [r0], #8\n b.w 17b - " before " * " TWO_GROUPS "\n"

/* Registers and stack:
 *   r0         the weights; before: task
 *   r1         the windows; before: where the loop is entered
 *   r2, r3     even elements; after an iteration: r2: where the sums end
 *   r4 … r7    the sums, of both channels of each pixel in turn
 *   r8 … r11   weights of both channels, of two groups; before and after a pair: r8: its sums
 *   r12, lr    the other elements; after an iteration: r12: where the windows end
 *   sp + 0     where the windows begin
 *   sp + 4     where the loop is entered
 *   sp + 8     the next sums
 *   sp + 12    where the windows end
 *   sp + 16    where the sums end
 *   sp + 20    r4 … r11, lr of the caller
 * Stack: 56 bytes. */
KIBI_NAKED void kibi_add_pieces_s8(KIBI_IN_REGISTER const kibi_add_pieces *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #20\n"
        "ldm r0, {r6, r7, r8, r9, r10}\n"
        "mov r0, r7\n"
        /* Eight groups an iteration: the first one leaves out what is missing from the groups, of 16 bytes in the windows, to a multiple. */
        "subs r4, r6, r9\n"
        "ubfx r4, r4, #4, #3\n"
        KIBI_ENTER_SECOND_STEPS(TWO_GROUPS)
        /* Addresses that are loaded to pc have the lowest bit set: Thumb. */
        "orr r7, r4, #1\n"
        "stm sp, {r6, r7, r8, r9, r10}\n"
        "1:\n" /* the next pair of channels */
        "ldm r8, {r4, r5, r6, r7}\n"
        "ldm sp, {r1, pc}\n" /* the windows, and to the loop */
        ".p2align 2\n"
        "11:\n" /* eight groups an iteration */
        ".rept 4\n"
        "ldm r0!, {r8, r9, r10, r11}\n" KIBI_GROUP_OF_2("r8", "r9")
        "17:\n" KIBI_GROUP_OF_2("r10", "r11")
        ".endr\n"
        "ldrd r12, r2, [sp, #12]\n"
        "cmp r1, r12\n"
        "bne.w 11b\n"
        "ldr r8, [sp, #8]\n"
        "stm r8!, {r4, r5, r6, r7}\n"
        "str r8, [sp, #8]\n"
        "cmp r8, r2\n"
        "bne.w 1b\n"
        "add sp, sp, #20\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n"
        /* The loop is entered at a second group: for each pair of groups its weights are loaded before. */
        ".p2align 2\n"
        "16:\n"
        ENTER_SECOND("3") ENTER_SECOND("2") ENTER_SECOND("1") ENTER_SECOND("0"));
}
