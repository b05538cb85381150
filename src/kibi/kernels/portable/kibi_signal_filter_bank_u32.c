/* SignalFilterBank, portable. Source of the rule: TFLM, signal/src/filter_bank.cc. */
#include "kibi_signal_filter_bank.h"

void kibi_signal_filter_bank_u32(uint64_t *output, const uint32_t *const *rows,
                                 const kibi_signal_filter_bank_u32_params *params, void *scratch)
{
    uint64_t carried = 0;
    (void)scratch;
    for (int32_t channel = 0; channel <= params->channels; ++channel) {
        const uint32_t *const input = rows[0] + KIBI_AT(int16_t, params, frequency_starts)[channel];
        const int16_t *const weights = KIBI_AT(int16_t, params, weights) + KIBI_AT(int16_t, params,
                                                                                   weight_starts)[channel];
        const int16_t *const unweights = KIBI_AT(int16_t, params, unweights) + KIBI_AT(int16_t, params,
                                                                                       weight_starts)[channel];
        uint64_t sum = carried;
        carried = 0;
        for (int32_t k = 0; k < KIBI_AT(int16_t, params, widths)[channel]; ++k) {
            sum += (uint64_t)weights[k] * input[k];
            carried += (uint64_t)unweights[k] * input[k];
        }
        if (channel > 0) {
            output[channel - 1] = sum;
        }
    }
}
