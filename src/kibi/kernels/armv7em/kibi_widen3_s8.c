/* Bytes of three arrays as 16 bits each, side by side, Armv7E-M. */
#include "kibi_widen3_s8.h"

/* Parameters are read from their registers, which the compiler does not see. */
#define IN_REGISTER __attribute__((unused))

__attribute__((naked)) int16_t *kibi_widen3_s8(IN_REGISTER int16_t *to, IN_REGISTER const int8_t *a,
                                               IN_REGISTER const int8_t *b, IN_REGISTER const int8_t *c,
                                               IN_REGISTER int32_t count)
{
    __asm__ volatile(
        ".syntax unified\n"
        "ldr r12, [sp]\n"
        "push {r4, r5, r6, r7, r8, r9}\n"
        "add r12, r12, r1\n"
        "1:\n"
        "ldr r5, [r1], #4\n"
        "ldr r7, [r2], #4\n"
        "ldr r9, [r3], #4\n"
        "sxtb16 r4, r5\n"
        "sxtb16 r5, r5, ror #8\n"
        "sxtb16 r6, r7\n"
        "sxtb16 r7, r7, ror #8\n"
        "sxtb16 r8, r9\n"
        "sxtb16 r9, r9, ror #8\n"
        "stm r0!, {r4, r5, r6, r7, r8, r9}\n"
        "cmp r1, r12\n"
        "bne 1b\n"
        "pop {r4, r5, r6, r7, r8, r9}\n"
        "bx lr\n");
}
