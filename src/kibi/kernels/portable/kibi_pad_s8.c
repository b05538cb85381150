/* PAD, int8, portable. Source of the rule: TFLM, micro/kernels/pad_common.cc. */
#include "kibi_pad.h"

#include <string.h>

static int8_t *fill(int8_t *output, int32_t value, int32_t count)
{
    memset(output, (int)value, (size_t)count);
    return output + count;
}

void kibi_pad_s8(int8_t *output, const int8_t *const *rows, const kibi_pad_params *params, void *scratch)
{
    const kibi_pad_params *const p = params;
    const int32_t channels = p->before_channels + p->channels + p->after_channels;
    (void)scratch;
    output = fill(output, p->value, p->before_width * channels);
    for (int32_t piece = 0; piece < p->pieces; ++piece) {
        const int8_t *input = rows[piece];
        for (int32_t column = 0; column < p->width; ++column) {
            output = fill(output, p->value, p->before_channels);
            memmove(output, input, (size_t)p->channels);
            input += p->channels;
            output = fill(output + p->channels, p->value, p->after_channels);
        }
    }
    fill(output, p->value, p->after_width * channels);
}
