/* The measuring program's protocol on this machine: bytes come from standard input and go to standard output. */
#include <stdio.h>

#include "kibi_serial.h"
#include "kibi_serial_parts.h"

static uint64_t memory[8], stack[64];
static uint32_t ticks[100];
static const uint8_t digest[32] = {1, 2, 3};

static uintptr_t add(const uintptr_t *arguments)
{
    kibi_serial_operator(99, "", 1, 7u);
    kibi_serial_operator(100, "", 1, 7u); /* no such number */
    kibi_serial_operator(-1, "", 1, 7u);
    return arguments[0] + arguments[3];
}

static void dummy(void)
{
}

static void other(void)
{
}

static const kibi_serial_function both[] = {dummy, other};
static const kibi_serial_functions models[] = {{both, both, 1u}, {both, both + 1, 1u}};
const kibi_serial_program kibi_serial_model = {
    digest, models, 2u, 2u, (uint8_t *)memory, sizeof memory, (uint8_t *)stack, sizeof stack, ticks, 100u
};

int kibi_serial_count(void)
{
    return 1;
}

uint32_t kibi_serial_core(void)
{
    return 0x12345678u;
}

void kibi_serial_mask(void)
{
}

void kibi_serial_unmask(void)
{
}

uintptr_t kibi_serial_call(kibi_serial_function function, const uintptr_t *arguments, void *stack_end)
{
    ((uint8_t *)stack_end)[-24] = 0;
    return function == dummy ? add(arguments) : 0u;
}

int kibi_serial_get(void)
{
    return getchar();
}

void kibi_serial_put(unsigned char byte)
{
    (void)putchar(byte);
}

int main(void)
{
    (void)setvbuf(stdout, NULL, _IONBF, 0);
    kibi_serial_run();
    return 0;
}
