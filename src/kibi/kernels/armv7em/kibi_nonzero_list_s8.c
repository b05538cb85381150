/* The list of elements that are not zero, Armv7E-M. */
#include "kibi_nonzero_sums_s8.h"

#include "kibi_dsp.h"

/* The element in a byte of r4. */
#define LIST(byte)              \
    "adds r3, r3, #8\n"         \
    "uxtb r5, r4, ror #" byte "\n" \
    "cbz r5, 5f\n"              \
    "strb r3, [r0], #2\n"       \
    "movs r3, #0\n"             \
    "strb r5, [r0, #1]\n"       \
    "5:\n"

/* Registers:
 *   r0            the next pair
 *   r1, r2        the next word, words left
 *   r3            bytes from the last element's weights to those of this one
 *   r4, r5        four elements, one
 *   r12           list
 * A step is stored where the next element is found, which is stored in the next pair.
 * Stack: 16 bytes, the lowest word of which is count. */
KIBI_NAKED void kibi_nonzero_list_s8(KIBI_IN_REGISTER uint8_t *list, KIBI_IN_REGISTER const uint8_t *raised,
                                     KIBI_IN_REGISTER int32_t words, KIBI_IN_REGISTER int32_t *count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r3, r4, r5, lr}\n"
        "mov r12, r0\n"
        "movs r3, #0\n"
        "1:\n" /* the next word */
        "cmp r3, #96\n"
        "bhs 4f\n"
        "2:\n"
        "ldr r4, [r1], #4\n"
        LIST("0") LIST("8") LIST("16") LIST("24")
        "subs r2, r2, #1\n"
        "bne 1b\n"
        "cmp r0, r12\n"
        "itttt eq\n" /* all are zero: the first one is listed */
        "moveq r3, #8\n"
        "strheq r3, [r0], #2\n"
        "moveq r3, #0\n"
        "strbeq r3, [r0, #1]\n"
        "movs r5, #128\n"
        "strb r5, [r0], #2\n"
        "sub r0, r0, r12\n"
        "lsrs r0, r0, #1\n"
        "subs r0, r0, #1\n"
        "ldr r3, [sp]\n"
        "str r0, [r3]\n"
        "pop {r3, r4, r5, pc}\n"
        "4:\n" /* a step would be too long: the last element is listed */
        "strb r3, [r0], #2\n"
        "movs r3, #0\n"
        "strb r3, [r0, #1]\n"
        "b 2b\n");
}
