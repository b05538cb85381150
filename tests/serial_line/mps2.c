/* The firmware of a user with QEMU's board mps2-an385: vectors, and its serial port. */
#include <stdint.h>

#include "kibi_serial.h"

#define UART_DATA (*(volatile uint32_t *)0x40004000u)
#define UART_STATE (*(volatile uint32_t *)0x40004004u)
#define UART_CONTROL (*(volatile uint32_t *)0x40004008u)
#define UART_DIVIDER (*(volatile uint32_t *)0x40004010u)
#define WRITE_FULL 1u
#define READ_FULL 2u

void firmware(void);

#ifndef SEMIHOSTING
int kibi_serial_get(void)
{
    while ((UART_STATE & READ_FULL) == 0u) {
    }
    return (int)(UART_DATA & 0xffu);
}

void kibi_serial_put(unsigned char byte)
{
    while ((UART_STATE & WRITE_FULL) != 0u) {
    }
    UART_DATA = byte;
}
#endif

void firmware(void)
{
    UART_DIVIDER = 16u;
    UART_CONTROL = 3u;
    for (;;) {
        kibi_serial_run();
    }
}

typedef union {
    uintptr_t stack;
    void (*handler)(void);
} vector;

__attribute__((section(".vectors"), used)) const vector vectors[2] = {{.stack = 0x20400000u}, {.handler = firmware}};
