/* UNIDIRECTIONAL_SEQUENCE_LSTM, int16, portable. Source of the rule: TFLM, micro/kernels/lstm_eval.h. */
#include "kibi_lstm.h"

#include <string.h>

#include "kibi_lstm_cell.h"
#include "kibi_requantize_s16.h"

/* What a gate is computed from. */
typedef struct {
    const int8_t *input_weights;
    const int8_t *recurrent_weights;
} gate_weights;

/* The sum of a gate of one unit. */
static int32_t gate_sum(const gate_weights *w, int32_t gate, int32_t unit, const int16_t *x, const int16_t *hidden,
                        const kibi_lstm_s16_params *p)
{
    const int8_t *const input_weights = w->input_weights + unit * p->depth;
    const int8_t *const recurrent_weights = w->recurrent_weights + unit * p->units;
    const int32_t place = gate * p->units + unit;
    const int64_t input = kibi_dot_s16(p->input_bias[place], input_weights, x, p->depth);
    const int64_t recurrent = kibi_dot_s16(0, recurrent_weights, hidden, p->units);
    return kibi_clamp_s16(kibi_clamp_s16(kibi_requantize_wide(input, p->input_multiplier[gate], p->input_shift[gate])) +
                          kibi_clamp_s16(kibi_requantize_wide(recurrent, p->recurrent_multiplier[gate], p->recurrent_shift[gate])));
}

static kibi_lstm_scaling scaling_of(const kibi_lstm_s16_params *p)
{
    const kibi_lstm_scaling scaling = {
        p->forget_multiplier, p->forget_shift, p->update_multiplier, p->update_shift,    p->output_multiplier,
        p->output_shift,      p->cell_min,     p->cell_max,          p->tanh_multiplier, p->tanh_shift,
    };
    return scaling;
}

void kibi_lstm_s16(int16_t *output, const int16_t *const *rows, const kibi_lstm_s16_params *params, void *scratch,
                   void *const *states)
{
    const kibi_lstm_s16_params *const p = params;
    const kibi_lstm_scaling scaling = scaling_of(p);
    const gate_weights weights[KIBI_LSTM_GATES] = {
        {p->input_to_input, p->recurrent_to_input},
        {p->input_to_forget, p->recurrent_to_forget},
        {p->input_to_cell, p->recurrent_to_cell},
        {p->input_to_output, p->recurrent_to_output},
    };
    int16_t *hidden = (int16_t *)states[0];
    int16_t *cells = (int16_t *)states[1];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t time = 0; time < p->times; ++time) {
            for (int32_t unit = 0; unit < p->units; ++unit) {
                int32_t gates[KIBI_LSTM_GATES];
                for (int32_t gate = 0; gate < KIBI_LSTM_GATES; ++gate) {
                    gates[gate] = gate_sum(&weights[gate], gate, unit, *rows, hidden, p);
                }
                const int32_t scaled = kibi_lstm_unit(cells + unit, gates, &scaling);
                output[unit] = (int16_t)kibi_clamp_s16(scaled);
            }
            memcpy(hidden, output, (size_t)p->units * sizeof(*hidden));
            output += p->units;
            ++rows;
        }
        hidden += p->units;
        cells += p->units;
    }
}
