/* PAD: each kernel computes one output row. */
#ifndef KIBI_PAD_H
#define KIBI_PAD_H

#include "kibi.h"

typedef struct {
    int32_t pieces;          /* pointers that hold the input row one after another */
    int32_t width;           /* columns in each piece */
    int32_t channels;        /* of the input */
    int32_t before_width;    /* columns added before the input's */
    int32_t after_width;     /* columns added after the input's */
    int32_t before_channels; /* channels added before the input's, in each of its columns */
    int32_t after_channels;  /* channels added after the input's, in each of its columns */
    float value;             /* of all that is added */
} kibi_pad_f32_params;

/* PAD of floats: one output row.
 * output: [before_width + pieces * width + after_width][before_channels + channels + after_channels]; may overlap an
 * input row where no column is written over one that is still to be read: they are written in order, each as if it had been
 * read before.
 * rows: pieces pointers to [width][channels]; a piece outside the input holds value.
 * scratch: none. */
void kibi_pad_f32(float *output, const float *const *rows, const kibi_pad_f32_params *params, void *scratch);

typedef struct {
    int32_t pieces;          /* pointers that hold the input row one after another */
    int32_t width;           /* columns in each piece */
    int32_t channels;        /* of the input */
    int32_t before_width;    /* columns added before the input's */
    int32_t after_width;     /* columns added after the input's */
    int32_t before_channels; /* channels added before the input's, in each of its columns */
    int32_t after_channels;  /* channels added after the input's, in each of its columns */
    int32_t value;           /* of all that is added, -128 ... 127 */
} kibi_pad_params;

/* Each of the following:
 * output: [before_width + pieces * width + after_width][before_channels + channels + after_channels]; may overlap an
 * input row where no column is written over one that is still to be read: they are written in order, each as if it had been
 * read before.
 * rows: pieces pointers to [width][channels]; a piece outside the input holds value.
 * scratch: none. */

/* PAD of int16: one output row. */
void kibi_pad_s16(int16_t *output, const int16_t *const *rows, const kibi_pad_params *params, void *scratch);

/* PAD of int32: one output row. */
void kibi_pad_s32(int32_t *output, const int32_t *const *rows, const kibi_pad_params *params, void *scratch);

/* PAD: one output row. */
void kibi_pad_s8(int8_t *output, const int8_t *const *rows, const kibi_pad_params *params, void *scratch);

#endif
