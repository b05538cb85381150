"""Drawn models of operators that pick or place elements by numbers that may be computed, and of shapes."""

from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ops import DynamicUpdateSlice, ReverseV2
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, elements, flip, scale, zero_point
from tests.support.drawn_values import drawn_zero_point, values
from tests.support.moving_models import data_of


def _quantization(c: Choices, dtype: DType) -> tuple[float, int] | tuple[()]:
    return (scale(c), drawn_zero_point(c, dtype)) if dtype in (DType.S8, DType.S16) else ()


def reverse_v2(c: Choices) -> Case:
    """REVERSE_V2 of neighbouring axes, named in any order."""
    b, shape, dtype = ModelBuilder(), drawn_shape(c, c.integer(1, 5), 4), c.one_of(ReverseV2.types)
    first = c.integer(0, len(shape) - 1)
    axes = list(range(first, c.integer(first, len(shape) - 1) + 1))
    named = [axis - len(shape) if flip(c) else axis for axis in (axes[::-1] if flip(c) else axes)]
    quantization = _quantization(c, dtype)
    source, output = b.input(shape, dtype, *quantization), b.tensor(shape, dtype, *quantization)
    data = data_of(c, shape, dtype)
    return one("REVERSE_V2", b, [source, b.constant(np.array(named, np.int32))], output, [data])


def broadcast_args(c: Choices) -> Case:
    """BROADCAST_ARGS of shapes that broadcast."""
    b, dtype, rank = ModelBuilder(), c.one_of((DType.S32, DType.S64)), c.integer(1, 5)
    output = drawn_shape(c, rank, 9)
    shapes: list[Array] = []
    for other in (1, 2):
        shape = [1 if c.one_of((0, 0, 1, 2)) == other else size for size in output]
        cut = 0
        while cut < rank - 1 and shape[cut] == 1 and flip(c):
            cut += 1
        shapes.append(np.array(shape[cut:], dtype.numpy))
    operands = [b.input(shape.shape, dtype) for shape in shapes]
    return one("BROADCAST_ARGS", b, operands, b.tensor((max(shape.size for shape in shapes),), dtype), shapes)


def dynamic_update_slice(c: Choices) -> Case:
    """DYNAMIC_UPDATE_SLICE at any place, also outside; the place and the input may be constants."""
    b, dtype = ModelBuilder(), c.one_of(DynamicUpdateSlice.types)
    shape = drawn_shape(c, c.integer(1, 5))
    update = [c.one_of((size, c.integer(1, size))) for size in shape]
    place = np.array([c.integer(-2, size + 1) for size in shape], c.one_of((np.int32, np.int64)))
    quantization = _quantization(c, dtype)
    data, inputs, operands = [data_of(c, shape, dtype), data_of(c, update, dtype), place], [], []
    constant = c.one_of((None, 0, 2))
    for number, array in enumerate(data):
        how = quantization if number < 2 else ()
        if number == constant:
            operands.append(b.constant(array, *how))
        else:
            operands.append(b.input(array.shape, DType.of(array), *how))
            inputs.append(array)
    return one("DYNAMIC_UPDATE_SLICE", b, operands, b.tensor(shape, dtype, *quantization), inputs)


def embedding_lookup(c: Choices) -> Case:
    """EMBEDDING_LOOKUP in a table that is a constant or computed; of s8 also as floats."""
    b, kind = ModelBuilder(), c.one_of((DType.S8, DType.F32))
    made = c.one_of((kind, DType.F32))
    shape = drawn_shape(c, c.integer(2, 4))
    table = elements(c, shape) if kind is DType.S8 else values(c, shape, kind)
    zero = 0 if made is not kind else zero_point(c)
    quantization = (scale(c, -100, 100), zero) if kind is DType.S8 else ()
    numbers = np.random.default_rng(c.integer(0, 1 << 16)).integers(0, shape[0], (c.integer(1, 6),)).astype(np.int32)
    operands = [b.input(numbers.shape, DType.S32)]
    inputs: list[Array] = [numbers]
    if flip(c):
        operands.append(b.constant(table, *quantization))
    else:
        operands.append(b.input(shape, kind, *quantization))
        inputs.append(table)
    output = b.tensor((numbers.size, *shape[1:]), made, *(quantization if made is DType.S8 else ()))
    return one("EMBEDDING_LOOKUP", b, operands, output, inputs)


PICKING_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "BROADCAST_ARGS": broadcast_args,
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "EMBEDDING_LOOKUP": embedding_lookup,
    "REVERSE_V2": reverse_v2,
}
"""How models of each of these operators are drawn."""
