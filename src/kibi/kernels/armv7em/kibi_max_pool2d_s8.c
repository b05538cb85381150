/* MAX_POOL_2D, int8, for cores with the DSP extension: four channels at once. Source of the rule: TFLM,
 * integer_ops/pooling.h, MaxPool. */
#include "kibi_pool2d.h"

#include "kibi_largest4.h"
#include "kibi_requantize.h"

/* The columns of a window that are inside the input: where the first begins in a row, and how many. */
typedef struct {
    int32_t offset;
    int32_t columns;
} part;

static KIBI_NOINLINE void four_channels(int8_t *output, const int8_t *const *rows, const part *inside,
                                        const kibi_pool_params *p, int32_t c)
{
    const int8_t *const *const end = rows + p->kernel_rows;
    uint32_t largest = 0x80808080u;
    for (; rows != end; ++rows) {
        if (*rows == NULL) {
            continue;
        }
        const int8_t *input = *rows + inside->offset + c;
        for (int32_t i = inside->columns; i > 0; --i) {
            largest = kibi_largest4(largest, kibi_load4(input));
            input += p->channels;
        }
    }
    for (int32_t i = 0; i < 4; ++i) {
        *output++ = (int8_t)kibi_clamp((int8_t)largest, p->activation_min, p->activation_max);
        largest >>= 8;
    }
}

static KIBI_NOINLINE void one_channel(int8_t *output, const int8_t *const *rows, const part *inside,
                                      const kibi_pool_params *p, int32_t c)
{
    int32_t largest = -128;
    for (int32_t ky = 0; ky < p->kernel_rows; ++ky) {
        if (rows[ky] == NULL) {
            continue;
        }
        const int8_t *input = rows[ky] + inside->offset + c;
        for (int32_t i = inside->columns; i > 0; --i) {
            largest = *input > largest ? *input : largest;
            input += p->channels;
        }
    }
    *output = (int8_t)kibi_clamp(largest, p->activation_min, p->activation_max);
}

void kibi_max_pool2d_s8(int8_t *output, const int8_t *const *rows, const kibi_pool_params *params, void *scratch)
{
    const kibi_pool_params *const p = params;
    (void)scratch;
    for (int32_t x = 0; x < p->output_width; ++x) {
        const int32_t start = x * p->stride - p->pad;
        const int32_t first = start > 0 ? start : 0;
        const int32_t end = start + p->kernel_width < p->input_width ? start + p->kernel_width : p->input_width;
        const part inside = {first * p->channels, end - first};
        int32_t c = 0;
        for (; c + 4 <= p->channels; c += 4) {
            four_channels(output + c, rows, &inside, p, c);
        }
        for (; c < p->channels; ++c) {
            one_channel(output + c, rows, &inside, p, c);
        }
        output += p->channels;
    }
}
