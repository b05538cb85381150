/* ADD, float, for processors with vectors. Source of the rule: TFLM, reference/add.h, AddElementwise. */
#include "kibi_add_lanes.h"

#include <string.h>

#include "kibi_cut_f32.h"

#define BLOCK 16

/* Of so many elements, which are read before any is written. */
static inline void add_block(float *output, const float *a, const float *b, float low, float high)
{
    float block[BLOCK];
    for (int32_t i = 0; i < BLOCK; ++i) {
        block[i] = kibi_cut_f32(a[i] + b[i], low, high);
    }
    memcpy(output, block, sizeof block);
}

void kibi_add_f32_lanes(float *output, const float *const *rows, const kibi_add_f32_lanes_params *params, void *scratch)
{
    const float *const a = rows[0];
    const float *const b = rows[1];
    const float low = params->activation_min;
    const float high = params->activation_max;
    const int32_t elements = params->elements;
    int32_t i = 0;
    (void)scratch;
    for (; i + BLOCK <= elements; i += BLOCK) {
        add_block(output + i, a + i, b + i, low, high);
    }
    for (; i < elements; ++i) {
        output[i] = kibi_cut_f32(a[i] + b[i], low, high);
    }
}
