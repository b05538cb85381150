/* Eight output channels at once, of all elements of a vector or of those that are not zero, portable. */
#include "kibi_nonzero_sums_s8.h"

#include "kibi_requantize.h"

/* Takes the lowest 24 bits, with their sign, from a sum. */
static int32_t lowest(uint64_t *sum)
{
    const uint32_t low = (uint32_t)*sum & 0xFFFFFFu;
    const int32_t taken = (int32_t)low - (int32_t)(low >> 23 << 24);
    *sum -= (uint64_t)(int64_t)taken;
    return taken;
}

/* Both sums of four channels as those of each one. */
static void separate(int32_t channels[4], uint64_t first, uint64_t second)
{
    channels[2] = lowest(&second);
    channels[1] = (int32_t)(uint32_t)(second >> 24);
    first -= (uint64_t)(int64_t)channels[1] << 8;
    first -= (uint64_t)(int64_t)channels[2] << 16;
    channels[0] = lowest(&first);
    channels[3] = (int32_t)(uint32_t)(first >> 24);
}

/* Adds the products of an element to the sums of four channels. */
static void add_products(uint64_t sums[2], uint64_t weights, int32_t four, uint32_t value)
{
    const uint32_t word = (uint32_t)(weights >> 32 * four);
    sums[0] += (uint64_t)word * value;
    sums[1] += (uint64_t)((word << 16 & 0xFF000000u) | (word >> 16 & 0xFFu)) * value;
}

void kibi_nonzero_sums_s8(kibi_nonzero_sums *layer)
{
    const uint64_t more = (uint64_t)(int64_t)layer->more;
    const int64_t *filter = layer->filter;
    const int32_t *scale = layer->scales;
    int8_t *output = layer->output;
    for (int32_t block = 0; block < layer->blocks; ++block) {
        int32_t sums[KIBI_NONZERO_CHANNELS];
        for (int32_t four = 0; four < 2; ++four) {
            const uint64_t *weights = (const uint64_t *)filter + KIBI_NONZERO_SUMS;
            const uint8_t *x = layer->elements;
            uint64_t both[2];
            both[0] = (uint64_t)filter[2 * four] + more * 0x01010101u;
            both[1] = (uint64_t)filter[2 * four + 1] + more * 0x01000001u;
            if (layer->has_gaps != 0) {
                weights += x[0] / KIBI_NONZERO_STEP - 1;
                for (int32_t k = 0; k < layer->count; ++k) {
                    x += 2;
                    add_products(both, *weights, four, x[1]);
                    weights += (x[0] & (KIBI_NONZERO_LAST - 1)) / KIBI_NONZERO_STEP;
                }
            } else {
                for (int32_t k = 0; k < layer->count; ++k) {
                    add_products(both, weights[k], four, x[k]);
                }
            }
            separate(sums + 4 * four, both[0], both[1]);
        }
        for (int32_t o = 0; o < KIBI_NONZERO_CHANNELS; ++o) {
            const int32_t odd = o & 1;
            const int32_t value = kibi_requantize(sums[o], scale[1 + odd], ~((scale[0] >> 8 * odd) & 31));
            *output++ = (int8_t)kibi_clamp(value + (layer->rounding >> 1), INT8_MIN, INT8_MAX);
            scale += odd * (layer->scale_step / (int32_t)sizeof(int32_t));
        }
        filter += layer->block_bytes / (int32_t)sizeof(int64_t);
    }
}
