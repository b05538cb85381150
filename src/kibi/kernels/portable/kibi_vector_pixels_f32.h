/* Outputs of one or three pixels of a convolution of floats, four channels at a time. */
#ifndef KIBI_VECTOR_PIXELS_F32_H
#define KIBI_VECTOR_PIXELS_F32_H

#include "kibi_float.h"

enum { KIBI_F32_LANES = 4, KIBI_MOST_F32_PIXELS = 3 };

/* What is computed; kernels in assembly know where each field is. */
typedef struct {
    const float *const *rows;     /* the window's, at least one; NULL: all elements are outside */
    const float *const *rows_end;
    int32_t place;                /* bytes from where a row begins to the first pixel's elements */
    int32_t step;                 /* bytes from there to the next pixel's */
    int32_t run;                  /* elements of a row of a window, which touch, at least 1 */
    int32_t skipped;              /* bytes of weights from the end of a row's run to the next row's */
    const float *weights;         /* of the next four channels: [elements][4], from the first row's run on; changes */
    int32_t weight_step;          /* bytes from there to those of four channels more */
    const float *bias;            /* [channels, filled up to fours]; changes */
    float *output;                /* of the first pixel: of its next channel; changes */
    int32_t output_step;          /* bytes from an output to that of the next pixel */
    int32_t channels;             /* that are left, at least 1; changes */
    float low;                    /* the bounds of outputs */
    float high;
} kibi_vector_pixels_f32_task;

/* Computes all channels of one pixel, or of three: each product and each sum is rounded, and sums are in the order of the elements. Windows
 * are read before the last four channels are written. */
void kibi_vector_pixels_f32(kibi_vector_pixels_f32_task *task, int32_t pixels);

/* The sum of a channel's products with a window that is so many bytes after the first one. */
static inline float kibi_sum_of_window(const kibi_vector_pixels_f32_task *t, int32_t channel, int32_t after)
{
    const char *w = (const char *)(t->weights + channel);
    float sum = 0.0f;
    for (const float *const *row = t->rows; row != t->rows_end; ++row) {
        if (*row != NULL) {
            const float *const x = (const float *)(const void *)((const char *)*row + t->place + after);
            for (int32_t k = 0; k < t->run; ++k) {
                sum += x[k] * ((const float *)(const void *)w)[KIBI_F32_LANES * k];
            }
        }
        w += KIBI_F32_LANES * t->run * (int32_t)sizeof(float) + t->skipped;
    }
    return sum;
}

/* Computes up to four channels of so many pixels, and goes on to the next ones. */
static inline void kibi_four_channels_f32(kibi_vector_pixels_f32_task *t, int32_t pixels)
{
    const int32_t channels = t->channels < KIBI_F32_LANES ? t->channels : (int32_t)KIBI_F32_LANES;
    float made[KIBI_MOST_F32_PIXELS][KIBI_F32_LANES];
    char *to = (char *)t->output;
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        for (int32_t o = 0; o < channels; ++o) {
            made[pixel][o] = kibi_clamp_f32(kibi_sum_of_window(t, o, pixel * t->step) + t->bias[o], t->low, t->high);
        }
    }
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        for (int32_t o = 0; o < channels; ++o) {
            ((float *)(void *)to)[o] = made[pixel][o];
        }
        to += t->output_step;
    }
    t->output += KIBI_F32_LANES;
    t->bias += KIBI_F32_LANES;
    t->weights = (const float *)(const void *)((const char *)t->weights + t->weight_step);
    t->channels -= KIBI_F32_LANES;
}

#endif
