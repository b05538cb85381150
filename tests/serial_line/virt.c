/* The firmware of a user with QEMU's RISC-V board virt: its first instructions, and its serial port. */
#include <stdint.h>

#include "kibi_serial.h"

#define UART_DATA (*(volatile uint8_t *)0x10000000u)
#define UART_STATE (*(volatile uint8_t *)0x10000005u)
#define READ_FULL 0x01u
#define WRITE_EMPTY 0x20u

void firmware(void);
void main_loop(void);

int kibi_serial_get(void)
{
    while ((UART_STATE & READ_FULL) == 0u) {
    }
    return UART_DATA;
}

void kibi_serial_put(unsigned char byte)
{
    while ((UART_STATE & WRITE_EMPTY) == 0u) {
    }
    UART_DATA = byte;
}

void main_loop(void)
{
    for (;;) {
        kibi_serial_run();
    }
}

__attribute__((section(".vectors"), naked, used)) void firmware(void)
{
    __asm volatile("lui sp, 0x80800\n\tj main_loop");
}
