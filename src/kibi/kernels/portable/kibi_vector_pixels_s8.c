/* Outputs of one to three pixels of a convolution, portable. */
#include "kibi_vector_pixels_s8.h"

#include "kibi_requantize.h"

enum { FOUR = 4, SCALES = 9 };

/* The sum of a channel's products. */
static int32_t dot(int32_t sum, const int8_t *w, const int8_t *x, int32_t count)
{
    do {
        sum += *w++ * *x++;
    } while (--count != 0);
    return sum;
}

/* Up to four channels of a pixel: the window is read for all of them before the first output is written, which may be in its place. */
static void four(int8_t *output, const int8_t *w, const int8_t *x, const int32_t *scales, const kibi_vector_pixels *t)
{
    const int32_t channels = t->channels < FOUR ? t->channels : (int32_t)FOUR;
    int32_t sums[FOUR];
    for (int32_t i = 0; i < channels; ++i) {
        sums[i] = dot(scales[i == 1 ? 2 : i == 2 ? 1 : i], w + i * t->weight_step, x, t->elements);
    }
    const uint32_t shifts = (uint32_t)scales[8];
    for (int32_t i = 0; i < channels; ++i) {
        const int32_t scaled = kibi_requantize(sums[i], scales[FOUR + i], (int8_t)(uint8_t)(shifts >> 8 * i));
        output[i] = (int8_t)kibi_clamp(kibi_wrapping_add(scaled, t->zero_point), t->low[0], t->high[0]);
    }
}

/* All channels of a block. */
static void block(kibi_vector_pixels *task, int32_t pixels)
{
    const int8_t *w = task->weights;
    const int32_t *scales = task->scales;
    for (task->channels = task->all_channels; task->channels > 0; task->channels -= FOUR) {
        for (int32_t i = 0; i < pixels; ++i) {
            four(task->output + i * task->step, w, task->windows[i], scales, task);
        }
        w += FOUR * task->weight_step;
        scales += SCALES;
        task->output += FOUR;
    }
}

void kibi_vector_pixels_s8(kibi_vector_pixels *task, int32_t pixels)
{
    for (;;) {
        block(task, pixels);
        if (--task->blocks == 0) {
            return;
        }
        task->output += task->output_advance;
        for (int32_t i = 0; i < pixels; ++i) {
            task->windows[i] += task->advance;
        }
    }
}
