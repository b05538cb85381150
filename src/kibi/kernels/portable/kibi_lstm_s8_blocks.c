/* UNIDIRECTIONAL_SEQUENCE_LSTM of int8 from packed weights, portable. Source of the rule: TFLM, micro/kernels/lstm_eval.h. */
#include <string.h>

#include "kibi_lstm_cell.h"
#include "kibi_packed_pairs_s8.h"

/* The sums of the four gates of a unit over one vector, 256 times the true ones, from the words at `from`. Returns the next word. */
static const int32_t *gate_sums(uint32_t sums[KIBI_LSTM_GATES], const int32_t *from, const int8_t *x, int32_t count)
{
    const int32_t whole = count - count % 4;
    for (int32_t gate = 0; gate < KIBI_LSTM_GATES; ++gate) {
        sums[gate] = (uint32_t)*from++;
    }
    for (int32_t gate = 0; whole < count && gate < KIBI_LSTM_GATES; ++gate) {
        sums[gate] = kibi_add_word_s8(sums[gate], *from++, x + whole, count - whole);
    }
    for (int32_t k = 0; k < whole; k += 4) {
        for (int32_t gate = 0; gate < KIBI_LSTM_GATES; ++gate) {
            sums[gate] = kibi_add_word_s8(sums[gate], *from++, x + k, 4);
        }
    }
    return from;
}

/* A sum in units of 2**-12. scale: multiplier, what is added, what of it is taken away from a negative sum, shift. */
static int32_t scaled(uint32_t sum, const int32_t scale[4])
{
    const int32_t value = (int32_t)sum;
    const int32_t added = kibi_wrapping_add(scale[1], value < 0 ? scale[2] : 0);
    const int32_t high = (int32_t)(((int64_t)value * scale[0]) >> 32);
    return kibi_clamp_s16(kibi_wrapping_add(high, added) >> (scale[3] & 31));
}

/* All units of a time: their outputs and their new cells. */
static void all_units(int8_t *output, int16_t *cells, const int8_t *x, const int8_t *hidden, const kibi_lstm_s8_blocks_params *p,
                      const kibi_lstm_scaling *scaling, int32_t zero_point)
{
    const int32_t *from = KIBI_AT(int32_t, p, weights);
    const int32_t *const scales = KIBI_AT(int32_t, p, scales);
    for (int32_t unit = 0; unit < p->units; ++unit) {
        uint32_t sums[KIBI_LSTM_GATES];
        uint32_t recurrent[KIBI_LSTM_GATES];
        int16_t gates[KIBI_LSTM_GATES];
        from = gate_sums(sums, from, x, p->depth);
        from = gate_sums(recurrent, from, hidden, p->units);
        for (int32_t gate = 0; gate < KIBI_LSTM_GATES; ++gate) {
            const int32_t own = scaled(sums[gate], scales + 4 * gate);
            gates[gate] = (int16_t)kibi_clamp_s16(own + scaled(recurrent[gate], scales + 4 * (KIBI_LSTM_GATES + gate)));
        }
        output[unit] = (int8_t)kibi_clamp(kibi_lstm_unit(cells + unit, gates, scaling) + zero_point, -128, 127);
    }
}

void kibi_lstm_s8_blocks(int8_t *output, const int8_t *const *rows, const kibi_lstm_s8_blocks_params *params, void *scratch,
                         void *const *states)
{
    const kibi_lstm_s8_blocks_params *const p = params;
    const int32_t half = (int32_t)((uint32_t)1 << (p->output_shift - 1));
    const kibi_lstm_scaling scaling = {
        1 << 30,          -14,         p->update_multiplier, -p->update_shift,   p->output_multiplier,
        -p->output_shift, p->cell_min, p->cell_max,          p->tanh_multiplier, p->tanh_shift,
    };
    int8_t *hidden = (int8_t *)states[0];
    int16_t *cells = (int16_t *)states[1];
    (void)scratch;
    for (int32_t batch = 0; batch < p->batches; ++batch) {
        for (int32_t time = 0; time < p->times; ++time) {
            all_units(output, cells, *rows, hidden, p, &scaling, (p->output_rounding - half) >> p->output_shift);
            (void)memcpy(hidden, output, (size_t)p->units);
            output += p->units;
            ++rows;
        }
        hidden += p->units;
        cells += p->units;
    }
}
