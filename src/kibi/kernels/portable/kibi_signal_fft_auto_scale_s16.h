/* SignalFftAutoScale, the samples: all at once. */
#ifndef KIBI_SIGNAL_FFT_AUTO_SCALE_S16_H
#define KIBI_SIGNAL_FFT_AUTO_SCALE_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_signal_fft_auto_scale_s16_params;

/* output: [elements]; may be the input, or lie below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_fft_auto_scale_s16(int16_t *output, const int16_t *const *rows,
                                    const kibi_signal_fft_auto_scale_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
