/* SignalDelay, int16, portable. Source of the rule: TFLM, signal/micro/kernels/delay.cc. */
#include "kibi_signal_delay_s16.h"

#include <string.h>

void kibi_signal_delay_s16(int16_t *output, const int16_t *const *rows,
                           const kibi_signal_delay_s16_params *params, void *scratch, void *const *states)
{
    const int32_t size = params->size;
    const int32_t delay = params->delay;
    const int32_t old = delay < size ? delay : size;
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        int16_t *const samples = (int16_t *)states[0] + line * delay;
        const int16_t *const input = rows[line];
        (void)memcpy(output, samples, (size_t)old * sizeof *output);
        (void)memcpy(output + old, input, (size_t)(size - old) * sizeof *output);
        (void)memmove(samples, samples + old, (size_t)(delay - old) * sizeof *output);
        (void)memcpy(samples + (delay - old), input + (size - old), (size_t)old * sizeof *output);
        output += size;
    }
}
