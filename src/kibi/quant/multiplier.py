"""Real scales as integer multiplier and shift."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Multiplier:
    """A real factor `value * 2**(shift - 31)`.

    Attributes:
        value: 0, or 2**30 … 2**31 - 1.
        shift: bits to shift left; negative: right. -31 … 30 in use.
    """

    value: int
    shift: int


def quantize_multiplier(real: float) -> Multiplier:
    """Rule N1: a double as multiplier and shift.

    The fraction of `frexp`, scaled by 2**31, is rounded half away from zero; a shift below -31 makes the multiplier zero.
    Source: TFLM `kernels/internal/quantization_util.cc`, `QuantizeMultiplier`.

    Raises:
        ValueError: `real` is negative or not finite.
    """
    if not math.isfinite(real) or real < 0:
        raise ValueError(f"a scale of {real} is not a factor; scales must be positive and finite")
    if real == 0.0:
        return Multiplier(0, 0)
    fraction, shift = math.frexp(real)
    value = math.floor(fraction * (1 << 31) + 0.5)
    if value == 1 << 31:
        value, shift = value // 2, shift + 1
    if shift < -31:
        return Multiplier(0, 0)
    return Multiplier(value, shift)
