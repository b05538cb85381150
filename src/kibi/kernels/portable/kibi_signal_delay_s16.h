/* SignalDelay: all at once. */
#ifndef KIBI_SIGNAL_DELAY_S16_H
#define KIBI_SIGNAL_DELAY_S16_H

#include "kibi.h"

typedef struct {
    int32_t lines;
    int32_t size;  /* samples of a line */
    int32_t delay; /* in samples */
} kibi_signal_delay_s16_params;

/* output: [lines][size]; does not overlap the input.
 * rows: a pointer to [size] for each line.
 * scratch: none.
 * states: [lines][delay] int16_t, the samples that are still to come. */
void kibi_signal_delay_s16(int16_t *output, const int16_t *const *rows,
                           const kibi_signal_delay_s16_params *params, void *scratch, void *const *states);

#endif
