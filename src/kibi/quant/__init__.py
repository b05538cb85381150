"""The rules of arithmetic: multipliers, shifts, rounding, transcendental functions. `docs/numerics.md` numbers them."""

from kibi.quant.exponential import exp_f32
from kibi.quant.fixed_point import exp_on_negative_values, inverse_square_root, logistic, reciprocal, tanh
from kibi.quant.multiplier import Multiplier, quantize_multiplier
from kibi.quant.rounding import (
    quantize_value,
    requantize,
    requantize_wide,
    round_half_away,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_s32,
)
from kibi.quant.sigmoid import SIGMOID_TABLE, sigmoid_s16, tanh_s16

__all__ = [
    "SIGMOID_TABLE",
    "Multiplier",
    "exp_f32",
    "exp_on_negative_values",
    "inverse_square_root",
    "logistic",
    "quantize_multiplier",
    "quantize_value",
    "reciprocal",
    "requantize",
    "requantize_wide",
    "round_half_away",
    "rounding_divide_by_power_of_two",
    "saturating_rounding_doubling_high_multiply",
    "sigmoid_s16",
    "tanh",
    "tanh_s16",
    "wrap_s32",
]
