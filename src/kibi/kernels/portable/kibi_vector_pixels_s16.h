/* Outputs of one or three pixels of a convolution of int16, four channels at a time. */
#ifndef KIBI_VECTOR_PIXELS_S16_H
#define KIBI_VECTOR_PIXELS_S16_H

#include "kibi.h"

enum { KIBI_S16_BESIDE = 1, KIBI_MOST_S16_PIXELS = 3 }; /* channels whose weights are beside each other, and pixels */

/* What is computed; kernels in assembly know where each field is. */
typedef struct {
    const int16_t *const *rows;   /* the window's, at least one; NULL: all elements are outside */
    const int16_t *const *rows_end;
    int32_t place;                /* bytes from where a row begins to the first pixel's elements */
    int32_t step;                 /* bytes from there to the next pixel's */
    int32_t run;                  /* elements of a row of a window, which touch, at least 1 */
    int32_t skipped;              /* weights from the end of a row's run to the next row's */
    const int8_t *weights;        /* of the next four channels, from the first row's run on; changes */
    int32_t weight_step;          /* weights of a channel */
    const int32_t *scales;        /* [fours of channels][8]: biases of channels 0, 2, 1 and 3, and factors; changes */
    int16_t *output;              /* of the first pixel: of its next channel; changes */
    int32_t output_step;          /* bytes from an output to that of the next pixel */
    int32_t channels;             /* that are left, at least 1; changes */
    int32_t low;                  /* the bounds of outputs */
    int32_t high;
    const int16_t *const *row;    /* free to use */
} kibi_vector_pixels_s16_task;

/* Computes all channels of one pixel, or of three. Sums fit 32 bits; an output is a sum times a factor, divided by 2^32, to the nearest. Windows
 * are read before the last four channels are written. */
void kibi_vector_pixels_s16(kibi_vector_pixels_s16_task *task, int32_t pixels);

#endif
