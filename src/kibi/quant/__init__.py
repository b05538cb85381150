"""The rules of arithmetic: multipliers, shifts, rounding, transcendental functions. `docs/numerics.md` numbers them."""

from kibi.quant.exponential import exp_f32, exp_f64
from kibi.quant.fixed_point import exp_on_negative_values, inverse_square_root, log_of_sum, logistic, reciprocal, tanh
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
from kibi.quant.sigmoid import checked_log2, logistic_s16, tanh_s16
from kibi.quant.transcendental import cos_f32, expm1_f32, log_f32, sin_f32, tanh_f32

__all__ = [
    "Multiplier",
    "checked_log2",
    "cos_f32",
    "exp_f32",
    "exp_f64",
    "exp_on_negative_values",
    "expm1_f32",
    "inverse_square_root",
    "log_f32",
    "log_of_sum",
    "logistic",
    "logistic_s16",
    "quantize_multiplier",
    "quantize_value",
    "reciprocal",
    "requantize",
    "requantize_wide",
    "round_half_away",
    "rounding_divide_by_power_of_two",
    "saturating_rounding_doubling_high_multiply",
    "sin_f32",
    "tanh",
    "tanh_f32",
    "tanh_s16",
    "wrap_s32",
]
