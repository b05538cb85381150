"""Rounding and requantization on whole arrays, exact in 64 bits, wrapped to 32 where the C code wraps."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Int64 = NDArray[np.int64]


def wrap_s32(value: ArrayLike) -> Int64:
    """The value that 32-bit two's complement arithmetic leaves, in 64 bits."""
    wrapped: Int64 = np.asarray(value, dtype=np.int64).astype(np.int32).astype(np.int64)
    return wrapped


def saturating_rounding_doubling_high_multiply(a: ArrayLike, b: ArrayLike) -> Int64:
    """Rule N2: the high 32 bits of `2 * a * b`, rounded half up; -2**31 times itself gives 2**31 - 1.

    `a`, `b`: s32. Source: gemmlowp `fixedpoint/fixedpoint.h`, `SaturatingRoundingDoublingHighMul`; its two-sided nudge and
    truncating division equal adding 2**30 and shifting right arithmetically by 31.
    """
    product = np.asarray(a, dtype=np.int64) * np.asarray(b, dtype=np.int64)
    high: Int64 = np.minimum((product + (1 << 30)) >> 31, (1 << 31) - 1)
    return high


def rounding_divide_by_power_of_two(value: ArrayLike, exponent: ArrayLike) -> Int64:
    """Rule N3: `value / 2**exponent`, rounded half away from zero; 0 <= exponent <= 31.

    Source: gemmlowp `fixedpoint/fixedpoint.h`, `RoundingDivideByPOT`.
    """
    x = np.asarray(value, dtype=np.int64)
    e = np.asarray(exponent, dtype=np.int64)
    half = (np.int64(1) << e) >> 1
    return (x + (half - ((x < 0) & (e > 0)))) >> e


def requantize(acc: ArrayLike, multiplier: ArrayLike, shift: ArrayLike) -> Int64:
    """Rule N4: an accumulator scaled by multiplier and shift, rounded twice.

    A left shift wraps in 32 bits before the multiplication (N2); a right shift rounds after it (N3). Arrays broadcast.
    Source: TFLM `kernels/internal/common.cc`, `MultiplyByQuantizedMultiplier`, double rounding.
    """
    shifts = np.asarray(shift, dtype=np.int64)
    left = np.maximum(shifts, 0)
    right = np.maximum(-shifts, 0)
    shifted = wrap_s32(np.asarray(acc, dtype=np.int64) << left)
    return rounding_divide_by_power_of_two(saturating_rounding_doubling_high_multiply(shifted, multiplier), right)


def requantize_wide(acc: ArrayLike, multiplier: ArrayLike, shift: ArrayLike) -> Int64:
    """Rule N26: a 64-bit accumulator scaled by the upper half of a multiplier and by a shift, rounded once, halves up.

    `acc`: below 2**47 in magnitude; `shift`: -31 … 7. The result is what 32 bits hold of it. Arrays broadcast.
    Source: TFLM `kernels/internal/common.cc`, `MultiplyByQuantizedMultiplier` of `int64_t`.
    """
    multipliers = np.asarray(multiplier, dtype=np.int64)
    upper = np.where(multipliers < 0x7FFF0000, (multipliers + (1 << 15)) >> 16, 0x7FFF)
    right = 15 - np.asarray(shift, dtype=np.int64)
    return wrap_s32((np.asarray(acc, dtype=np.int64) * upper + (np.int64(1) << (right - 1))) >> right)


def round_half_away(value: ArrayLike) -> NDArray[np.float32]:
    """Rule N5: float32 values rounded to integers, halves away from zero, as C's `roundf`."""
    x = np.asarray(value, dtype=np.float32)
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= np.float32(0.5)).astype(np.float32), x)


def quantize_value(value: float, scale: float, zero_point: int) -> int:
    """Rule N6: a real number in a tensor's scale: float32 division, rounded half away from zero, plus the zero point.

    Source: TFLM `kernels/kernel_util.cc`, `Quantize`. The result is not cut to any type's range.

    Raises:
        ValueError: the quotient does not fit 32 bits.
    """
    with np.errstate(over="ignore"):
        quotient = np.float32(value) / np.float32(scale)
    if not abs(quotient) < 1 << 31:
        raise ValueError(f"{value:g} at a scale of {scale:g} does not fit 32 bits")
    return zero_point + int(round_half_away(quotient))
