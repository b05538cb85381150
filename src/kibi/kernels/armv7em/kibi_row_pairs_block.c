/* Four tiles of two by two pixels of a convolution by Winograd's F(2x2, 3x3), Armv7E-M. */
#include "kibi_row_pairs_block.h"

#include "kibi_dsp.h"

/* Where the assembly reads the fields. */
KIBI_FIELD_AT(kibi_row_pairs_task, planes, 0);
KIBI_FIELD_AT(kibi_row_pairs_task, row, 4);
KIBI_FIELD_AT(kibi_row_pairs_task, second, 8);
KIBI_FIELD_AT(kibi_row_pairs_task, third, 12);
KIBI_FIELD_AT(kibi_row_pairs_task, seventh, 16);
KIBI_FIELD_AT(kibi_row_pairs_task, rounding, 20);
KIBI_FIELD_AT(kibi_row_pairs_task, output, 24);
KIBI_FIELD_AT(kibi_row_pairs_task, end, 28);
KIBI_FIELD_AT(kibi_row_pairs_task, stream, 32);
KIBI_FIELD_AT(kibi_row_pairs_task, groups, 36);
KIBI_FIELD_AT(kibi_row_pairs_task, clamps, 40);
KIBI_FIELD_AT(kibi_row_pairs_task, low, 44);
KIBI_FIELD_AT(kibi_row_pairs_task, high, 48);

/* Every instruction of the products has four bytes, so that they can be entered at any group. r0: the stream, r1: a plane,
 * r4 … r11: the sums, of both channels of each tile in turn. */
#define TWO_TILES(a, b, c, d)                 \
    "ldrd r12, lr, [r1], #8\n"                \
    "smlad " a ", r12, r2, " a "\n"           \
    "smlad " b ", r12, r3, " b "\n"           \
    "smlad " c ", lr, r2, " c "\n"            \
    "smlad " d ", lr, r3, " d "\n"

/* The even or the odd elements of four, of all tiles. */
#define HALF_OF_FOUR                          \
    "ldrd r2, r3, [r0], #8\n"                 \
    TWO_TILES("r4", "r5", "r6", "r7")         \
    TWO_TILES("r8", "r9", "r10", "r11")

/* The code is short rather than straight: caches of a kilobyte hold most of it. What follows is a call each.
 * All products of a plane are added to the sums. */
#define PLANE "bl 20f\n"

/* The differences of kept sums and others, and then, in place of the kept ones, their sums. */
#define BOTH(place)                           \
    "add r12, sp, #" place "\n"               \
    "bl 40f\n"

#define BOTH_OF_TILE(first, second)           \
    "ldrd r2, r3, [r12]\n"                    \
    "sub " first ", r2, " first "\n"          \
    "sub " second ", r3, " second "\n"        \
    "rsb r2, " first ", r2, lsl #1\n"         \
    "rsb r3, " second ", r3, lsl #1\n"        \
    "strd r2, r3, [r12], #8\n"

/* Half of what r12 points to is added. */
#define ADD_HALVES "bl 41f\n"

#define ADD_HALVES_OF_TILE(first, second)     \
    "ldrd r2, r3, [r12], #8\n"                \
    "add " first ", " first ", r2, asr #1\n"  \
    "add " second ", " second ", r3, asr #1\n"

/* The sums are scaled, and stored from r2 on. */
#define FINISH "bl 30f\n"

#define KEEP(place)                           \
    "add r12, sp, #" place "\n"               \
    "stm r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n"

#define TAKE(place)                           \
    "add r12, sp, #" place "\n"               \
    "ldm r12, {r4, r5, r6, r7, r8, r9, r10, r11}\n"

#define FROM_ZERO TAKE("224")

/* Both channels of a tile, packed into the first one's register. */
#define REQUANTIZE_TILE(first, second)        \
    KIBI_THREE_WIDE_SCALE(first, "r2", "r1")  \
    KIBI_THREE_WIDE_SCALE(second, "r12", "lr") \
    "bfi " first ", " second ", #8, #8\n"

#define CUT(packed) KIBI_THREE_WIDE_CUT(packed, "r5", "r7")

