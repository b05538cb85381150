/* What a measured program has on a board beside the model: vectors, and the places where calls and faults end. A debugger sets
   breakpoints at both; without them, as after its end, the core stays there. */
#include <stdint.h>

#define KIBI_VECTORS 16

extern uint32_t kibi_ram_start[]; /* the linker's: where variables begin, and the stack ends */

void kibi_board_prepare(void);
void kibi_board_store(volatile uint32_t *place, uint32_t value);
void kibi_board_landing(void);
void kibi_board_fault(void);

typedef union {
    uint32_t *stack;
    void (*handler)(void);
} kibi_vector;

__attribute__((section(".vectors"), used)) const kibi_vector kibi_board_vectors[KIBI_VECTORS] = {
    {.stack = kibi_ram_start},
    {.handler = kibi_board_landing},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
    {.handler = kibi_board_fault},
};

/* No interrupt may run in the middle of an inference: what firmware has left enabled would count, and has no code any more. */
void kibi_board_prepare(void)
{
    __asm volatile("cpsid i" ::: "memory");
}

/* Writes a register of the core, which some servers do not write for a debugger. */
void kibi_board_store(volatile uint32_t *place, uint32_t value)
{
    *place = value;
    __asm volatile("dsb\n\tisb" ::: "memory");
}

void kibi_board_landing(void)
{
    for (;;) {
        __asm volatile("nop");
    }
}

void kibi_board_fault(void)
{
    for (;;) {
        __asm volatile("");
    }
}
