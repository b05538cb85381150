/* SignalFftAutoScale, the bits, int16, portable. Rule N43. */
#include "kibi_signal_fft_auto_scale.h"

#include "kibi_signal_auto_scale.h"

void kibi_signal_fft_auto_scale_bits_s16(int32_t *output, const int16_t *const *rows,
                                         const kibi_elements_params *params, void *scratch)
{
    (void)scratch;
    output[0] = kibi_signal_auto_scale(rows[0], params->elements);
}
