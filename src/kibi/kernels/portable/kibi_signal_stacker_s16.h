/* SignalStacker: all at once. */
#ifndef KIBI_SIGNAL_STACKER_S16_H
#define KIBI_SIGNAL_STACKER_S16_H

#include "kibi.h"

typedef struct {
    int32_t channels; /* of a frame */
    int32_t left;     /* copies of the first frame that come before it */
    int32_t kept;     /* the most frames that stay; one less than a stack has */
    int32_t step;     /* frames from one stack to the next; 1 to kept + 1 */
} kibi_signal_stacker_s16_params;

/* outputs: [kept + 1][channels] int16_t, 0 where the stack is not complete; uint8_t, 1 where it is, else 0. Neither
 *     overlaps the input.
 * rows: one pointer to [channels].
 * scratch: none.
 * states: [kept][channels] int16_t, the frames that stay; int32_t, how many there are, -1 before the first inference. */
void kibi_signal_stacker_s16(void *const *outputs, const int16_t *const *rows,
                             const kibi_signal_stacker_s16_params *params, void *scratch, void *const *states);

#endif
