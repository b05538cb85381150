/* SignalStacker, int16, portable. Source of the rule: TFLM, signal/micro/kernels/stacker.cc. */
#include "kibi_signal_stacker_s16.h"

#include <string.h>

void kibi_signal_stacker_s16(void *const *outputs, const int16_t *const *rows,
                             const kibi_signal_stacker_s16_params *params, void *scratch, void *const *states)
{
    uint8_t *const output = (uint8_t *)outputs[0];
    uint8_t *const is_valid = (uint8_t *)outputs[1];
    int16_t *const samples = (int16_t *)states[0];
    int32_t *const available = (int32_t *)states[1];
    const int32_t channels = params->channels;
    const size_t frame_bytes = (size_t)channels * sizeof *samples;
    const size_t kept_bytes = (size_t)params->kept * frame_bytes;
    int32_t count = *available; /* read once: a plan file may set it to any number, and an output may overlap it */
    (void)scratch;
    *is_valid = 0;
    if (count < 0) {
        for (count = 0; count < params->left; ++count) {
            (void)memcpy(samples + count * channels, rows[0], frame_bytes);
        }
    }
    if (count < params->kept) {
        (void)memset(output, 0, kept_bytes + frame_bytes);
        (void)memcpy(samples + count * channels, rows[0], frame_bytes);
        *available = count + 1;
        return;
    }
    (void)memcpy(output, samples, kept_bytes);
    (void)memcpy(output + kept_bytes, rows[0], frame_bytes);
    count = params->kept + 1 - params->step;
    *available = count;
    if (count > 0) {
        const int32_t old = count - 1;
        (void)memmove(samples, samples + params->step * channels, (size_t)old * frame_bytes);
        (void)memcpy(samples + old * channels, rows[0], frame_bytes);
    }
    *is_valid = 1;
}
