/* SignalFramer: all at once. */
#ifndef KIBI_SIGNAL_FRAMER_S16_H
#define KIBI_SIGNAL_FRAMER_S16_H

#include "kibi.h"

typedef struct {
    int32_t lines;
    int32_t frames; /* of each line */
    int32_t size;   /* of a frame */
    int32_t step;   /* samples from one frame to the next */
    int32_t kept;   /* the most samples of a line that stay; less than size */
} kibi_signal_framer_s16_params;

/* outputs: [lines][frames][size] int16_t, where a frame that is not complete is 0; uint8_t, 1 where all are complete, else 0. Neither
 *     overlaps the input.
 * rows: a pointer to [frames][step] for each line.
 * scratch: none.
 * states: [lines][kept] int16_t, the samples that stay; int32_t, how many of each line there are. */
void kibi_signal_framer_s16(void *const *outputs, const int16_t *const *rows,
                            const kibi_signal_framer_s16_params *params, void *scratch, void *const *states);

#endif
