/* RESHAPE, int8, Armv7E-M: the pieces of an output row, one after another. */
#include "kibi_copy.h"

/* Shorter than to call memmove, which is large. Each step reads before it writes, from the end that the other does not reach
 * first. */
static inline void move(int8_t *to, const int8_t *from, int32_t count)
{
    int32_t step = 1;
    if (to == from) { /* a plan has put both into the same bytes */
        return;
    }
    if (to > from) {
        to += count - 1;
        from += count - 1;
        step = -1;
    }
    for (; count != 0; --count) {
        *to = *from;
        to += step;
        from += step;
        __asm__ volatile(""); /* else the compiler finds memmove again */
    }
}

void kibi_copy_s8(int8_t *output, const int8_t *const *rows, const kibi_copy_params *params, void *scratch)
{
    (void)scratch;
    for (int32_t piece = 0; piece < params->pieces; ++piece) {
        move(output, rows[piece], params->elements);
        output += params->elements;
    }
}
