/* SIGNAL_OVERLAP_ADD: each kernel computes one output. */
#ifndef KIBI_SIGNAL_OVERLAP_ADD_H
#define KIBI_SIGNAL_OVERLAP_ADD_H

#include "kibi.h"

typedef struct {
    int32_t lines;
    int32_t frames; /* of each line */
    int32_t size;   /* of a frame */
    int32_t step;   /* 1 to size: elements from one frame to the next */
} kibi_signal_overlap_add_params;

/* SignalOverlapAdd of float: all at once.
 * output: [lines][frames][step]; does not overlap the input.
 * rows: a pointer to [size] for each frame of each line.
 * scratch: none.
 * states: [lines][size - step] float, what the last frames add to those to come. */
void kibi_signal_overlap_add_f32(float *output, const float *const *rows, const kibi_signal_overlap_add_params *params,
                                 void *scratch, void *const *states);

/* SignalOverlapAdd of int16: all at once.
 * output: [lines][frames][step]; does not overlap the input.
 * rows: a pointer to [size] for each frame of each line.
 * scratch: none.
 * states: [lines][size - step] int16_t, what the last frames add to those to come. */
void kibi_signal_overlap_add_s16(int16_t *output, const int16_t *const *rows,
                                 const kibi_signal_overlap_add_params *params, void *scratch, void *const *states);

#endif
