/* UNIDIRECTIONAL_SEQUENCE_LSTM, float, portable. Source of the rule: TFLM, micro/kernels/lstm_eval.h. */
#include "kibi_lstm.h"

#include <string.h>

#include "kibi_dot_f32.h"
#include "kibi_hyperbolic_tangent_f32.h"
#include "kibi_logistic_value.h"

/* What a gate is computed from. */
typedef struct {
    const float *input_weights;
    const float *recurrent_weights;
    const float *bias;
} gate;

static float finite(float value)
{
    return kibi_clamp_f32(value, KIBI_LOWEST_F32, -KIBI_LOWEST_F32);
}

/* The sum of a gate of one unit. */
static float gate_sum(const gate *g, int32_t unit, const float *x, const float *hidden, const kibi_lstm_f32_params *p)
{
    const float input = kibi_dot_f32(0.0f, g->input_weights + unit * p->depth, x, p->depth);
    const float recurrent = kibi_dot_f32(0.0f, g->recurrent_weights + unit * p->units, hidden, p->units);
    return finite(input + g->bias[unit]) + finite(recurrent);
}

void kibi_lstm_f32(float *output, const float *const *rows, const kibi_lstm_f32_params *params, void *scratch,
                   void *const *states)
{
    const kibi_lstm_f32_params *const p = params;
    const float *const bias = KIBI_AT(float, p, input_bias);
    const gate input = {KIBI_AT(float, p, input_to_input), KIBI_AT(float, p, recurrent_to_input), bias};
    const gate forget = {KIBI_AT(float, p, input_to_forget), KIBI_AT(float, p, recurrent_to_forget), bias + p->units};
    const gate update = {KIBI_AT(float, p, input_to_cell), KIBI_AT(float, p, recurrent_to_cell), bias + 2 * p->units};
    const gate shown = {KIBI_AT(float, p, input_to_output), KIBI_AT(float, p, recurrent_to_output),
                        bias + 3 * p->units};
    float *hidden = (float *)states[0];
    float *cells = (float *)states[1];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t time = 0; time < p->times; ++time) {
            const float *const x = *rows++;
            for (int32_t unit = 0; unit < p->units; ++unit) {
                const float kept = finite(kibi_logistic_value(gate_sum(&forget, unit, x, hidden, p)) * cells[unit]);
                const float entry = kibi_logistic_value(gate_sum(&input, unit, x, hidden, p));
                const float added = finite(entry * kibi_hyperbolic_tangent_f32(gate_sum(&update, unit, x, hidden, p)));
                const float cell = kibi_clamp_f32(kept + added, p->cell_min, p->cell_max);
                const float open = kibi_logistic_value(gate_sum(&shown, unit, x, hidden, p));
                cells[unit] = cell;
                output[unit] = finite(kibi_hyperbolic_tangent_f32(cell) * open);
            }
            memcpy(hidden, output, (size_t)p->units * sizeof(*hidden));
            output += p->units;
        }
        hidden += p->units;
        cells += p->units;
    }
}
