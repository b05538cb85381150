/* Outputs of one or three pixels of a convolution of int16, portable. */
#include "kibi_vector_pixels_s16.h"

#include "kibi_requantize.h"

enum { FOUR = 4 };

/* A sum, plus a channel's products with a window that is so many bytes after the first one; it wraps in between. */
static uint32_t add_window(uint32_t sum, const kibi_vector_pixels_s16_task *t, const int8_t *w, int32_t after)
{
    for (const int16_t *const *row = t->rows; row != t->rows_end; ++row) {
        if (*row != NULL) {
            const int16_t *const x = (const int16_t *)(const void *)((const char *)*row + t->place + after);
            for (int32_t k = 0; k < t->run; ++k) {
                sum += (uint32_t)(x[k] * w[k]);
            }
        }
        w += t->run + t->skipped;
    }
    return sum;
}

/* The output of a channel of the next four. */
static int16_t output_of(const kibi_vector_pixels_s16_task *t, int32_t o, int32_t after)
{
    const int32_t bias = t->scales[o == 1 ? 2 : o == 2 ? 1 : o];
    const uint32_t sum = add_window((uint32_t)bias, t, t->weights + o * t->weight_step, after);
    const int64_t product = (int64_t)(int32_t)sum * t->scales[FOUR + o];
    return (int16_t)kibi_clamp((int32_t)((product + ((int64_t)1 << 31)) >> 32), t->low, t->high);
}

void kibi_vector_pixels_s16(kibi_vector_pixels_s16_task *task, int32_t pixels)
{
    kibi_vector_pixels_s16_task *const t = task;
    for (; t->channels > 0; t->channels -= FOUR) {
        const int32_t channels = t->channels < FOUR ? t->channels : (int32_t)FOUR;
        int16_t made[KIBI_MOST_S16_PIXELS][FOUR];
        for (int32_t i = 0; i < pixels * channels; ++i) {
            made[i / channels][i % channels] = output_of(t, i % channels, i / channels * t->step);
        }
        for (int32_t i = 0; i < pixels * channels; ++i) {
            t->output[i / channels * (t->output_step / (int32_t)sizeof(int16_t)) + i % channels] = made[i / channels][i % channels];
        }
        t->weights += FOUR * t->weight_step;
        t->scales += 2 * FOUR;
        t->output += FOUR;
    }
}
