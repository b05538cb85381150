"""LOGISTIC and TANH of s16: one table of the logistic function, with straight lines between its entries."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibi.quant.rounding import Int64, wrap_s32
from kibi.quant.transcendental import log_f32

_ROUNDED_UP = (
    4,
    8,
    12,
    14,
    15,
    16,
    17,
    19,
    20,
    21,
    22,
    25,
    27,
    28,
    29,
    30,
    31,
    33,
    34,
    35,
    37,
    39,
    40,
    41,
    43,
    44,
    45,
    46,
    49,
    50,
    54,
    62,
    63,
    64,
    66,
    82,
    86,
    93,
    100,
    103,
    112,
    116,
    135,
    255,
)
"""Entries that are one above the nearest integer: so the table was published."""
SIGMOID: NDArray[np.int64] = np.round(65536 / (1 + np.exp(-np.arange(256) / 24))).astype(np.int64)
"""Rule N29: 1 / (1 + exp(-k / 24)) for k = 0 … 255, in units of 2**-16."""
SIGMOID[list(_ROUNDED_UP)] += 1
SIGMOID.flags.writeable = False


def checked_log2(value: float) -> int | None:
    """Returns the logarithm to base 2 of a float32 if it is an integer within a thousandth, in float32; else None.

    Source: TFLM `kernels/internal/quantization_util.cc`, `CheckedLog2`.
    """
    one = np.float32(1)
    per_two = one / log_f32(np.array([2.0], np.float32))
    power = (log_f32(np.array([value], np.float32)) * per_two)[0]
    return int(np.round(power)) if abs(power - np.round(power)) < np.float32(1e-3) else None


def _line(magnitudes: Int64, bits: int, end: int) -> Int64:
    """The table's value at `magnitude / 2**bits`, times `2**bits`; `end` from entry 255 on."""
    places = np.minimum(magnitudes >> bits, 254)
    first, second = SIGMOID[places], SIGMOID[places + 1]
    between = (first << bits) + (magnitudes & (1 << bits) - 1) * (second - first)
    return np.where(magnitudes >> bits >= 255, end, between)


def logistic_s16(values: ArrayLike, multiplier: int, shift: int) -> Int64:
    """Rule N29: 1 / (1 + exp(-x)) of s16 values, in units of 2**-15.

    Source: TFLM `kernels/internal/reference/integer_ops/logistic.h`.
    """
    scaled = _scaled(values, multiplier, shift)
    line = _line(np.abs(scaled), 9, 0x7FFF << 10)
    return np.where(scaled >= 0, line + (1 << 9), (1 << 25) - line + (1 << 9) - 1) >> 10


def tanh_s16(values: ArrayLike, multiplier: int, shift: int) -> Int64:
    """Rule N29: the hyperbolic tangent of s16 values, in units of 2**-15: twice the logistic function of the doubled, less 1.

    Source: TFLM `kernels/internal/reference/integer_ops/tanh.h`.
    """
    scaled = _scaled(values, multiplier, shift)
    line = _line(np.abs(scaled), 8, 0xFFFF << 8) - (1 << 23)
    return np.where(scaled >= 0, line + (1 << 7), -line + (1 << 7) - 1) >> 8


def _scaled(values: ArrayLike, multiplier: int, shift: int) -> Int64:
    """Scales values to units of 1/12288, rounded half up; a product beyond 32 bits wraps."""
    half = 1 << shift >> 1
    return wrap_s32(np.asarray(values, np.int64) * multiplier + half) >> shift
