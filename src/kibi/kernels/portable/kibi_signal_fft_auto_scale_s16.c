/* SignalFftAutoScale, the samples, int16, portable. Rule N43. */
#include "kibi_signal_fft_auto_scale.h"

#include "kibi_signal_auto_scale.h"

void kibi_signal_fft_auto_scale_s16(int16_t *output, const int16_t *const *rows, const kibi_elements_params *params,
                                    void *scratch)
{
    const int16_t *const input = rows[0];
    const int32_t factor = (int32_t)(1u << kibi_signal_auto_scale(input, params->elements));
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        output[i] = (int16_t)(input[i] * factor);
    }
}
