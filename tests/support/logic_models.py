"""Drawn models of operators that compare and decide."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.binary_models import broadcast_shapes
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, flip, scale
from tests.support.drawn_values import drawn_zero_point, values

_ORDERED = (DType.S8, DType.S8, DType.S32, DType.S64, DType.F32)


def truths(c: Choices, shape: Sequence[int]) -> Array:
    """Elements of bool."""
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    return rng.random(tuple(shape)) < c.one_of((0.5, 0.125, 0.875))


def _compared(c: Choices, shape: Sequence[int], dtype: DType) -> Array:
    """Elements that are often equal; of floats also infinities and NaN, whose bits do not matter here."""
    if dtype is DType.BOOL:
        return truths(c, shape)
    data = values(c, shape, dtype)
    if dtype is DType.S8 or flip(c):
        return data
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    few = (-1, 0, 1, -0.0, np.nan, np.inf) if dtype is DType.F32 else (dtype.limits[0], -1, 0, dtype.limits[1])
    return rng.choice(np.array(few, dtype.numpy), tuple(shape))


def _scales(c: Choices) -> tuple[float, float]:
    """Both below 1; often equal, or nearly."""
    first = scale(c, -24, -1)
    return first, c.one_of((first, scale(c, -24, -1), float(np.float32(min(first * 1.01, 0.99)))))


def comparison(c: Choices, name: str) -> Case:
    """A comparison of two inputs, or of an input and a constant."""
    b, inputs, operands = ModelBuilder(), [], []
    dtype = c.one_of((*_ORDERED, DType.BOOL) if name in ("EQUAL", "NOT_EQUAL") else _ORDERED)
    *shapes, output_shape = broadcast_shapes(c)
    constant, scales = c.one_of((None, None, 0, 1)), _scales(c)
    for number, shape in enumerate(shapes):
        data = _compared(c, shape, dtype)
        quantization = (scales[number], drawn_zero_point(c, dtype)) if dtype is DType.S8 else ()
        if number == constant:
            operands.append(b.constant(data, *quantization))
        else:
            operands.append(b.input(shape, dtype, *quantization))
            inputs.append(data)
    return one(name, b, operands, b.tensor(output_shape, DType.BOOL), inputs)


def logical(c: Choices, name: str) -> Case:
    """LOGICAL_AND or LOGICAL_OR of two inputs."""
    b = ModelBuilder()
    *shapes, output_shape = broadcast_shapes(c)
    operands = [b.input(shape, DType.BOOL) for shape in shapes]
    return one(name, b, operands, b.tensor(output_shape, DType.BOOL), [truths(c, shape) for shape in shapes])


def logical_not(c: Choices) -> Case:
    """LOGICAL_NOT of any shape."""
    b, shape = ModelBuilder(), drawn_shape(c, c.integer(0, 4))
    source, output = b.input(shape, DType.BOOL), b.tensor(shape, DType.BOOL)
    return one("LOGICAL_NOT", b, [source], output, [truths(c, shape)])


def select_v2(c: Choices) -> Case:
    """SELECT_V2 of three shapes that broadcast; scales do not count."""
    b, dtype = ModelBuilder(), c.one_of((DType.S8, DType.S16, DType.F32))
    condition, *shapes, output_shape = broadcast_shapes(c, 3)
    operands, inputs = [b.input(condition, DType.BOOL)], [truths(c, condition)]

    def quantization() -> tuple[float, int] | tuple[()]:
        return () if dtype is DType.F32 else (scale(c), drawn_zero_point(c, dtype))

    constant = c.one_of((None, 0, 1))
    for number, shape in enumerate(shapes):
        data = values(c, shape, dtype)
        if number == constant:
            operands.append(b.constant(data, *quantization()))
        else:
            operands.append(b.input(shape, dtype, *quantization()))
            inputs.append(data)
    return one("SELECT_V2", b, operands, b.tensor(output_shape, dtype, *quantization()), inputs)


def reduce_all(c: Choices) -> Case:
    """REDUCE_ALL over any axes."""
    b, rank, keeps = ModelBuilder(), c.integer(1, 4), flip(c)
    shape = drawn_shape(c, rank)
    axes = [axis for axis in range(rank) if flip(c)] or [c.integer(0, rank - 1)]
    output_shape = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    named = np.array([axis - rank if flip(c) else axis for axis in axes], np.int32)
    source, output = b.input(shape, DType.BOOL), b.tensor(output_shape, DType.BOOL)
    return one("REDUCE_ALL", b, [source, b.constant(named)], output, [truths(c, shape)], keep_dims=keeps)


LOGIC_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    **{
        name: partial(comparison, name=name)
        for name in ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
    },
    **{name: partial(logical, name=name) for name in ("LOGICAL_AND", "LOGICAL_OR")},
    "LOGICAL_NOT": logical_not,
    "REDUCE_ALL": reduce_all,
    "SELECT_V2": select_v2,
}
"""How models of each of these operators are drawn."""
