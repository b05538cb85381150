/* SignalIrfft, float, portable. Rules N41 to N42. */
#include "kibi_signal_irfft.h"

#include "kibi_fft_f32.h"
#include "kibi_quotient_f32.h"

void kibi_signal_irfft_f32(float *output, const float *const *rows, const kibi_signal_irfft_f32_params *params,
                           void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, KIBI_AT(int32_t, params, stages),
                                KIBI_AT(float, params, twiddles), KIBI_AT(float, params, half_turn)};
    const float *input = rows[0];
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        kibi_fft_backward(output, input, &plan);
        for (int32_t i = 0; i < 2 * params->points; ++i) {
            output[i] = KIBI_QUOTIENT(output[i], (float)(2 * params->points));
        }
        input += 2 * (params->points + 1);
        output += 2 * params->points;
    }
}
