"""Drawn models of operators that divide, add up and multiply matrices."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.binary_models import broadcast_shapes
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, flip, floats, scale
from tests.support.drawn_values import drawn_zero_point, values


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


def _sum_output_scale(c: Choices, source: float) -> float:
    """Of a sum of s8: TFLM does not survive one below 2**-19 of the input's."""
    return float(np.float32(source * scale(c, -18, 10)))


def add_n(c: Choices) -> Case:
    """ADD_N of inputs and constants, of s8 as many as 32 bits hold whatever the zero point; one may stand in several places."""
    b, dtype, shape = ModelBuilder(), c.one_of((DType.S8, DType.F32)), drawn_shape(c, c.integer(0, 4))
    source = scale(c)
    quantization = (source, drawn_zero_point(c, dtype)) if dtype is DType.S8 else ()
    inputs = [values(c, shape, dtype) for _ in range(c.integer(1, 4))]
    operands = [b.input(shape, dtype, *quantization) for _ in inputs]
    if len(operands) == 1 or flip(c):
        operands.append(operands[0])
    operands += [b.constant(values(c, shape, dtype), *quantization) for _ in range(c.one_of((0, c.integer(0, 10))))]
    made = (_sum_output_scale(c, source), drawn_zero_point(c, dtype)) if dtype is DType.S8 else ()
    return one("ADD_N", b, operands, b.tensor(shape, dtype, *made), inputs)


def cumsum(c: Choices) -> Case:
    """CUMSUM along any axis, from either end; of s8 so short that 32 bits hold all sums."""
    b, dtype, shape = ModelBuilder(), c.one_of((DType.S8, DType.F32)), drawn_shape(c, c.integer(1, 4), 7)
    source, axis = scale(c), c.integer(0, len(shape) - 1)
    quantization = (source, drawn_zero_point(c, dtype)) if dtype is DType.S8 else ()
    operand = b.input(shape, dtype, *quantization)
    named = b.constant(np.array(axis - len(shape) if flip(c) else axis, np.int32).reshape(c.one_of(((), (1,)))))
    made = (_sum_output_scale(c, source), drawn_zero_point(c, dtype)) if dtype is DType.S8 else ()
    output = b.tensor(shape, dtype, *made)
    return one("CUMSUM", b, [operand, named], output, [values(c, shape, dtype)], exclusive=flip(c), reverse=flip(c))


ARITHMETIC_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "ADD_N": add_n,
    "BATCH_MATMUL": batch_matmul,
    "CUMSUM": cumsum,
    **{name: partial(floor_division, name=name) for name in ("FLOOR_DIV", "FLOOR_MOD")},
}
"""How models of each of these operators are drawn."""
