/* Products of int16 and weights of four channels, for cores with the DSP extension. */
#include "kibi_add_products_s16.h"

#include "kibi_dsp.h"

KIBI_FIELD_AT(kibi_products_s16, weights, 0);
KIBI_FIELD_AT(kibi_products_s16, elements, 4);
KIBI_FIELD_AT(kibi_products_s16, end, 8);
KIBI_FIELD_AT(kibi_products_s16, depth, 12);

/* The products of four elements and their weights of one channel, which are at an address, added to a sum. */
#define CHANNEL(address, sum)               \
    "ldr r10, " address "\n"                \
    "sxtb16 r11, r10\n"                     \
    "sxtb16 r10, r10, ror #8\n"             \
    "smlad " sum ", r11, r8, " sum "\n"     \
    "smlad " sum ", r10, r9, " sum "\n"

/* A channel's sum of 64 bits, in words, plus that of products. */
#define ADD_TO(place, sum)                  \
    "ldrd r8, r9, [r0, #" place "]\n"       \
    "adds r8, r8, " sum "\n"                \
    "adc r9, r9, " sum ", asr #31\n"        \
    "strd r8, r9, [r0, #" place "]\n"

/* Registers and stack:
 *   r0         the weights of four elements; before and after: sums
 *   r1, r2     elements, end; before r1: task
 *   r3, r12    depth, three times depth
 *   r4 … r7    the sums of products
 *   r8, r9     elements 0 and 2, 1 and 3; then a sum
 *   r10, r11   weights
 *   lr         elements 2 and 3
 *   sp + 0     sums
 *   sp + 4     r4 … r11, lr of the caller
 * Stack: 40 bytes. */
KIBI_NAKED void kibi_add_products_s16(KIBI_IN_REGISTER char *sums, KIBI_IN_REGISTER const kibi_products_s16 *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r1, {r0, r1, r2, r3}\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "movs r6, #0\n"
        "movs r7, #0\n"
        "add r12, r3, r3, lsl #1\n"
        "1:\n" /* four elements */
        "ldr lr, [r1, #4]\n"
        "ldr r9, [r1], #8\n"
        "pkhbt r8, r9, lr, lsl #16\n"
        "pkhtb r9, lr, r9, asr #16\n"
        CHANNEL("[r0, r12]", "r7")
        CHANNEL("[r0, r3, lsl #1]", "r6")
        CHANNEL("[r0, r3]", "r5")
        CHANNEL("[r0], #4", "r4")
        "cmp r1, r2\n"
        "bne 1b\n"
        "pop {r0}\n"
        ADD_TO("0", "r4")
        ADD_TO("8", "r5")
        ADD_TO("16", "r6")
        ADD_TO("24", "r7")
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
