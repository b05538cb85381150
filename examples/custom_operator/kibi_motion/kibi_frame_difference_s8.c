/* kibi_frame_difference_s8.c */
#include "kibi_frame_difference_s8.h"

void kibi_frame_difference_s8(int8_t *output, const int8_t *const *rows, const kibi_frame_difference_s8_params *params,
                              void *scratch)
{
    const int8_t *const frame = rows[0];
    const int8_t *const background = rows[1];
    (void)scratch;
    for (int32_t i = 0; i < params->elements; ++i) {
        int32_t difference = frame[i] - background[i];
        difference = difference < 0 ? -difference : difference;
        difference = difference <= params->threshold ? 0 : difference;
        difference += params->output_zero_point;
        output[i] = (int8_t)(difference > 127 ? 127 : difference);
    }
}
