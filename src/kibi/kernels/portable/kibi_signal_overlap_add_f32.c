/* SignalOverlapAdd, float, portable. Source of the rule: TFLM, signal/src/overlap_add.cc. */
#include "kibi_signal_overlap_add.h"

#include "kibi_float.h"

static float sum(float a, float b)
{
    return a + b;
}

/* Adds one frame. */
static void add(float *output, float *rest, const float *frame, int32_t size, int32_t step)
{
    const int32_t kept = size - step;
    for (int32_t i = 0; i < step; ++i) {
        output[i] = sum(i < kept ? rest[i] : 0, frame[i]);
    }
    for (int32_t i = 0; i < kept; ++i) {
        rest[i] = sum(i + step < kept ? rest[i + step] : 0, frame[i + step]);
    }
}

void kibi_signal_overlap_add_f32(float *output, const float *const *rows, const kibi_signal_overlap_add_params *params,
                                 void *scratch, void *const *states)
{
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        float *const rest = (float *)states[0] + line * (params->size - params->step);
        for (int32_t frame = 0; frame < params->frames; ++frame) {
            add(output, rest, *rows, params->size, params->step);
            output += params->step;
            ++rows;
        }
    }
}
