"""Drawn models of operators that divide, add up and multiply matrices."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kibi.dtypes import DType
from tests.support.binary_models import broadcast_shapes
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, flip, floats, scale
from tests.support.drawn_values import drawn_zero_point, values
from tests.support.tflite_builder import ModelBuilder


def floor_division(c: Choices, name: str) -> Case:
    """FLOOR_DIV or FLOOR_MOD by what is not 0."""
    b, is_plain = ModelBuilder(), flip(c)
    *shapes, output_shape = broadcast_shapes(c)
    dividend, divisor = (floats(c, shape) if is_plain else values(c, shape, DType.F32) for shape in shapes)
    divisor = np.where(divisor == 0, np.float32(c.one_of((0.5, -3, 1e-40))), divisor).astype(np.float32)
    operands = [b.input(shape, DType.F32) for shape in shapes]
    return one(name, b, operands, b.tensor(output_shape, DType.F32), [dividend, divisor])


def _batches(c: Choices) -> tuple[tuple[int, ...], ...]:
    """Batch axes of both inputs and of the output, up to three."""
    output = drawn_shape(c, c.integer(0, 3), 3)
    shapes = []
    for other in (1, 2):
        shape = [1 if c.one_of((0, 0, 1, 2)) == other else size for size in output]
        while shape and shape[0] == 1 and flip(c):
            shape.pop(0)
        shapes.append(tuple(shape))
    return (*shapes, tuple(int(size) for size in np.broadcast_shapes(*shapes)))


def batch_matmul(c: Choices) -> Case:
    """BATCH_MATMUL of any type and batches, either input in either order; one of them may be a constant."""
    b, dtype = ModelBuilder(), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    rows, depth, columns = c.integer(1, 5), c.one_of((c.integer(1, 6), c.integer(1, 40))), c.integer(1, 5)
    adjoint = flip(c), flip(c)
    *batches, output_batches = _batches(c)
    matrices = [(depth, rows) if adjoint[0] else (rows, depth), (columns, depth) if adjoint[1] else (depth, columns)]
    first, second = scale(c, -12, 2), scale(c, -12, 2)
    # The factor of s16 has at most 7 integer bits, and results stay inside 32 bits.
    factor = scale(c, -20, 3 if dtype is DType.S8 else -8)
    scales = (first, second, float(np.float32(first * second / factor)))
    constant, operands, inputs = c.one_of((None, None, 0, 1)), [], []
    for number, (batch, matrix) in enumerate(zip(batches, matrices, strict=True)):
        shape = (*batch, *matrix)
        data = floats(c, shape) if dtype is DType.F32 else values(c, shape, dtype)
        quantization = () if dtype is DType.F32 else (scales[number], drawn_zero_point(c, dtype))
        if number == constant:
            operands.append(b.constant(data, *quantization))
        else:
            operands.append(b.input(shape, dtype, *quantization))
            inputs.append(data)
    quantization = () if dtype is DType.F32 else (scales[2], drawn_zero_point(c, dtype))
    output = b.tensor((*output_batches, rows, columns), dtype, *quantization)
    return one("BATCH_MATMUL", b, operands, output, inputs, adj_x=adjoint[0], adj_y=adjoint[1])


ARITHMETIC_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "BATCH_MATMUL": batch_matmul,
    **{name: partial(floor_division, name=name) for name in ("FLOOR_DIV", "FLOOR_MOD")},
}
"""How models of each of these operators are drawn."""
