/* SignalWindow, int16, portable. Source of the rule: TFLM, signal/src/window.cc. */
#include "kibi_signal_window_s16.h"

void kibi_signal_window_s16(int16_t *output, const int16_t *const *rows,
                            const kibi_signal_window_s16_params *params, void *scratch)
{
    const int16_t *const input = rows[0];
    (void)scratch;
    for (int32_t start = 0; start < params->elements; start += params->size) {
        for (int32_t i = 0; i < params->size; ++i) {
            const int32_t raised = ((int32_t)input[start + i] * KIBI_AT(int16_t, params,
                                                                        weights)[i]) >> params->shift_bits;
            const int32_t low = raised < INT16_MIN ? INT16_MIN : raised;
            output[start + i] = (int16_t)(low > INT16_MAX ? INT16_MAX : low);
        }
    }
}
