/* Products of int16 and weights of four channels, portable. */
#include "kibi_add_products_s16.h"

#include <string.h>

#include "kibi_dot_s16.h"

enum { FOUR = 4 };

void kibi_add_products_s16(char *sums, const kibi_products_s16 *task)
{
    for (int32_t channel = 0; channel < FOUR; ++channel) {
        char *const place = sums + (size_t)channel * sizeof(int64_t);
        int64_t sum;
        (void)memcpy(&sum, place, sizeof sum);
        sum = kibi_dot_s16(sum, task->weights + channel * task->depth, task->elements, (int32_t)(task->end - task->elements));
        (void)memcpy(place, &sum, sizeof sum);
    }
}
