/* SignalOverlapAdd, int16, portable. Source of the rule: TFLM, signal/src/overlap_add.cc. */
#include "kibi_signal_overlap_add.h"

static int16_t sum(int16_t a, int16_t b)
{
    const int32_t exact = a + b;
    const int32_t low = exact < INT16_MIN ? INT16_MIN : exact;
    return (int16_t)(low > INT16_MAX ? INT16_MAX : low);
}

/* Adds one frame. */
static void add(int16_t *output, int16_t *rest, const int16_t *frame, int32_t size, int32_t step)
{
    const int32_t kept = size - step;
    for (int32_t i = 0; i < step; ++i) {
        output[i] = sum(i < kept ? rest[i] : 0, frame[i]);
    }
    for (int32_t i = 0; i < kept; ++i) {
        rest[i] = sum(i + step < kept ? rest[i + step] : 0, frame[i + step]);
    }
}

void kibi_signal_overlap_add_s16(int16_t *output, const int16_t *const *rows,
                                 const kibi_signal_overlap_add_params *params, void *scratch, void *const *states)
{
    (void)scratch;
    for (int32_t line = 0; line < params->lines; ++line) {
        int16_t *const rest = (int16_t *)states[0] + line * (params->size - params->step);
        for (int32_t frame = 0; frame < params->frames; ++frame) {
            add(output, rest, *rows, params->size, params->step);
            output += params->step;
            ++rows;
        }
    }
}
