/* Sums of products of int8 and int4, portable: the halves of a factor are the weights of two channels, so one multiplication
 * serves both. */
#include "kibi_dot_int4_4x1_s8.h"

/* The weights of two channels in a word, 0 ... 15. */
#define HALVES 0x000F000Fu

/* Elements whose products fit a half with its sign: 16 * 15 * 128 is 30,720. */
enum { AT_ONCE = 16 };

/* Adds to the sums of two channels what the halves hold. A lower half below 0 has borrowed 1 from the upper one. */
static inline void add_halves(int32_t *sums, uint32_t both)
{
    const int32_t lower = (int32_t)(both << 16) >> 16;
    const int32_t upper = (int32_t)(both - (uint32_t)lower) >> 16;
    sums[0] = (int32_t)((uint32_t)sums[0] + (uint32_t)lower);
    sums[1] = (int32_t)((uint32_t)sums[1] + (uint32_t)upper);
}

void kibi_dot_int4_4x1_s8(int32_t sums[4], const int32_t *w, const int8_t *x, int32_t count)
{
    do {
        int32_t left = count < AT_ONCE ? count : (int32_t)AT_ONCE;
        uint32_t first = 0;
        uint32_t second = 0;
        count -= left;
        do {
            const uint32_t word = (uint32_t)*w++;
            const uint32_t x0 = (uint32_t)*x++;
            first += (word & HALVES) * x0;
            second += (word >> 8 & HALVES) * x0;
            if (left > 1) {
                const uint32_t x1 = (uint32_t)*x++;
                first += (word >> 4 & HALVES) * x1;
                second += (word >> 12 & HALVES) * x1;
            }
            left -= 2;
        } while (left > 0);
        add_halves(sums, first);
        add_halves(sums + 2, second);
    } while (count != 0);
}
