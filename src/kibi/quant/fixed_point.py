"""Transcendental functions in 32-bit fixed point, as gemmlowp's `fixedpoint.h` defines them.

A raw value `r` with `n` integer bits represents `r / 2**(31 - n)`. All functions take and return arrays of s32 values in s64.
"""

import numpy as np
from numpy.typing import ArrayLike

from kibi.quant.rounding import (
    Int64,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_s32,
)

_MAX = (1 << 31) - 1
_MIN = -(1 << 31)

_EXP_MINUS_EIGHTH = round(float(np.exp(-0.125)) * (1 << 31))
_ONE_THIRD = round((1 << 31) / 3)
_EXP_OF_MINUS_POWERS = tuple((power, round(float(np.exp(-(2.0**power))) * (1 << 31))) for power in range(-2, 5))
"""exp(-2**power) with 0 integer bits, for each bit that the remainder of the argument may have."""
_48_OVER_17 = round(48 / 17 * (1 << 29))
_MINUS_32_OVER_17 = -round(32 / 17 * (1 << 29))
_HALF_THREE = 3 << 27
"""3/2 with 3 integer bits."""
_HALF_SQRT_2 = 1518500250
"""Half the root of 2, without integer bits."""

_LOG_2, _ROOT_HALF, _FOURTH_ROOT_HALF = 1488522236, 1518500250, 1805811301
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = 117049297, 127690142, 1057819769, 638450708
"""The logarithm's constants, without integer bits."""

_multiply = saturating_rounding_doubling_high_multiply


def _shift_left_saturating(value: Int64, bits: int) -> Int64:
    clipped: Int64 = np.clip(value << bits, _MIN, _MAX)
    return clipped


def _exp_on_last_quarter(a: Int64) -> Int64:
    """exp(a) for -1/4 <= a < 0, 0 integer bits: the Taylor polynomial of degree 4 around -1/8."""
    x = a + (1 << 28)
    x2 = _multiply(x, x)
    x3 = _multiply(x2, x)
    x4 = _multiply(x2, x2)
    quarter_x4 = rounding_divide_by_power_of_two(x4, 2)
    tail = rounding_divide_by_power_of_two(_multiply(quarter_x4 + x3, _ONE_THIRD) + x2, 1)
    return _EXP_MINUS_EIGHTH + _multiply(_EXP_MINUS_EIGHTH, x + tail)


