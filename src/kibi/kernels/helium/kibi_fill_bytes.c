/* Bytes of one value, Armv8.1-M with MVE: sixteen at a time. */
#include "kibi_fill_bytes.h"

#include "kibi_assembly.h"

#if !defined(__ARM_FEATURE_MVE) || !defined(__thumb2__)
#error "this file is for cores with MVE"
#endif

/* Registers and stack:
 *   r0       to
 *   r1       value; then lr of the caller
 *   lr       bytes left
 * Stack: 0 bytes. */
KIBI_NAKED void kibi_fill_bytes(KIBI_IN_REGISTER int8_t *to, KIBI_IN_REGISTER int32_t value, KIBI_IN_REGISTER int32_t bytes)
{
    __asm__ volatile(
        ".syntax unified\n"
        "vdup.8 q0, r1\n"
        "mov r1, lr\n"
        "dlstp.8 lr, r2\n"
        "1:\n"
        "vstrb.8 q0, [r0], #16\n"
        "letp lr, 1b\n"
        "bx r1\n");
}
