/* One unit of an LSTM in 16 bits, from its four gates: rule N37 of Kibi's numerics. */
#ifndef KIBI_LSTM_CELL_H
#define KIBI_LSTM_CELL_H

#include "kibi_lstm.h"
#include "kibi_requantize.h"
#include "kibi_sigmoid_s16.h"

/* How products of gates become a cell and an output. Multipliers: 0 … 2**31 - 1; shifts: -31 … 30. */
typedef struct {
    int32_t forget_multiplier;
    int32_t forget_shift;
    int32_t update_multiplier;
    int32_t update_shift;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t cell_min;
    int32_t cell_max;
    int32_t tanh_multiplier; /* of a cell as an argument of tanh */
    int32_t tanh_shift;      /* 0 … 15 */
} kibi_lstm_scaling;

static inline int32_t kibi_clamp_s16(int32_t value)
{
    return kibi_clamp(value, -32768, 32767);
}

/* The logistic function of value / (3 * 2**12), in units of 2**-15. */
static inline int32_t kibi_lstm_logistic(int32_t value)
{
    const uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
    const int32_t line = magnitude >> 9 >= 255u ? 0x7FFF << 10 : kibi_sigmoid_s16(magnitude, 9u);
    return ((value >= 0 ? line : (1 << 25) - line - 1) + (1 << 9)) >> 10;
}

/* The hyperbolic tangent of value / (3 * 2**12), in units of 2**-15. value: above -2**31. */
static inline int32_t kibi_lstm_tanh(int32_t value)
{
    const uint32_t magnitude = (uint32_t)(value < 0 ? -value : value);
    const int32_t line = (magnitude >> 8 >= 255u ? 0xFFFF << 8 : kibi_sigmoid_s16(magnitude, 8u)) - (1 << 23);
    return ((value >= 0 ? line : -line - 1) + (1 << 7)) >> 8;
}

static inline int32_t kibi_lstm_product(int32_t a, int32_t b, int32_t multiplier, int32_t shift)
{
    return kibi_clamp_s16(kibi_requantize(a * b, multiplier, shift));
}

/* The new output of a unit, neither moved by a zero point nor clamped, and its new cell.
 * gates: sums in units of 2**-12. */
static inline int32_t kibi_lstm_unit(int16_t *cell, const int16_t gates[KIBI_LSTM_GATES], const kibi_lstm_scaling *s)
{
    const int32_t forget = kibi_lstm_logistic(3 * gates[KIBI_LSTM_FORGET]);
    const int32_t input = kibi_lstm_logistic(3 * gates[KIBI_LSTM_INPUT]);
    const int32_t update = kibi_lstm_tanh(3 * gates[KIBI_LSTM_CELL]);
    const int32_t output = kibi_lstm_logistic(3 * gates[KIBI_LSTM_OUTPUT]);
    const int32_t kept = kibi_lstm_product(forget, *cell, s->forget_multiplier, s->forget_shift);
    const int32_t added = kibi_lstm_product(input, update, s->update_multiplier, s->update_shift);
    const int32_t now = kibi_clamp(kibi_clamp_s16(kept + added), s->cell_min, s->cell_max);
    *cell = (int16_t)now;
    const int32_t half = (int32_t)(((uint32_t)1 << s->tanh_shift) >> 1);
    const int32_t shown = kibi_lstm_tanh((now * s->tanh_multiplier + half) >> s->tanh_shift);
    return kibi_requantize(shown * output, s->output_multiplier, s->output_shift);
}

#endif
