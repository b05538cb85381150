/* Functions that do what no kernel does. */
#include <stddef.h>
#include <stdint.h>

extern int sum(const uint8_t *bytes, int count);
extern void put(uint8_t *to, int index, int value);
extern void spin(void);
extern int deep(int depth, int bytes);
extern int take_four(int a, int b, int c, int d);
extern void *same(void *address);

static volatile int never;

int sum(const uint8_t *bytes, int count)
{
    int total = 0;
    for (int i = 0; i < count; ++i) {
        total += bytes[i];
    }
    return total;
}

void put(uint8_t *to, int index, int value)
{
    to[index] = (uint8_t)value;
}

void spin(void)
{
    while (never == 0) {
    }
}

int deep(int depth, int bytes)
{
    volatile uint8_t room[4096];
    room[0] = (uint8_t)depth;
    room[(size_t)bytes & 4095u] = 1;
    return depth <= 0 ? room[0] : deep(depth - 1, bytes) + room[0];
}

int take_four(int a, int b, int c, int d)
{
    return a - 2 * b + 3 * c - 4 * d;
}

void *same(void *address)
{
    return address;
}
