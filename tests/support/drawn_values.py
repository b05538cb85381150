"""Elements and zero points of any type, as they are drawn."""

from collections.abc import Sequence

import numpy as np

from kibi.dtypes import Array, DType
from tests.support.choices import Choices, elements, zero_point

ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
"""Of an operator's attribute."""
SMALLEST_OUTPUT_SCALE = 2.0**-28
"""TFLM and Kibi refuse a fused activation whose 6 does not fit 32 bits in the output's scale."""


def values(c: Choices, shape: Sequence[int], dtype: DType) -> Array:
    """Elements of any type: of floats and long integers also far ones, but no infinities and no NaN, whose bits differ."""
    if dtype is DType.S8:
        return elements(c, shape)
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    if dtype is not DType.F32:
        low, high = dtype.limits
        style = c.one_of(("uniform", "near", "ends"))
        if style == "ends":
            ends = np.clip([low, low + 1, -1, 0, 1, high - 1, high], low, high)
            return rng.choice(ends.astype(dtype.numpy), tuple(shape))
        near = style == "near"
        first, last = (max(low, -9), 10) if near else (low, high)
        return rng.integers(first, last, tuple(shape), endpoint=True).astype(dtype.numpy)
    powers = {"ordinary": (-3, 4), "far": (-120, 120), "halves": (0, 1)}[c.one_of(("ordinary", "far", "halves"))]
    real = rng.uniform(-1.0, 1.0, tuple(shape)) * 2.0 ** rng.integers(*powers, tuple(shape))
    if powers == (0, 1):
        real = np.round(real * 20) / 2
    return np.asarray(real, np.float32)


def drawn_zero_point(c: Choices, dtype: DType) -> int:
    """Any of s8; 0 of s16."""
    return zero_point(c) if dtype is DType.S8 else 0


def any_zero_point(c: Choices, dtype: DType) -> int:
    """A zero point of any integer type, often at an end."""
    low, high = dtype.limits
    return c.one_of((0, low, high, c.integer(low, high)))
