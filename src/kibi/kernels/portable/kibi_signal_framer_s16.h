/* SignalFramer: all at once. */
#ifndef KIBI_SIGNAL_FRAMER_S16_H
#define KIBI_SIGNAL_FRAMER_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t lines;
    int32_t frames;       /* of each line */
    int32_t size;         /* of a frame */
    int32_t step;         /* samples from one frame to the next */
    int32_t kept;         /* the most samples of a line that stay; less than size */
    int32_t valid_offset; /* byte of the output that says whether all frames are complete */
} kibi_signal_framer_s16_params;

/* output: [lines][frames][size] int16_t, and at valid_offset 8 bytes: 1, or 0 where a frame is not complete, which is 0 then;
 *     all others are 0; lies apart from the input, anywhere.
 * rows: a pointer to [frames][step] for each line.
 * scratch: none.
 * states: [lines][kept] int16_t, the samples that stay; int32_t, how many of each line there are. */
void kibi_signal_framer_s16(uint8_t *output, const int16_t *const *rows,
                            const kibi_signal_framer_s16_params *params, void *scratch, void *const *states);

#ifdef __cplusplus
}
#endif

#endif
