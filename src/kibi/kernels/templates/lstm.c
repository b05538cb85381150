/* LSTMs of integers and of floats. kibi/kernels/templates.py says how a template is read.
 *
 * HELD is the type of a cell. */

/*= kibi_lstm_TYPE
 *  TYPE: s8 s16
 *  HELPER s8: kibi_dot_4x1_s8
 *  HELPER s16: kibi_requantize_s16
 *  SINGLE s8: kibi_dot_1x1_s8
 *  SINGLE s16: kibi_dot_s16
 *  SUM s8: int32_t
 *  SUM s16: int64_t
 *  WEIGHT: int8_t
 *  HELD: int16_t
 *  MOST s8: 4
 *  MOST s16: 1
 *  DOTS s8: kibi_dot_4x1_s8(sums, start, w, count, x, count)
 *  DOTS s16: sums[0] = kibi_dot_s16(*start, w, x, count)
 *  RECURRENT s8: KIBI_AT(int32_t, p, recurrent_bias) + place
 *  RECURRENT s16: &zero
 *  SCALED s8: kibi_requantize
 *  SCALED s16: kibi_requantize_wide
 *  RESULT s8: (int8_t)kibi_clamp(kibi_wrapping_add(scaled, p->output_zero_point), -128, 127)
 *  RESULT s16: (int16_t)kibi_clamp_s16(scaled)
 *  UNIDIRECTIONAL_SEQUENCE_LSTM of integers. Source of the rule: TFLM, micro/kernels/lstm_eval.h. */
#include <string.h>

#include "HELPER.h"
#include "SINGLE.h"
#include "kibi_lstm_cell.h"

enum { BLOCK = MOST }; /* units whose sums are made together */

/* What a gate is computed from. */
typedef struct {
    const int8_t *input_weights;
    const int8_t *recurrent_weights;
} gate_weights;

/* The sums of products of a block of units, or of one; a unit's weights follow those of the one before. */
static void dots(SUM sums[BLOCK], const SUM *start, const int8_t *w, const TYPE_t *x, int32_t count, int32_t units)
{
    if (units == BLOCK) {
        DOTS;
    } else {
        sums[0] = SINGLE(*start, w, x, count);
    }
}

/* The sums of a gate of a block of units, or of one, to `sums` and every KIBI_LSTM_GATES halves after it. */
static void gate_sums(int16_t *sums, const gate_weights *w, int32_t gate, int32_t unit, int32_t units, const TYPE_t *x,
                      const TYPE_t *hidden, const PARAMS *p)
{
    static const SUM zero = 0;
    const int32_t place = gate * p->units + unit;
    SUM parts[BLOCK];
    (void)zero;
    dots(parts, KIBI_AT(SUM, p, input_bias) + place, w->input_weights + unit * p->depth, x, p->depth, units);
    for (int32_t k = 0; k < units; ++k) {
        const int32_t scaled =
            SCALED(parts[k], KIBI_AT(int32_t, p, input_multiplier)[gate], KIBI_AT(int8_t, p, input_shift)[gate]);
        sums[k * KIBI_LSTM_GATES] = (int16_t)kibi_clamp_s16(scaled);
    }
    dots(parts, RECURRENT, w->recurrent_weights + unit * p->units, hidden, p->units, units);
    for (int32_t k = 0; k < units; ++k) {
        const int32_t scaled = SCALED(parts[k], KIBI_AT(int32_t, p, recurrent_multiplier)[gate],
                                      KIBI_AT(int8_t, p, recurrent_shift)[gate]);
        sums[k * KIBI_LSTM_GATES] = (int16_t)kibi_clamp_s16(sums[k * KIBI_LSTM_GATES] + kibi_clamp_s16(scaled));
    }
}

static kibi_lstm_scaling scaling_of(const PARAMS *p)
{
    const kibi_lstm_scaling scaling = {
        p->forget_multiplier, p->forget_shift, p->update_multiplier, p->update_shift,    p->output_multiplier,
        p->output_shift,      p->cell_min,     p->cell_max,          p->tanh_multiplier, p->tanh_shift,
    };
    return scaling;
}

