/* SignalFramer, int16, portable. Source of the rule: TFLM, signal/micro/kernels/framer.cc. */
#include "kibi_signal_framer_s16.h"

#include <string.h>

#include "kibi_requantize.h"

/* What follows `count` samples when as many as `step` have come, of which the first of all leave; at most `count` stay. */
static void advance(int16_t *samples, int32_t count, const int16_t *input, int32_t step)
{
    const int32_t old = count > step ? count - step : 0;
    (void)memmove(samples, samples + (count - old), (size_t)old * sizeof *samples);
    (void)memcpy(samples + old, input + (step - (count - old)), (size_t)(count - old) * sizeof *samples);
}

/* One frame; how many samples there are after it. */
static int32_t make(uint8_t *output, int16_t *samples, int32_t count, const int16_t *input,
                    const kibi_signal_framer_s16_params *params)
{
    const size_t count_bytes = (size_t)count * sizeof *samples;
    const size_t frame_bytes = (size_t)params->size * sizeof *samples;
    if (count + params->step < params->size) {
        const int32_t room = params->kept - count; /* less than a step only where a file set the count */
        const int32_t more = params->step < room ? params->step : room;
        (void)memset(output, 0, frame_bytes);
        (void)memcpy(samples + count, input, (size_t)more * sizeof *samples);
        return count + more;
    }
    (void)memcpy(output, samples, count_bytes);
    (void)memcpy(output + count_bytes, input, frame_bytes - count_bytes);
    advance(samples, count, input, params->step);
    return count;
}

void kibi_signal_framer_s16(void *const *outputs, const int16_t *const *rows,
                            const kibi_signal_framer_s16_params *params, void *scratch, void *const *states)
{
    int32_t *const available = (int32_t *)states[1];
    uint8_t *to = (uint8_t *)outputs[0];
    const int32_t first = kibi_clamp(*available, 0, params->kept); /* a plan file may set it to any number */
    int32_t count = first;
    uint8_t is_valid = 1;
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        int16_t *const samples = (int16_t *)states[0] + line * params->kept;
        count = first;
        for (int32_t frame = 0; frame < params->frames; ++frame) {
            const int32_t left = make(to, samples, count, rows[line] + frame * params->step, params);
            is_valid = left == count ? is_valid : 0;
            count = left;
            to += (size_t)params->size * sizeof *samples;
        }
    }
    *available = count;
    *(uint8_t *)outputs[1] = is_valid;
}
