/* Units of SVDF that have one filter each, with a memory of int16. */
#include "kibi_svdf_units.h"

#include "kibi_svdf_scaled.h"

void kibi_svdf_units_s16(kibi_svdf_units *task)
{
    int16_t *state = (int16_t *)task->state;
    const int16_t *weights = (const int16_t *)task->weights;
    while (task->results != task->results_end) {
        const int32_t result = kibi_svdf_scaled(*task->results++, task->feature_multiplier, task->feature_shift);
        kibi_svdf_write(task, kibi_remember_s16(*task->bias++, state, weights, task->memory, kibi_clamp(result, -32768, 32767)));
        state += task->memory;
        weights += task->memory;
    }
    task->state = state;
    task->weights = weights;
}
