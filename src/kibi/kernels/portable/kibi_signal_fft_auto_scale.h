/* SIGNAL_FFT_AUTO_SCALE: each kernel computes one of its outputs. */
#ifndef KIBI_SIGNAL_FFT_AUTO_SCALE_H
#define KIBI_SIGNAL_FFT_AUTO_SCALE_H

#include "kibi_unary.h"

/* SignalFftAutoScale, the bits by which samples grow: all at once.
 * output: [1]; may overlap the input.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_fft_auto_scale_bits_s16(int32_t *output, const int16_t *const *rows,
                                         const kibi_elements_params *params, void *scratch);

/* SignalFftAutoScale, the samples: all at once.
 * output: [elements]; may be the input, or begin below it.
 * rows: one pointer to [elements].
 * scratch: none. */
void kibi_signal_fft_auto_scale_s16(int16_t *output, const int16_t *const *rows, const kibi_elements_params *params,
                                    void *scratch);

#endif
