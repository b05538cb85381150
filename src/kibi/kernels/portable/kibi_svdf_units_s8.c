/* Units of SVDF that have one filter each, with a memory of int8. */
#include "kibi_svdf_units.h"

#include "kibi_svdf_scaled.h"

void kibi_svdf_units_s8(kibi_svdf_units *task)
{
    int8_t *state = (int8_t *)task->state;
    const int8_t *weights = (const int8_t *)task->weights;
    while (task->results != task->results_end) {
        const int32_t result = kibi_svdf_scaled(*task->results++, task->feature_multiplier, task->feature_shift);
        const int32_t newest = task->state_zero_point + kibi_clamp(result, -128, 127);
        kibi_svdf_write(task, kibi_remember_s8(*task->bias++, state, weights, task->memory, task->state_zero_point, (int8_t)newest));
        state += task->memory;
        weights += task->memory;
    }
    task->state = state;
    task->weights = weights;
}