def exp_on_negative_values(a: ArrayLike, integer_bits: int) -> Int64:
    """exp(a) for a <= 0 with `integer_bits` (at most 5) integer bits; the result has none.

    The argument splits into a part in [-1/4, 0) and a multiple of 1/4 whose bits each multiply by a constant.
    Source: gemmlowp `fixedpoint/fixedpoint.h`, `exp_on_negative_values`.
    """
    raw = np.asarray(a, dtype=np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    low = (raw & (quarter - 1)) - quarter
    result = _exp_on_last_quarter(_shift_left_saturating(low, integer_bits))
    remainder = wrap_s32(low - raw)
    for power, factor in _EXP_OF_MINUS_POWERS:
        if power < integer_bits:
            has_bit = (remainder & (1 << (fraction_bits + power))) != 0
            result = np.where(has_bit, _multiply(result, factor), result)
    return np.where(raw == 0, _MAX, result)


def one_over_one_plus(a: ArrayLike) -> Int64:
    """1 / (1 + a) for 0 <= a <= 1; no integer bits.

    Source: gemmlowp `fixedpoint/fixedpoint.h`, `one_over_one_plus_x_for_x_in_0_1`.
    """
    return _shift_left_saturating(_one_over_half_of_one_plus(a), 1)


def _one_over_half_of_one_plus(a: ArrayLike) -> Int64:
    """2 / (1 + a) for 0 <= a <= 1, without integer bits; the result has two. Three Newton steps on half the denominator."""
    total = np.asarray(a, dtype=np.int64) + _MAX
    half_denominator = (total + np.where(total >= 0, 1, -1)) // 2
    x = _48_OVER_17 + _multiply(half_denominator, _MINUS_32_OVER_17)
    for _ in range(3):
        error = (1 << 29) - _multiply(half_denominator, x)
        x = wrap_s32(x + _shift_left_saturating(_multiply(x, error), 2))
    return x


def logistic(a: ArrayLike, integer_bits: int) -> Int64:
    """1 / (1 + exp(-a)) with `integer_bits` integer bits; the result has none.

    Source: gemmlowp `fixedpoint/fixedpoint.h`, `logistic`.
    """
    raw = np.asarray(a, dtype=np.int64)
    positive = one_over_one_plus(exp_on_negative_values(-np.abs(raw), integer_bits))
    return np.where(raw == 0, 1 << 30, np.where(raw > 0, positive, _MAX - positive))


def reciprocal(value: int, integer_bits: int) -> tuple[int, int]:
    """1 / value as (mantissa with no integer bits, bits over unit), for a positive s32 with `integer_bits` integer bits.

    Source: TFLM `kernels/internal/common.h`, `GetReciprocal`.
    """
    headroom = 32 - value.bit_length()
    shifted = int(wrap_s32((value << headroom) - (1 << 31)))
    return int(one_over_one_plus(shifted)), integer_bits - headroom


def tanh(a: ArrayLike, integer_bits: int) -> Int64:
    """The hyperbolic tangent with `integer_bits` (at most 4) integer bits; the result has none.

    Of a magnitude it is `(1 - e) / (1 + e)` for `e = exp(-2 * a)`: twice the reciprocal, less one, by three Newton steps.
    Source: gemmlowp `fixedpoint/fixedpoint.h`, `tanh` and `one_minus_x_over_one_plus_x_for_x_in_0_1`.
    """
    raw = np.asarray(a, dtype=np.int64)
    # The doubled argument has one integer bit more, and the same raw value.
    e = exp_on_negative_values(-np.abs(raw), integer_bits + 1)
    magnitude = _shift_left_saturating(_one_over_half_of_one_plus(e) - (1 << 29), 2)
    return np.where(raw == 0, 0, np.where(raw > 0, magnitude, -magnitude))


def inverse_square_root(values: ArrayLike) -> tuple[Int64, Int64]:
    """1 / sqrt(value) as multipliers and shifts, for positive s32: five Newton steps with 3 integer bits.

    Source: TFLM `kernels/internal/common.h`, `GetInvSqrtQuantizedMultiplierExp`.
    """
    x: Int64 = np.asarray(values, dtype=np.int64)
    is_far = x >= 1 << 29
    near = np.where(is_far, x >> 2, x)
    bits = np.frexp(near.astype(np.float64))[1].astype(np.int64)  # 2**(bits - 1) is the highest power that is not above
    pairs = (31 - bits) // 2 - 1
    right_shifts = np.where(is_far, 12, 11) - pairs
    halves = rounding_divide_by_power_of_two((near << 2 * pairs) >> 1, 1)
    roots: Int64 = np.full(x.shape, 1 << 28, dtype=np.int64)
    for _ in range(5):
        # Products of numbers with 3 integer bits have 6, of three numbers 9.
        cubes = _shift_left_saturating(_multiply(_multiply(roots, roots), roots), 6)
        roots = _shift_left_saturating(_multiply(_HALF_THREE, roots) - _multiply(halves, cubes), 3)
    multipliers = _multiply(roots, _HALF_SQRT_2) << np.maximum(-right_shifts, 0)
    return np.where(x <= 1, _MAX, multipliers), np.where(x <= 1, 0, np.minimum(-right_shifts, 0))


def log_of_sum(value: int) -> int:
    """The natural logarithm, with 5 integer bits, of a positive s32 with 12 integer bits, 1 or more.

    The number is a power of two times a rest, whose logarithm is a quotient of polynomials; the power has quarters, so that
    the rest is near the fourth root of a half. Source: TFLM `kernels/internal/common.h`,
    `log_x_for_x_greater_than_or_equal_to_1_impl`.
    """
    headroom = 32 - value.bit_length()
    first = min(2 * int(_multiply(value << headroom - 1, _ROOT_HALF)), _MAX)
    scaled = int(_multiply(value, _ROOT_HALF))
    second_headroom = 31 - scaled.bit_length()
    second = min(value << second_headroom, _MAX)
    power = max((12 - headroom << 25) + (1 << 23), (12 - second_headroom << 25) - (1 << 23))
    r = min(first, second)
    mean = r + _FOURTH_ROOT_HALF + 1 >> 1
    q = 2 * (r - _FOURTH_ROOT_HALF)
    square = _multiply(q, q)
    numerator = _multiply(q, r) + _multiply(_multiply(q, square), _ALPHA_N)
    less_one = _multiply(mean, _ALPHA_I + q + _multiply(_ALPHA_D, square)) + _multiply(_ALPHA_F, q)
    quotient = _multiply(rounding_divide_by_power_of_two(numerator, 6), one_over_one_plus(less_one))
    return int(np.clip(2 * (_multiply(power, _LOG_2) + quotient), _MIN, _MAX))
