/* PAD, int16, portable. Source of the rule: TFLM, micro/kernels/pad_common.cc. */
#include "kibi_pad.h"

#include <string.h>

static int16_t *fill(int16_t *output, int16_t value, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        *output++ = value;
    }
    return output;
}

void kibi_pad_s16(int16_t *output, const int16_t *const *rows, const kibi_pad_params *params, void *scratch)
{
    const kibi_pad_params *const p = params;
    const int32_t channels = p->before_channels + p->channels + p->after_channels;
    const int16_t value = (int16_t)p->value;
    (void)scratch;
    output = fill(output, value, p->before_width * channels);
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int16_t *input = rows[piece];
        for (int32_t column = 0; column < p->width; ++column) {
            output = fill(output, value, p->before_channels);
            memmove(output, input, (size_t)p->channels * sizeof(*output));
            input += p->channels;
            output = fill(output + p->channels, value, p->after_channels);
        }
    }
    fill(output, value, p->after_width * channels);
}
