/* Sums of two channels of two pixels over a piece of their windows, Armv7E-M: the same instructions from every compiler. */
#include "kibi_add_pieces_s8.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_add_pieces, sums, 0);
KIBI_FIELD_AT(kibi_add_pieces, sums_end, 4);
KIBI_FIELD_AT(kibi_add_pieces, windows, 8);
KIBI_FIELD_AT(kibi_add_pieces, windows_end, 12);
KIBI_FIELD_AT(kibi_add_pieces, filter, 16);
KIBI_FIELD_AT(kibi_add_pieces, skip, 20);

/* A word of weights times the even elements, then its second weights times the others. */
#define PRODUCTS(first, second)                                                             \
    "smlad r4, " first ", r8, r4\n smlad r5, " first ", r9, r5\n"                           \
    "smlad r6, " second ", r8, r6\n smlad r7, " second ", r9, r7\n"

/* Four elements of both pixels; every instruction has four bytes. */
#define GROUP                                                                               \
    "ldrd r8, r9, [r0], #8\n"                                                               \
    "ldm.w r1!, {r2, r3, r12, lr}\n"                                                        \
    PRODUCTS("r2", "r3")                                                                    \
    "sxtb16 r8, r8\n sxtb16 r9, r9\n"                                                       \
    PRODUCTS("r12", "lr")

/* Registers and stack:
 *   r0        the weights; before: task
 *   r1        the windows
 *   r2, r3    even elements; after a pair: its sums, bytes to skip
 *   r4 … r7   the sums, of both channels of each pixel in turn
 *   r8, r9    weights of both channels
 *   r10       where the windows end
 *   r11       where the loop is entered
 *   r12, lr   the other elements; after a pair: where the sums end
 *   sp + 0    the next sums
 *   sp + 4    where the sums end
 *   sp + 8    where the windows begin
 *   sp + 12   bytes to skip
 *   sp + 16   r4 … r11, lr of the caller
 * Stack: 52 bytes. */
KIBI_NAKED void kibi_add_pieces_s8(KIBI_IN_REGISTER const kibi_add_pieces *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #16\n"
        "ldm r0, {r4, r5, r6, r7, r8, r9}\n"
        "mov r10, r7\n"
        "mov r7, r9\n"
        "stm sp, {r4, r5, r6, r7}\n"
        "mov r0, r8\n"
        /* Four groups an iteration: the first one leaves out what is missing from the groups, of 16 bytes in the windows, to a multiple. */
        "subs r6, r6, r10\n"
        "ubfx r6, r6, #4, #2\n"
        "movs r7, #48\n"
        "adr.w r11, 2f\n"
        "mla r11, r6, r7, r11\n"
        /* Addresses that are branched to have the lowest bit set: Thumb. */
        "orr r11, r11, #1\n"
        "1:\n" /* the next pair of channels */
        "ldr r2, [sp]\n"
        "ldm r2, {r4, r5, r6, r7}\n"
        "ldr r1, [sp, #8]\n"
        "bx r11\n"
        ".p2align 2\n"
        "2:\n" /* four groups an iteration */
        ".rept 4\n" GROUP ".endr\n"
        "cmp r1, r10\n"
        "bne.w 2b\n"
        "ldrd r2, lr, [sp]\n"
        "ldr r3, [sp, #12]\n"
        "stm r2!, {r4, r5, r6, r7}\n"
        "add r0, r0, r3\n"
        "str r2, [sp]\n"
        "cmp r2, lr\n"
        "bne 1b\n"
        "add sp, sp, #16\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
