/* All output channels of a block of pixels, portable: halves are taken out of their words, and multiplied one by one. */
#include "kibi_halves_channels_s8.h"

#include "kibi_add_product.h"
#include "kibi_requantize.h"

enum { MOST_PIXELS = 6, GROUP = 4 };

/* An element of a group, of a pixel of the block. */
static inline int32_t element(const uint32_t *group, int32_t pixel, int32_t place)
{
    const uint32_t word = group[pixel / 2 * GROUP + place];
    const int32_t first = (int16_t)(word & 0xFFFFu);
    return pixel % 2 == 0 ? first : (int16_t)((word - (uint32_t)first) >> 16);
}

/* The products of a channel with all pixels. */
static void add_products(int32_t *sums, const int8_t *w, const kibi_halves_block *b)
{
    const int32_t slots = (b->pixels + 1) / 2;
    for (int32_t i = 0; 2 * i < b->filter_bytes; ++i) {
        const uint32_t *const group = b->words + i / GROUP * GROUP * slots;
        for (int32_t pixel = 0; pixel < b->pixels; ++pixel) {
            sums[pixel] = kibi_add_product(sums[pixel], element(group, pixel, i % GROUP), w[2 * i]);
        }
    }
}

/* The outputs of a channel. */
static void finish(const int32_t *sums, kibi_halves_block *b)
{
    const int32_t multiplier = *b->multiplier++;
    const int32_t shift = *b->shift++;
    int8_t *to = b->output++ - b->last;
    for (int32_t pixel = 0; pixel < b->pixels; ++pixel) {
        const int32_t scaled = kibi_requantize(sums[pixel], multiplier, shift);
        *to = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, (b->rounding - 1) / 2), b->low, b->high);
        to += b->output_channels;
    }
}

void kibi_halves_channels_s8(kibi_halves_block *block)
{
    kibi_halves_block *const b = block;
    const int32_t slots = (b->pixels + 1) / 2;
    int32_t channel = 0;
    do {
        int32_t sums[MOST_PIXELS];
        uint32_t *const kept = b->sums_step == 0 ? NULL : b->sums + 2 * slots * channel;
        for (int32_t pixel = 0; pixel < b->pixels; ++pixel) {
            sums[pixel] = b->bias != NULL ? b->bias[channel] : (int32_t)kept[pixel];
        }
        add_products(sums, b->filter + channel, b);
        for (int32_t pixel = 0; kept != NULL && pixel < b->pixels; ++pixel) {
            kept[pixel] = (uint32_t)sums[pixel];
        }
        if (b->finishes != 0) {
            finish(sums, b);
        }
        if (channel == 1) {
            b->filter += b->filter_step;
            b->bias = b->bias == NULL ? NULL : b->bias + 2;
            b->sums = kept == NULL ? NULL : b->sums + b->sums_step / (int32_t)sizeof(uint32_t);
        }
        channel = 1 - channel;
    } while (--b->channels != 0);
}
