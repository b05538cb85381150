"""The logistic function and the hyperbolic tangent of 16-bit elements: one table, and straight lines between its entries."""

import numpy as np
from numpy.typing import ArrayLike

from kibi.quant.rounding import Int64

_STEPS_PER_UNIT = 24
_ENTRIES = 256


def _entries() -> Int64:
    """The logistic function in units of 2**-16, as far above it as halves the error of the lines below it."""
    x = np.arange(_ENTRIES) / _STEPS_PER_UNIT
    value = 1 / (1 + np.exp(-x))
    bend = value * (1 - value) * (2 * value - 1) / _STEPS_PER_UNIT**2
    entries: Int64 = np.floor((value + bend / 16) * 65536 + 0.5).astype(np.int64)
    entries[-1] = 65535
    return entries


SIGMOID_TABLE = _entries()
"""Rule N43: `1 / (1 + exp(-k / 24))` in units of 2**-16, `[256]`; from the last entry on the function is taken to be 1."""


def _on_lines(magnitudes: Int64, fraction_bits: int, end: int) -> Int64:
    """The table at magnitudes in units of 2**-fraction_bits entries, with as many more bits; `end` behind its last line."""
    place = magnitudes >> fraction_bits
    inside = np.minimum(place, _ENTRIES - 2)
    low, high = SIGMOID_TABLE[inside], SIGMOID_TABLE[inside + 1]
    line = (low << fraction_bits) + (magnitudes & ((1 << fraction_bits) - 1)) * (high - low)
    found: Int64 = np.where(place >= _ENTRIES - 1, end, line)
    return found


def sigmoid_s16(values: ArrayLike) -> Int64:
    """Rule N43: the logistic function of `values / (3 * 2**12)`, in units of 2**-15.

    Source: TFLM `kernels/internal/reference/integer_ops/logistic.h`, `Logistic` of int16.
    """
    raw = np.asarray(values, dtype=np.int64)
    line = _on_lines(np.abs(raw), 9, 0x7FFF << 10)
    found: Int64 = np.where(raw >= 0, line + (1 << 9), (1 << 25) - line + (1 << 9) - 1) >> 10
    return found


def tanh_s16(values: ArrayLike) -> Int64:
    """Rule N43: the hyperbolic tangent of `values / (3 * 2**12)`, in units of 2**-15: `2 * sigmoid(2 * x) - 1`.

    Source: TFLM `kernels/internal/reference/integer_ops/tanh.h`, `Tanh` of int16.
    """
    raw = np.asarray(values, dtype=np.int64)
    line = _on_lines(np.abs(raw), 8, 0xFFFF << 8)
    found: Int64 = np.where(raw >= 0, line - (1 << 23) + (1 << 7), (1 << 23) - line + (1 << 7) - 1) >> 8
    return found
