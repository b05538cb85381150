/* SignalFftAutoScale, the bits by which samples grow: all at once. */
#ifndef KIBI_SIGNAL_FFT_AUTO_SCALE_BITS_S16_H
#define KIBI_SIGNAL_FFT_AUTO_SCALE_BITS_S16_H

#include "kibi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t elements; /* of a row */
} kibi_signal_fft_auto_scale_bits_s16_params;

/* output: [1]; may overlap the input.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_fft_auto_scale_bits_s16(int32_t *output, const int16_t *const *rows,
    const kibi_signal_fft_auto_scale_bits_s16_params *params, void *scratch);

#ifdef __cplusplus
}
#endif

#endif