/* All units of a time: their outputs and their new cells. */
static void all_units(TYPE_t *output, const gate_weights *weights, int16_t *cells, const TYPE_t *x, const TYPE_t *hidden,
                      const PARAMS *p)
{
    const kibi_lstm_scaling scaling = scaling_of(p);
    const int32_t units = p->units < BLOCK ? 1 : BLOCK;
    int32_t unit = 0;
    while (unit < p->units) {
        /* The last block has the last units, of which some are computed already. */
        const int32_t first = unit < p->units - units ? unit : p->units - units;
        int16_t gates[BLOCK * KIBI_LSTM_GATES];
        for (int32_t gate = 0; gate < KIBI_LSTM_GATES; ++gate) {
            gate_sums(gates + gate, weights + gate, gate, first, units, x, hidden, p);
        }
        for (; unit < first + units; ++unit) {
            const int32_t scaled = kibi_lstm_unit(cells + unit, gates + (unit - first) * KIBI_LSTM_GATES, &scaling);
            output[unit] = RESULT;
        }
    }
}

/*= kibi_lstm_TYPE
 *  TYPE: f32
 *  WEIGHT: float
 *  HELD: float
 *  UNIDIRECTIONAL_SEQUENCE_LSTM of floats, four units at once. Source of the rule: TFLM, micro/kernels/lstm_eval.h. */
#include <string.h>

#include "kibi_dot_f32_4x1.h"
#include "kibi_hyperbolic_tangent_f32.h"
#include "kibi_logistic_value.h"

enum { BLOCK = KIBI_DOT_F32_CHANNELS };

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
    (void)memset(sums, 0, BLOCK * sizeof(*sums));
    if (units == BLOCK) {
        kibi_dot_f32_4x1(sums, w, count, x, count);
    } else {
        sums[0] = kibi_dot_f32(sums[0], w, x, count);
    }
}

/* The sums of a gate of a block of units, or of one. */
static void gate_sums(float sums[BLOCK], const gate_weights *w, const float *bias, int32_t unit, int32_t units, const float *x,
                      const float *hidden, const PARAMS *p)
{
    float recurrent[BLOCK];
    dots(sums, w->input_weights + unit * p->depth, x, p->depth, units);
    dots(recurrent, w->recurrent_weights + unit * p->units, hidden, p->units, units);
    for (int32_t k = 0; k < units; ++k) {
        sums[k] = finite(sums[k] + bias[unit + k]) + finite(recurrent[k]);
    }
}

/* The new output of a unit, and its new cell. */
static float one_unit(float *cell, float input, float forget, float update, float shown, const PARAMS *p)
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
static void all_units(float *output, const gate_weights weights[KIBI_LSTM_GATES], float *cells, const float *x, const float *hidden,
                      const PARAMS *p)
{
    const float *const bias = KIBI_AT(float, p, input_bias);
    const int32_t units = p->units < BLOCK ? 1 : BLOCK;
    int32_t unit = 0;
    while (unit < p->units) {
        /* The last block has the last units, of which some are computed already. */
        const int32_t first = unit < p->units - units ? unit : p->units - units;
        float sums[KIBI_LSTM_GATES][BLOCK];
        for (int32_t gate = 0; gate < KIBI_LSTM_GATES; ++gate) {
            gate_sums(sums[gate], weights + gate, bias + gate * p->units, first, units, x, hidden, p);
        }
        for (; unit < first + units; ++unit) {
            const int32_t k = unit - first;
            output[unit] = one_unit(cells + unit, sums[KIBI_LSTM_INPUT][k], sums[KIBI_LSTM_FORGET][k], sums[KIBI_LSTM_CELL][k],
                                    sums[KIBI_LSTM_OUTPUT][k], p);
        }
    }
}

/*= =
 *  The steps in time. */
void KERNEL(TYPE_t *output, const TYPE_t *const *rows, const PARAMS *params, void *scratch, void *const *states)
{
    const PARAMS *const p = params;
    const gate_weights weights[KIBI_LSTM_GATES] = {
        {KIBI_AT(WEIGHT, p, input_to_input), KIBI_AT(WEIGHT, p, recurrent_to_input)},
        {KIBI_AT(WEIGHT, p, input_to_forget), KIBI_AT(WEIGHT, p, recurrent_to_forget)},
        {KIBI_AT(WEIGHT, p, input_to_cell), KIBI_AT(WEIGHT, p, recurrent_to_cell)},
        {KIBI_AT(WEIGHT, p, input_to_output), KIBI_AT(WEIGHT, p, recurrent_to_output)},
    };
    TYPE_t *hidden = (TYPE_t *)states[0];
    HELD *cells = (HELD *)states[1];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t time = 0; time < p->times; ++time) {
            all_units(output, weights, cells, *rows, hidden, p);
            (void)memcpy(hidden, output, (size_t)p->units * sizeof(*hidden));
            output += p->units;
            ++rows;
        }
        hidden += p->units;
        cells += p->units;
    }
}
