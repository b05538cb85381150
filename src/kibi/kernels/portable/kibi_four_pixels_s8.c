/* Outputs of four pixels of a convolution whose windows are one vector, portable. */
#include "kibi_four_pixels_s8.h"

#include "kibi_requantize.h"

enum { PIXELS = 4, FOUR = 4, ELEMENTS = 16 };

/* The output of a channel from its weights and a window's elements. */
static int8_t output_of(const int8_t *w, const int8_t *x, const int32_t *factors)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < ELEMENTS; ++i) {
        sum += w[i] * x[i];
    }
    const int64_t product = (int64_t)kibi_wrapping_add(sum * 256, factors[0]) * factors[1];
    return (int8_t)kibi_clamp((int32_t)((product + ((int64_t)1 << 42)) >> 43), INT8_MIN, INT8_MAX);
}

void kibi_four_pixels_s8(kibi_four_pixels *task)
{
    const int32_t channels = FOUR * task->fours;
    for (int32_t block = 0; block < task->blocks; ++block) {
        int8_t x[PIXELS][ELEMENTS];
        for (int32_t i = 0; i < PIXELS; ++i) {
            for (int32_t j = 0; j < ELEMENTS; ++j) {
                x[i][j] = j < task->elements ? task->windows[i][j] : 0;
            }
        }
        for (int32_t i = 0; i < PIXELS; ++i) {
            int8_t *const to = task->outputs[i] + block * (channels + task->output_advance);
            for (int32_t channel = 0; channel < channels; ++channel) {
                to[channel] = output_of(task->weights + channel * ELEMENTS, x[i], task->factors + channel * 2);
            }
            if (block + 1 < task->blocks) {
                task->windows[i] += task->advance;
            }
        }
    }
}
