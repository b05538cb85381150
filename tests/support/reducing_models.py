"""Drawn models of PAD, MEAN and SUM in all their types."""

from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, flip, floats, is_float, scale
from tests.support.drawn_values import any_zero_point, values


def _elements(c: Choices, shape: tuple[int, ...], dtype: DType) -> Array:
    return floats(c, shape) if dtype is DType.F32 else values(c, shape, dtype)


def _over_axes(c: Choices, name: str) -> Case:
    """MEAN or SUM over any axes."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    dtype = DType.F32 if is_float(c) else c.one_of((DType.S8, DType.S8, DType.S16))
    shape, keeps = drawn_shape(c, rank, 7), flip(c)
    axes = [axis for axis in range(rank) if flip(c)] or [c.integer(0, rank - 1)]
    output_shape = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    named = np.array([axis - rank if flip(c) else axis for axis in axes], np.int32)
    if len(axes) == 1 and flip(c):
        named = named.reshape(())
    scales: tuple[tuple[float | None, int | None], ...] = ((None, None), (None, None))
    if dtype is not DType.F32:
        second = scale(c)
        # The sum shifted left fits 32 bits: at most 2401 elements of 8 or 16 bits and a sign, and 11 or 3 bits of factor.
        first = float(np.float32(second * scale(c, -12, 10 if dtype is DType.S8 else 2)))
        scales = ((first, any_zero_point(c, dtype)), (second, any_zero_point(c, dtype)))
    source, output = b.input(shape, dtype, *scales[0]), b.tensor(output_shape, dtype, *scales[1])
    return one(name, b, [source, b.constant(named)], output, [_elements(c, shape, dtype)], keep_dims=keeps)


def pad(c: Choices) -> Case:
    """PAD of any axes, mostly not of the batch."""
    b, rank = ModelBuilder(), c.one_of((c.integer(1, 4), c.integer(1, 4), c.integer(1, 5)))
    dtype = c.one_of((DType.S8, DType.S8, DType.S8, DType.S16, DType.S32, DType.F32))
    shape = drawn_shape(c, rank, 5 if rank < 5 else 3)
    quantization = (scale(c), any_zero_point(c, dtype)) if dtype in (DType.S8, DType.S16) else ()
    pads = [(c.one_of((0, 0, 1, 2, 3)), c.one_of((0, 0, 1, 2, 3))) for _ in range(rank)]
    if rank > 2 and c.one_of((True, True, False)):
        pads[0] = (0, 0)
    output_shape = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    source, output = b.input(shape, dtype, *quantization), b.tensor(output_shape, dtype, *quantization)
    return one("PAD", b, [source, b.constant(np.array(pads, np.int32))], output, [_elements(c, shape, dtype)])


REDUCING_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "MEAN": lambda c: _over_axes(c, "MEAN"),
    "PAD": pad,
    "SUM": lambda c: _over_axes(c, "SUM"),
}
"""How models of each of these operators are drawn."""
