/* SignalIrfft, int16, portable. Rules N41 to N42. */
#include "kibi_signal_irfft_s16.h"

#include "kibi_fft_s16.h"

void kibi_signal_irfft_s16(int16_t *output, const int16_t *const *rows,
                           const kibi_signal_irfft_s16_params *params, void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, params->stages, params->twiddles, params->half_turn};
    const int16_t *input = rows[0];
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        kibi_fft_backward(output, input, &plan);
        input += 2 * (params->points + 1);
        output += 2 * params->points;
    }
}
