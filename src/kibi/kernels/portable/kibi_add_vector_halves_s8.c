/* Sums of products of int8 from words of two channels and two elements, portable: what the words mean. */
#include "kibi_add_vector_halves_s8.h"

/* The weight in a byte of a word. */
static inline uint32_t weight_at(uint32_t word, int32_t bit)
{
    return (word >> bit & 0xFFu) - 128u;
}

void kibi_add_vector_halves_s8(uint32_t sums[8], const int32_t *w, const int8_t *x, int32_t steps, uint32_t flags,
                               const int32_t *bias)
{
    (void)flags;
    for (int32_t channel = 0; channel < 8; ++channel) {
        sums[channel] = bias != NULL ? (uint32_t)bias[channel] : sums[channel];
    }
    for (int32_t step = 0; step < steps; ++step) {
        const uint32_t first = (uint32_t)(int32_t)*x++;
        const uint32_t second = (uint32_t)(int32_t)*x++;
        for (int32_t channel = 0; channel < 8; channel += 2) {
            const uint32_t word = (uint32_t)*w++;
            sums[channel] += weight_at(word, 0) * first + weight_at(word, 8) * second;
            sums[channel + 1] += weight_at(word, 16) * first + weight_at(word, 24) * second;
        }
    }
}
