/* ADD, int8, for processors with vectors. Source of the rule: TFLM, integer_ops/add.h, AddFunc. */
#include "kibi_add_lanes.h"

#include <string.h>

#include "kibi_lanes.h"
#include "kibi_requantize.h"

/* Both inputs are brought to this many more bits before they are scaled. */
#define LEFT_SHIFT 20

static inline int32_t scaled(int32_t centred, int32_t multiplier, int32_t shift)
{
    return kibi_divide_by_power(kibi_multiply_high(centred * (1 << LEFT_SHIFT), multiplier), -shift);
}

/* Of sixteen elements, which are read before any is written. */
static inline void add_block(int8_t *output, const int8_t *a, const int8_t *b, const kibi_add_s8_lanes_params *p)
{
    int8_t block[KIBI_BLOCK];
    for (int32_t i = 0; i < KIBI_BLOCK; ++i) {
        const int32_t first = scaled(a[i] - p->zero_point1, p->multiplier1, p->shift1);
        const int32_t second = scaled(b[i] - p->zero_point2, p->multiplier2, p->shift2);
        const int32_t high = kibi_multiply_high(first + second, p->output_multiplier);
        const int32_t sum = kibi_divide_by_power(high, -p->output_shift) + p->output_zero_point;
        block[i] = (int8_t)kibi_clamp(sum, p->activation_min, p->activation_max);
    }
    memcpy(output, block, sizeof block);
}

void kibi_add_s8_lanes(int8_t *output, const int8_t *const *rows, const kibi_add_s8_lanes_params *params, void *scratch)
{
    const int8_t *const a = rows[0];
    const int8_t *const b = rows[1];
    int32_t i = 0;
    (void)scratch;
    for (; i + KIBI_BLOCK <= params->elements; i += KIBI_BLOCK) {
        add_block(output + i, a + i, b + i, params);
    }
    if (i < params->elements) {
        const size_t left = (size_t)(params->elements - i);
        int8_t ends[3][KIBI_BLOCK] = {{0}};
        memcpy(ends[0], a + i, left);
        memcpy(ends[1], b + i, left);
        add_block(ends[2], ends[0], ends[1], params);
        memcpy(output + i, ends[2], left);
    }
}
