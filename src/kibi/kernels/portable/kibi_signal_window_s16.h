/* SignalWindow: all at once. */
#ifndef KIBI_SIGNAL_WINDOW_S16_H
#define KIBI_SIGNAL_WINDOW_S16_H

#include "kibi.h"

typedef struct {
    int32_t elements;       /* of a row */
    int32_t size;           /* of the window; divides elements */
    int32_t shift_bits;     /* 0 to 31 */
    const int16_t *weights; /* [size] */
} kibi_signal_window_s16_params;

/* output: [elements]; may be the input row, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_window_s16(int16_t *output, const int16_t *const *rows,
                            const kibi_signal_window_s16_params *params, void *scratch);

#endif
