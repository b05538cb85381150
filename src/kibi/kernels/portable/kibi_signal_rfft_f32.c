/* SignalRfft, float, portable. Rules N41 to N42. */
#include "kibi_signal_rfft_f32.h"

#include "kibi_fft_f32.h"

void kibi_signal_rfft_f32(float *output, const float *const *rows, const kibi_signal_rfft_f32_params *params, void *scratch)
{
    const kibi_fft_plan plan = {params->points, params->stage_count, params->stages, params->twiddles, params->half_turn};
    const float *input = rows[0];
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        kibi_fft_forward(output, input, params->input_elements, &plan);
        input += params->input_elements;
        output += 2 * (params->points + 1);
    }
}
