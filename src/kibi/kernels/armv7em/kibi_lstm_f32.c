/* UNIDIRECTIONAL_SEQUENCE_LSTM, float, Armv7E-M: four units at once. Source of the rule: TFLM, micro/kernels/lstm_eval.h. */
#include "kibi_lstm.h"

#include <string.h>

#include "kibi_dot_f32_4x1.h"
#include "kibi_hyperbolic_tangent_f32.h"
#include "kibi_logistic_value.h"

enum { BLOCK = KIBI_DOT_F32_CHANNELS, INPUT = 0, FORGET, UPDATE, OUTPUT, GATES };

/* What a gate is computed from. */
typedef struct {
    const float *input_weights;
    const float *recurrent_weights;
} gate_weights;

static float finite(float value)
{
    return kibi_clamp_f32(value, KIBI_LOWEST_F32, -KIBI_LOWEST_F32);
}

/* The sums of products of a block of units, or of one; a unit's weights follow those of the one before. */
static void dots(float sums[BLOCK], const float *w, const float *x, int32_t count, int32_t units)
{
    memset(sums, 0, BLOCK * sizeof(*sums));
    if (units == BLOCK) {
        kibi_dot_f32_4x1(sums, w, count, x, count);
    } else {
        sums[0] = kibi_dot_f32(sums[0], w, x, count);
    }
}

/* The sums of a gate of a block of units, or of one. */
static void gate_sums(float sums[BLOCK], const gate_weights *w, const float *bias, int32_t unit, int32_t units,
                      const float *x, const float *hidden, const kibi_lstm_f32_params *p)
{
    float recurrent[BLOCK];
    dots(sums, w->input_weights + unit * p->depth, x, p->depth, units);
    dots(recurrent, w->recurrent_weights + unit * p->units, hidden, p->units, units);
    for (int32_t k = 0; k < units; ++k) {
        sums[k] = finite(sums[k] + bias[unit + k]) + finite(recurrent[k]);
    }
}

/* The new output of a unit, and its new cell. */
static float one_unit(float *cell, float input, float forget, float update, float shown, const kibi_lstm_f32_params *p)
{
    const float kept = finite(kibi_logistic_value(forget) * *cell);
    const float entry = kibi_logistic_value(input);
    const float added = finite(entry * kibi_hyperbolic_tangent_f32(update));
    const float now = kibi_clamp_f32(kept + added, p->cell_min, p->cell_max);
    const float open = kibi_logistic_value(shown);
    *cell = now;
    return finite(kibi_hyperbolic_tangent_f32(now) * open);
}

/* All units of a time: their outputs and their new cells. */
static void all_units(float *output, const gate_weights weights[GATES], float *cells, const float *x, const float *hidden,
                      const kibi_lstm_f32_params *p)
{
    const float *const bias = KIBI_AT(float, p, input_bias);
    const int32_t units = p->units < BLOCK ? 1 : BLOCK;
    int32_t unit = 0;
    while (unit < p->units) {
        /* The last block has the last units, of which some are computed already. */
        const int32_t first = unit < p->units - units ? unit : p->units - units;
        float sums[GATES][BLOCK];
        for (int32_t gate = 0; gate < GATES; ++gate) {
            gate_sums(sums[gate], weights + gate, bias + gate * p->units, first, units, x, hidden, p);
        }
        for (; unit < first + units; ++unit) {
            const int32_t k = unit - first;
            output[unit] =
                one_unit(cells + unit, sums[INPUT][k], sums[FORGET][k], sums[UPDATE][k], sums[OUTPUT][k], p);
        }
    }
}

void kibi_lstm_f32(float *output, const float *const *rows, const kibi_lstm_f32_params *params, void *scratch,
                   void *const *states)
{
    const kibi_lstm_f32_params *const p = params;
    const gate_weights weights[GATES] = {
        {KIBI_AT(float, p, input_to_input), KIBI_AT(float, p, recurrent_to_input)},
        {KIBI_AT(float, p, input_to_forget), KIBI_AT(float, p, recurrent_to_forget)},
        {KIBI_AT(float, p, input_to_cell), KIBI_AT(float, p, recurrent_to_cell)},
        {KIBI_AT(float, p, input_to_output), KIBI_AT(float, p, recurrent_to_output)},
    };
    float *hidden = (float *)states[0];
    float *cells = (float *)states[1];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t time = 0; time < p->times; ++time) {
            all_units(output, weights, cells, *rows, hidden, p);
            memcpy(hidden, output, (size_t)p->units * sizeof(*hidden));
            output += p->units;
            ++rows;
        }
        hidden += p->units;
        cells += p->units;
    }
}
