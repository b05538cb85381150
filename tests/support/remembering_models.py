"""Drawn models of operators that have states, each with several inferences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.case import Case, one
from tests.support.choices import Choices, elements, flip, floats, is_float, scale, zero_point
from tests.support.drawn_values import values

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
    rank, units = c.one_of((1, 1, 2, 3)), c.one_of((c.integer(1, 5), 4, 8))
    shape = (c.one_of((1, 1, 2, 3)), c.one_of((1, c.integer(1, 20))))
    sizes = (rank, rank * units, c.one_of((c.integer(1, 9), 8, 12, 16)))
    return _float_svdf(c, shape, *sizes) if is_float(c) else integer_svdf(c, shape, *sizes)


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


def integer_svdf(
    c: Choices,
    shape: tuple[int, int],
    rank: int,
    filters: int,
    memory: int,
    *,
    is_usual: bool = False,
    is_usual_s16: bool = False,
) -> Case:
    """Of s8, with a state of s8 or of s16.

    Args:
        c: what is drawn.
        shape: `[batches, depth]`.
        rank: filters of a unit.
        filters: of all units.
        memory: results that a filter keeps.
        is_usual: with a state of s8, shifted as much as a trained layer, after a RELU or without.
        is_usual_s16: the same with a state of s16, whose results have about the scale of the sums.
    """
    b, is_wide = ModelBuilder(), is_usual_s16 or (not is_usual and flip(c))
    batches, depth = shape
    dtype = DType.S16 if is_wide else DType.S8
    source, weights, time = scale(c, -12, 0), scale(c, -12, 0), scale(c, -16, -5)
    state = float(np.float32(source * weights * 16 * scale(c, -6, 6)))
    sums = float(np.float32(state) * np.float32(time))
    output = float(np.float32(sums * 2**8 * scale(c, -12, 6)))
    bias_ends: tuple[int, ...] = (1 << 12,)
    if is_usual:
        first, second = ((1 + c.integer(0, 4095) / 4096) * 2 ** c.integer(4, most) for most in (10, 8))
        state = float(np.float32(source * weights * first))
        sums = float(np.float32(state) * np.float32(time))
        output, bias_ends = float(np.float32(sums * second)), (1 << 8, 1 << 12, 1 << 29)
    if is_usual_s16:
        first, second = ((1 + c.integer(0, 4095) / 4096) * 2 ** c.integer(*powers) for powers in ((-7, 7), (8, 16)))
        state = float(np.float32(source * weights * first))
        sums = float(np.float32(state) * np.float32(time))
        output = float(np.float32(sums * second))
    # 2**31 less the bias holds as many products of s16, and their sums.
    most = 127 if dtype is DType.S8 else min(32767, (1 << 15) // (2 * memory * rank))
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    end = c.one_of(bias_ends) if is_usual else bias_ends[0]
    operands = [
        b.input(shape, DType.S8, source, zero_point(c)),
        b.constant(elements(c, (filters, depth)), weights, 0),
        b.constant(rng.integers(-most, most + 1, (filters, memory)).astype(dtype.numpy), time, 0),
        b.constant(rng.integers(-end, end, (filters // rank,)).astype(np.int32), sums, 0),
        b.tensor((batches, filters * memory), dtype, state, 0 if is_wide else zero_point(c), variable=True),
    ]
    zero = c.one_of((-128, -128, -1, 0, 5, 127)) if is_usual else zero_point(c)
    result = b.tensor((batches, filters // rank), DType.S8, output, zero)
    return _several(
        "SVDF", b, operands, result, lambda: elements(c, shape), rank=rank, fused_activation_function="RELU"
    )


def lstm(c: Choices) -> Case:
    """UNIDIRECTIONAL_SEQUENCE_LSTM of either order of axes."""
    time_major = flip(c)
    batches, times, depth, units = c.one_of((1, 1, 2, 3)), c.integer(1, 4), c.integer(1, 9), c.integer(1, 6)
    shape = (times, batches) if time_major else (batches, times)
    if is_float(c):
        return _float_lstm(c, (*shape, depth), batches, units, time_major=time_major)
    # Converters make no weights of -128; fast kernels refuse most layers that have some.
    least = c.one_of((-127, -127, -128))
    return integer_lstm(c, (*shape, depth), batches, units, time_major=time_major, least_weight=least)


def _float_lstm(c: Choices, shape: tuple[int, ...], batches: int, units: int, *, time_major: bool) -> Case:
    """Of floats that do not overflow."""
    b = ModelBuilder()
    x, sizes = b.input(shape, DType.F32), [(units, shape[2])] * 4 + [(units, units)] * 4
    matrices = [b.constant(floats(c, size, 100.0)) for size in sizes]
    biases = [b.constant(floats(c, (units,), 100.0)) for _ in range(4)]
    states = [b.tensor((batches, units), DType.F32, variable=True) for _ in range(2)]
    operands = [x, *matrices, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
    return _several(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", b, operands, b.tensor((*shape[:2], units), DType.F32),
        lambda: floats(c, shape, 100.0), time_major=time_major, fused_activation_function="TANH",
        cell_clip=c.one_of((0.0, 0.5, 10.0)),
    )  # fmt: skip


def integer_lstm(
    c: Choices, shape: tuple[int, ...], batches: int, units: int, *, time_major: bool, least_weight: int = -128
) -> Case:
    """Of s8 or s16, with scales of every kind."""
    b, is_wide, depth = ModelBuilder(), flip(c), shape[2]
    dtype = DType.S16 if is_wide else DType.S8
    power = -8 if is_wide else 0
    source, hidden = 2.0**power * scale(c, -8, 0), 2.0**power * scale(c, -9, -5)
    weights = [scale(c, -10, -3) for _ in range(8)]
    zeros = (0, 0) if is_wide else (zero_point(c), zero_point(c))
    x = b.input(shape, dtype, source, zeros[0])
    sizes = [(units, depth)] * 4 + [(units, units)] * 4
    drawn = (np.maximum(elements(c, size), np.int8(least_weight)) for size in sizes)
    matrices = [b.constant(each, size, 0) for each, size in zip(drawn, weights, strict=True)]
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    bias = np.int64 if is_wide else np.int32
    biases = [
        b.constant(rng.integers(-(1 << 14), 1 << 14, (units,)).astype(bias), float(np.float32(source * each)), 0)
        for each in weights[:4]
    ]
    # Scales that are no powers of two are taken for the nearest one.
    cell = c.one_of((2.0**-11, 2.0 ** c.integer(-16, 0), 2.0 ** c.integer(-16, 0) * 1.2))
    cell_shape = c.one_of(((batches, units), (batches * units,)))
    states = [
        b.tensor((batches, units), dtype, hidden, zeros[1], variable=True),
        b.tensor(cell_shape, DType.S16, cell, 0, variable=True),
    ]
    operands = [x, *matrices, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
    output = b.tensor((*shape[:2], units), dtype, hidden, zeros[1])
    return _several(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", b, operands, output, lambda: values(c, shape, dtype),
        time_major=time_major, fused_activation_function="TANH", cell_clip=c.one_of((0.0, 0.5, 10.0)),
    )  # fmt: skip


def circular_buffer(c: Choices) -> Case:
    """CIRCULAR_BUFFER alone, or with an operator behind it; its output is a variable, as converters write it, or is not."""
    b = ModelBuilder()
    slots, inner = c.one_of((1, 2, 4, 5, 13)), (c.one_of((1, 1, 3)), c.integer(1, 5))
    cycles = c.integer(0, 3)
    quantization = (scale(c), zero_point(c))
    is_alone = flip(c)
    x = b.input((1, 1, *inner), DType.S8, *quantization)
    # TFLM keeps an output that is no variable only where nothing else takes its bytes: where it is the model's output.
    y = b.tensor((1, slots, *inner), DType.S8, *quantization, variable=not is_alone or flip(c))
    # A flexbuffer map of one entry.
    options = b"cycles_max\0\1\x0c\1\1\1" + bytes([cycles]) + b"\4\2\x24\1" if cycles else None
    b.operator("CUSTOM", [x], [y], custom_code="CIRCULAR_BUFFER", custom_options=options)
    z = y
    if not is_alone:
        z = b.tensor((1, slots, *inner), DType.S8, *quantization)
        b.operator("RELU", [y], [z])
    first, *further = ((elements(c, (1, 1, *inner)),) for _ in range(7))
    period = cycles or (1 if slots in (5, 13) else 2)
    return Case("CIRCULAR_BUFFER", b.finish([z]), first, tuple(further), period)


REMEMBERING_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "CIRCULAR_BUFFER": circular_buffer,
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
}
"""How models of each of these operators are drawn."""