/* Registers and stack:
 *   r0        the stream; before: task
 *   r1        the planes, one after another; while outputs are made: an exponent, an output
 *   r2, r3    weights; kept sums; a multiplier and rounding
 *   r4 … r11  the sums, of both channels of each tile in turn
 *   r12, lr   elements; where sums are kept; a multiplier and an exponent
 *   sp + 0    planes, row, second, third, seventh, rounding, output, end
 *   sp + 32   while outputs are made: the plane that is next, and where outputs go; before, of more than four groups: where the
 *             plane ends, and what follows it
 *   sp + 40   exponents
 *   sp + 48   what follows scaling's sums
 *   sp + 52   what follows the products of four groups
 *   sp + 56   of upper pixels that are made: where twice their sums are kept, and where they go
 *   sp + 64   kept sums: five times 32 bytes; then 32 zeros
 *   sp + 256  what begins a plane, and where its products begin
 *   sp + 264  bytes of a plane, and what follows the products of four groups where there are more
 *   sp + 272  multipliers
 *   sp + 280  what follows FINISH
 *   sp + 284  task
 *   sp + 288  r4 … r11, lr of the caller
 * Stack: 324 bytes. */
KIBI_NAKED void kibi_row_pairs_block(KIBI_IN_REGISTER const kibi_row_pairs_task *task)
{
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4, r5, r6, r7, r8, r9, r10, r11, lr}\n"
        "sub sp, sp, #288\n"
        "str r0, [sp, #284]\n"
        "ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8}\n"
        "stm sp, {r1, r2, r3, r4, r5, r6, r7, r8}\n"
        "ldm r0, {r0, r2, r3}\n"
        /* The last one of four groups is a plane's last: r5 is where the products begin, 88 bytes a group. */
        "rsb r4, r2, #0\n"
        "and r4, r4, #3\n"
        "mov r7, #88\n"
        "adr.w r5, 21f\n"
        "mla r5, r4, r7, r5\n"
        /* Addresses that are loaded to pc have the lowest bit set: Thumb. */
        "orr r5, r5, #1\n"
        "str r5, [sp, #260]\n"
        "lsl r6, r2, #5\n"
        "adr.w r7, 23f\n"
        "orr r7, r7, #1\n"
        "strd r6, r7, [sp, #264]\n"
        "cmp r2, #4\n"
        "ble 1f\n"
        "adr.w r5, 22f\n"
        "orr r5, r5, #1\n"
        "1:\n" /* r5: what begins a plane */
        "str r5, [sp, #256]\n"
        "adr.w r7, 33f\n"
        "cmp r3, #0\n"
        "beq 2f\n"
        "adr.w r7, 32f\n"
        "2:\n" /* r7: what follows scaling's sums */
        "orr r7, r7, #1\n"
        "str r7, [sp, #48]\n"
        "mov r4, #0\n"
        "mov r5, #0\n"
        "mov r6, #0\n"
        "mov r7, #0\n"
        "add r12, sp, #224\n"
        "stm r12!, {r4, r5, r6, r7}\n"
        "stm r12, {r4, r5, r6, r7}\n");
    /* With M the sums of products of planes, where the first number says which sum or difference of rows they are of, and the second
     * one which of columns, as in kibi_conv2d_s8_row_pairs_params, the sums for the four pixels of a tile are
     *   upper left   (M11 + M21 + M01 + M12 + M22 + M02) / 2 + M10 + M20 + M00
     *   lower left   (M11 - M21 + M31 + M12 - M22 + M32) / 2 + M10 - M20 + M30
     *   upper right  (M11 + M21 + M01 - M12 - M22 - M02) / 2 + M13 + M23 + M03
     *   lower right  (M11 - M21 + M31 - M12 + M22 - M32) / 2 + M13 - M23 + M33 */
    __asm__ volatile(
        "10:\n" /* the next pair of channels */
        "ldm r0!, {r4, r5, r6, r7, r8}\n"
        "strd r7, r8, [sp, #272]\n"
        "lsr r7, r6, #8\n"
        "strd r6, r7, [sp, #40]\n"
        "mov r6, r4\n"
        "mov r7, r5\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r4\n"
        "mov r11, r5\n"
        "ldr r1, [sp]\n"
        PLANE /* 11 */
        KEEP("64")
        FROM_ZERO
        PLANE /* 21 */
        BOTH("64")
        PLANE /* 31 */
        KEEP("96")
        TAKE("64")
        PLANE /* 01 */
        KEEP("64")
        FROM_ZERO
        PLANE /* 12 */
        KEEP("128")
        FROM_ZERO
        PLANE /* 22 */
        BOTH("128")
        PLANE /* 32 */
        BOTH("96")
        KEEP("160")
        TAKE("128")
        PLANE /* 02 */
        BOTH("64")
        KEEP("128")
        /* Kept: at 64 for the upper left, at 96 for the lower left, at 128 for the upper right, at 160 for the lower right. */
        "ldr r2, [sp, #8]\n"
        "ldr r3, [sp, #24]\n"
        "add r3, r3, r2\n"
        "add r2, sp, #128\n"
        "11:\n" /* the right pixels, then the left ones */
        "strd r2, r3, [sp, #56]\n"
        FROM_ZERO
        PLANE /* 13, 10 */
        KEEP("192")
        FROM_ZERO
        PLANE /* 23, 20 */
        BOTH("192")
        "ldr r12, [sp, #56]\n"
        "add r12, r12, #32\n"
        ADD_HALVES
        PLANE /* 33, 30 */
        "ldr r2, [sp, #60]\n"
        "ldr r3, [sp, #4]\n"
        "add r2, r2, r3\n"
        FINISH
        TAKE("192")
        "ldr r12, [sp, #56]\n"
        ADD_HALVES
        PLANE /* 03, 00 */
        "ldr r2, [sp, #60]\n"
        FINISH
        "ldr r2, [sp, #56]\n"
        "add r12, sp, #64\n"
        "ldr r3, [sp, #24]\n"
        "cmp r2, r12\n"
        "sub r2, r2, #64\n"
        "bne 11b\n"
        "ldr r2, [sp, #28]\n"
        "add r3, r3, #2\n"
        "str r3, [sp, #24]\n"
        "cmp r3, r2\n"
        "bne.w 10b\n"
        "add sp, sp, #288\n"
        "pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}\n");
    /* A plane; the next one begins where it ends. */
    __asm__ volatile(
        "20:\n" /* the products of a plane */
        "str lr, [sp, #52]\n"
        "ldr pc, [sp, #256]\n"
        "22:\n" /* of more than four groups */
        "ldrd r2, r3, [sp, #264]\n"
        "add r2, r1, r2\n"
        "strd r2, lr, [sp, #32]\n"
        "str r3, [sp, #52]\n"
        "ldr pc, [sp, #260]\n"
        "23:\n" /* four more, or the end */
        "ldr r2, [sp, #32]\n"
        "cmp r1, r2\n"
        "bne 21f\n"
        "ldr pc, [sp, #36]\n"
        ".p2align 2\n"
        "21:\n" /* four groups */
        ".rept 8\n"
        HALF_OF_FOUR
        ".endr\n"
        "ldr pc, [sp, #52]\n");
    __asm__ volatile(
        "40:\n" /* BOTH */
        BOTH_OF_TILE("r4", "r5")
        BOTH_OF_TILE("r6", "r7")
        BOTH_OF_TILE("r8", "r9")
        BOTH_OF_TILE("r10", "r11")
        "bx lr\n"
        "41:\n" /* ADD_HALVES */
        ADD_HALVES_OF_TILE("r4", "r5")
        ADD_HALVES_OF_TILE("r6", "r7")
        ADD_HALVES_OF_TILE("r8", "r9")
        ADD_HALVES_OF_TILE("r10", "r11")
        "bx lr\n");
    /* Exponents to r1 and lr, multipliers to r2 and r12, what is added to r3. */
    __asm__ volatile(
        "30:\n" /* FINISH */
        "strd r1, r2, [sp, #32]\n"
        "str lr, [sp, #280]\n"
        "ldrd r2, r12, [sp, #272]\n"
        "ldrd r1, lr, [sp, #40]\n"
        "ldr r3, [sp, #20]\n"
        REQUANTIZE_TILE("r10", "r11")
        REQUANTIZE_TILE("r8", "r9")
        REQUANTIZE_TILE("r4", "r5")
        REQUANTIZE_TILE("r6", "r7")
        "ldr pc, [sp, #48]\n"
        "32:\n" /* cut to the activation's range */
        "ldr r12, [sp, #284]\n"
        "ldrd r5, r7, [r12, #44]\n"
        CUT("r4")
        CUT("r6")
        CUT("r8")
        CUT("r10")
        "33:\n" /* store */
        "ldr r1, [sp, #36]\n"
        "ldrd r2, r3, [sp, #12]\n"
        "strh r10, [r1, r3]\n"
        "strh r8, [r1, r2, lsl #1]\n"
        "strh r6, [r1, r2]\n"
        "strh r4, [r1]\n"
        "ldr r1, [sp, #32]\n"
        "ldr pc, [sp, #280]\n");
}
