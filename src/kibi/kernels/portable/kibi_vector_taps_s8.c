/* Outputs of neighbouring pixels of a depthwise convolution three by three, portable. */
#include "kibi_vector_taps_s8.h"

#include "kibi_requantize.h"

/* One of the bytes of words, of which the first has the lowest ones. */
static int32_t byte_of(const int32_t *words, int32_t place)
{
    return (int8_t)(uint8_t)((uint32_t)words[place / 4] >> 8 * (place % 4));
}

/* The sum of the products of the channel at a place of a block. */
static int32_t sum_of(const kibi_vector_taps *t, const int32_t *weights, int32_t place, int32_t at)
{
    int32_t sum = 0;
    for (int32_t tap = 0; tap < KIBI_VECTOR_TAPS; ++tap) {
        sum += byte_of(weights, tap * KIBI_VECTOR_LANES + place) * t->taps[tap][at];
    }
    return sum;
}

/* The output of the channel at a place of a block, whose elements are at a distance from those of the first pixel's first one. */
static int8_t rounded_twice(const kibi_vector_taps *t, const int32_t *block, int32_t place, int32_t at)
{
    const int32_t *const weights = block + KIBI_VECTOR_BIASES;
    const int32_t *const scales = weights + KIBI_VECTOR_WEIGHTS + place % 4 * (KIBI_VECTOR_SCALES / 4);
    const int32_t sum = block[place % 4 * 4 + place / 4] + sum_of(t, weights, place, at);
    const int32_t scaled = kibi_requantize(sum, scales[place / 4], byte_of(scales + 4, place / 4));
    return (int8_t)kibi_clamp(kibi_wrapping_add(scaled, t->zero_point), t->low[0], t->high[0]);
}

/* The same by one product. */
static int8_t rounded_once(const kibi_vector_taps *t, const int32_t *block, int32_t place, int32_t at)
{
    const int32_t *const weights = block + KIBI_VECTOR_BIASES;
    const int32_t column = place % 4 * 4 + place / 4;
    const int32_t sum = kibi_wrapping_add(sum_of(t, weights, place, at) * 256, block[column]);
    const int64_t product = (int64_t)sum * weights[KIBI_VECTOR_WEIGHTS + column];
    return (int8_t)kibi_clamp((int32_t)((product + ((int64_t)1 << 42)) >> 43), INT8_MIN, INT8_MAX);
}

void kibi_vector_taps_s8(kibi_vector_taps *task, int32_t rounds_once)
{
    const kibi_vector_taps *const t = task;
    const int32_t block_words = rounds_once != 0 ? KIBI_VECTOR_BLOCK_ONCE : KIBI_VECTOR_BLOCK;
    const int32_t whole = (t->channels + KIBI_VECTOR_LANES - 1) / KIBI_VECTOR_LANES * KIBI_VECTOR_LANES;
    int8_t *output = t->output;
    for (int32_t pixel = 0; pixel < t->pixels; ++pixel) {
        for (int32_t channel = 0; channel < t->channels; ++channel) {
            const int32_t *const block = t->constants + channel / KIBI_VECTOR_LANES * block_words;
            const int32_t place = channel % KIBI_VECTOR_LANES;
            const int32_t at = pixel * (whole + t->advance) + channel;
            output[channel] = rounds_once != 0 ? rounded_once(t, block, place, at) : rounded_twice(t, block, place, at);
        }
        output += whole + t->output_advance;
    }
}
