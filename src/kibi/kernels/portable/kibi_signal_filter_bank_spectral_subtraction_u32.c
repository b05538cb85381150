/* SignalFilterBankSpectralSubtraction, portable. Rule N47. */
#include "kibi_signal_filter_bank_spectral_subtraction_u32.h"

#include <string.h>

void kibi_signal_filter_bank_spectral_subtraction_u32(void *const *outputs, const uint32_t *const *rows,
    const kibi_signal_filter_bank_spectral_subtraction_u32_params *params, void *scratch, void *const *states)
{
    const int32_t bits = params->spectral_subtraction_bits;
    uint32_t *const noise = (uint32_t *)states[0];
    uint32_t *const output = (uint32_t *)outputs[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        const uint32_t signal = rows[0][i];
        const uint32_t scaled = signal << params->smoothing_bits;
        const uint32_t factor = (uint32_t)(i % 2 == 0 ? params->smoothing : params->alternate_smoothing);
        const uint32_t other =
            (uint32_t)(i % 2 == 0 ? params->one_minus_smoothing : params->alternate_one_minus_smoothing);
        const uint32_t estimate = (uint32_t)(((uint64_t)scaled * factor + (uint64_t)noise[i] * other) >> bits);
        const uint32_t removed = estimate > scaled ? scaled : estimate;
        const uint32_t least = (uint32_t)(((uint64_t)signal * (uint32_t)params->min_signal_remaining) >> bits);
        const uint32_t left = (scaled - removed) >> params->smoothing_bits;
        noise[i] = params->clamps != 0 ? removed : estimate;
        output[i] = left > least ? left : least;
    }
    (void)memcpy(outputs[1], noise, (size_t)params->elements * sizeof *noise);
}
