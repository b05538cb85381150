"""The rules of arithmetic: multipliers, shifts, rounding, transcendental functions. `docs/numerics.md` numbers them."""

from kibi.quant.exponential import exp_f32, exp_f64
from kibi.quant.fixed_point import exp_on_negative_values, inverse_square_root, logistic, reciprocal, tanh
from kibi.quant.multiplier import Multiplier, quantize_multiplier
from kibi.quant.rounding import (
    quantize_value,
    requantize,
    round_half_away,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_s32,
)

__all__ = [
    "Multiplier",
    "exp_f32",
    "exp_f64",
    "exp_on_negative_values",
    "inverse_square_root",
    "logistic",
    "quantize_multiplier",
    "quantize_value",
    "reciprocal",
    "requantize",
    "round_half_away",
    "rounding_divide_by_power_of_two",
    "saturating_rounding_doubling_high_multiply",
    "tanh",
    "wrap_s32",
]
