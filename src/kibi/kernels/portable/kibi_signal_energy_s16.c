/* SignalEnergy, int16, portable. Source of the rule: TFLM, signal/src/energy.cc. */
#include "kibi_signal_energy_s16.h"

void kibi_signal_energy_s16(uint32_t *output, const int16_t *const *rows,
                            const kibi_signal_energy_s16_params *params, void *scratch)
{
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        uint32_t energy = 0;
        if (i >= params->start && i < params->end) {
            const int32_t real = input[2 * i];
            const int32_t imaginary = input[2 * i + 1];
            energy = (uint32_t)(real * real) + (uint32_t)(imaginary * imaginary);
        }
        output[i] = energy;
    }
}
