"""Drawn models of operators that have states, each with several inferences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kibi.dtypes import Array, DType
from tests.support.case import Case, one
from tests.support.choices import Choices, elements, flip, floats, is_float, scale, zero_point
from tests.support.tflite_builder import Attribute, ModelBuilder

_RUNS = 4


def _several(
    name: str,
    b: ModelBuilder,
    operands: Sequence[int],
    output: int,
    draw: Callable[[], Array],
    **attributes: Attribute,
) -> Case:
    """The model of one operator with one input, and several inferences."""
    first, *further = ((draw(),) for _ in range(_RUNS))
    return replace(one(name, b, operands, output, first, **attributes), further=tuple(further))


def svdf(c: Choices) -> Case:
    """SVDF; sums fit 32 bits, which TFLM leaves undefined otherwise."""
    rank, units = c.one_of((1, 2, 3)), c.integer(1, 5)
    shape = (c.one_of((1, 1, 2, 3)), c.one_of((1, c.integer(1, 20))))
    sizes = (rank, rank * units, c.integer(1, 9))
    return _float_svdf(c, shape, *sizes) if is_float(c) else _integer_svdf(c, shape, *sizes)


def _float_svdf(c: Choices, shape: tuple[int, int], rank: int, filters: int, memory: int) -> Case:
    b = ModelBuilder()
    operands = [
        b.input(shape, DType.F32),
        b.constant(floats(c, (filters, shape[1]))),
        b.constant(floats(c, (filters, memory))),
        b.constant(floats(c, (filters // rank,))),
        b.tensor((shape[0], filters * memory), DType.F32, variable=True),
    ]
    output = b.tensor((shape[0], filters // rank), DType.F32)
    activation = c.one_of(("NONE", "RELU", "RELU6", "RELU_N1_TO_1"))
    return _several(
        "SVDF", b, operands, output, lambda: floats(c, shape), rank=rank, fused_activation_function=activation
    )


def _integer_svdf(c: Choices, shape: tuple[int, int], rank: int, filters: int, memory: int) -> Case:
    b, is_wide = ModelBuilder(), flip(c)
    batches, depth = shape
    dtype = DType.S16 if is_wide else DType.S8
    source, weights, time = scale(c, -12, 0), scale(c, -12, 0), scale(c, -16, -5)
    state = float(np.float32(source * weights * 16 * scale(c, -6, 6)))
    sums = float(np.float32(state) * np.float32(time))
    output = float(np.float32(sums * 2**8 * scale(c, -12, 6)))
    # 2**31 less the bias holds as many products of s16, and their sums.
    most = 127 if dtype is DType.S8 else min(32767, (1 << 15) // (2 * memory * rank))
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    operands = [
        b.input(shape, DType.S8, source, zero_point(c)),
        b.constant(elements(c, (filters, depth)), weights, 0),
        b.constant(rng.integers(-most, most + 1, (filters, memory)).astype(dtype.numpy), time, 0),
        b.constant(rng.integers(-(1 << 12), 1 << 12, (filters // rank,)).astype(np.int32), sums, 0),
        b.tensor((batches, filters * memory), dtype, state, 0 if is_wide else zero_point(c), variable=True),
    ]
    result = b.tensor((batches, filters // rank), DType.S8, output, zero_point(c))
    return _several(
        "SVDF", b, operands, result, lambda: elements(c, shape), rank=rank, fused_activation_function="RELU"
    )


REMEMBERING_MODELS: Mapping[str, Callable[[Choices], Case]] = {"SVDF": svdf}
"""How models of each of these operators are drawn."""
