/* Outputs of two channels of two pixels, Armv7E-M: the same instructions from every compiler. */
#include "kibi_finish_pieces_s8.h"

#include "kibi_conv2d_s8_pixels.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_finish_pieces, zero_point, 0);
KIBI_FIELD_AT(kibi_finish_pieces, channels, 4);
KIBI_FIELD_AT(kibi_finish_pieces, output, 8);
KIBI_FIELD_AT(kibi_finish_pieces, second, 12);
KIBI_FIELD_AT(kibi_finish_pieces, sums, 16);
KIBI_FIELD_AT(kibi_finish_pieces, sums_end, 20);
KIBI_FIELD_AT(kibi_finish_pieces, rounds_once, 24);
KIBI_FIELD_AT(kibi_finish_pieces, low, 28);
KIBI_FIELD_AT(kibi_finish_pieces, high, 32);

#if KIBI_CONV2D_PIECES_ROUNDED_ONCE
#define FINISH_ONCE KIBI_FINISH_PIXEL_ONCE("r4", "r5") KIBI_FINISH_PIXEL_ONCE("r6", "r7")
#else
#define FINISH_ONCE ""
#endif
/* Exponents are in the lowest bytes of sums; powers go to r2 and r3. */
#define FINISH_TWICE                                 \
    "mov r3, #0x80000000\n"                          \
    "asr r2, r3, r4\n"                               \
    "asr r3, r3, r5\n"                               \
    KIBI_FINISH_PIXEL("r4", "r5") KIBI_FINISH_PIXEL("r6", "r7")
#if KIBI_CONV2D_PIECES_ROUNDED_ONCE && KIBI_CONV2D_PIECES_ROUNDED_TWICE
#define FINISH                                       \
    "ldr r2, [r0, #24]\n"                            \
    "cbz r2, 2f\n"                                   \
    FINISH_ONCE                                      \
    "b 3f\n"                                         \
    "2:\n" /* rounded twice */                       \
    FINISH_TWICE                                     \
    "3:\n" /* both pixels, in r4 and r6 */
#elif KIBI_CONV2D_PIECES_ROUNDED_ONCE
#define FINISH FINISH_ONCE
#else
#define FINISH FINISH_TWICE
#endif
#if KIBI_CONV2D_PIECES_OF_CLAMPS
#define CUT                                          \
    "ldrd r12, lr, [r0, #28]\n"                      \
    KIBI_CUT_PIXEL("r4") KIBI_CUT_PIXEL("r6")        \
    "ldr r1, [r0]\n"
#else
#define CUT ""
#endif

/* Registers and stack:
 *   r0        task
 *   r1        zero_point; while outputs are cut, free
 *   r2, r3    powers; then where the sums end
 *   r4 … r7   the sums, of both channels of each pixel in turn
 *   r8        8 bytes after a pair's constants begin: its multipliers or factors
 *   r9, r10   the first pixel's output, and bytes to the second pixel's
 *   r11       the next sums
 *   r12, lr   multipliers or factors; then low and high
 *   sp + 0    r4 … r11, lr of the caller
 * Stack: 36 bytes. */
KIBI_NAKED void kibi_finish_pieces_s8(KIBI_IN_REGISTER const kibi_finish_pieces *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "ldm r0, {r1, r8, r9, r10, r11}\n"
        "add r8, r8, #8\n"
        "1:\n" /* the next pair of channels */
        "ldm r11!, {r4, r5, r6, r7}\n"
        "ldrd r12, lr, [r8], #16\n"
        FINISH
        CUT
        "strh r6, [r9, r10]\n"
        "strh r4, [r9], #2\n"
        "ldr r2, [r0, #20]\n"
        "cmp r11, r2\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
}
