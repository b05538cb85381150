/* What a measured program has on a RISC-V board beside the model: the places where calls and traps end. A debugger sets breakpoints
   at both; without them, as after its end, the core stays there. */
#include <stdint.h>

void kibi_board_prepare(void);
void kibi_board_store(volatile uint32_t *place, uint32_t value);
void kibi_board_landing(void);
void kibi_board_fault(void);

/* No interrupt may run in the middle of an inference: what firmware has left enabled would count, and has no code any more. Floats
   are switched on where the core has them: the bits of their state are 0 elsewhere, whatever is written. */
void kibi_board_prepare(void)
{
    __asm volatile(".option push\n\t"
                   ".option arch, +zicsr\n\t"
                   "csrci mstatus, 8\n\t"
                   "csrw mie, zero\n\t"
                   "csrw mtvec, %0\n\t"
                   "csrs mstatus, %1\n\t"
                   ".option pop" ::"r"(kibi_board_fault),
                   "r"(0x6000)
                   : "memory");
}

/* Writes a register of the chip, which some servers do not write for a debugger. */
void kibi_board_store(volatile uint32_t *place, uint32_t value)
{
    *place = value;
    __asm volatile("fence" ::: "memory");
}

void kibi_board_landing(void)
{
    for (;;) {
        __asm volatile("nop");
    }
}

/* Controllers of interrupts such as CLIC want handlers at multiples of 64. */
__attribute__((aligned(64))) void kibi_board_fault(void)
{
    for (;;) {
        __asm volatile("");
    }
}
