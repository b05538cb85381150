/* PAD, float, portable. Source of the rule: TFLM, micro/kernels/pad_common.cc. */
#include "kibi_pad.h"

#include <string.h>

static float *fill(float *output, float value, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        *output++ = value;
    }
    return output;
}

void kibi_pad_f32(float *output, const float *const *rows, const kibi_pad_f32_params *params, void *scratch)
{
    const kibi_pad_f32_params *const p = params;
    const int32_t channels = p->before_channels + p->channels + p->after_channels;
    (void)scratch;
    output = fill(output, p->value, p->before_width * channels);
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const float *input = rows[piece];
        for (int32_t column = 0; column < p->width; ++column) {
            output = fill(output, p->value, p->before_channels);
            memmove(output, input, (size_t)p->channels * sizeof(*output));
            input += p->channels;
            output = fill(output + p->channels, p->value, p->after_channels);
        }
    }
    fill(output, p->value, p->after_width * channels);
}
