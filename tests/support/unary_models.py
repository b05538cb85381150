"""Drawn models of elementwise operators on one input."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, elements, flip, scale, zero_point
from tests.support.drawn_values import values

_UNIT = (1 / 256, -128)
"""The scale and zero point that SOFTMAX and LOGISTIC give."""


def _lookup(
    c: Choices, name: str, source: tuple[float, int], output: tuple[float, int], **attributes: Attribute
) -> Case:
    """An elementwise operator; the input holds all 256 elements where it is large enough."""
    b = ModelBuilder()
    every = flip(c)
    shape = c.one_of(((256,), (1, 4, 8, 8), (2, 128), (16, 16))) if every else drawn_shape(c, c.integer(0, 4))
    data = np.arange(-128, 128).astype(np.int8).reshape(shape) if every else elements(c, shape)
    operand, result = b.input(shape, DType.S8, *source), b.tensor(shape, DType.S8, *output)
    return one(name, b, [operand], result, [data], **attributes)


def _unary(
    c: Choices, name: str, dtype: DType, *scales: float, data: Array | None = None, **attributes: Attribute
) -> Case:
    """An elementwise operator of s16 or f32 on one input; scales of input and output where there are any."""
    b, shape = ModelBuilder(), drawn_shape(c, c.integer(0, 4))
    if data is None:
        data = values(c, shape, dtype)
    quantizations: Sequence[tuple[float | None, int | None]] = [(each, 0) for each in scales] or [(None, None)] * 2
    operand, result = (each(data.shape, dtype, *q) for each, q in zip((b.input, b.tensor), quantizations, strict=True))
    return one(name, b, [operand], result, [data], **attributes)


def _other_scale(c: Choices, source: float) -> float:
    """A scale at up to 2**16 from another, or the very same."""
    return c.one_of((source, float(np.float32(source * scale(c, -16, 16)))))


def relu(c: Choices) -> Case:
    """RELU between any two scales."""
    source, dtype = scale(c), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    output = _other_scale(c, source)
    if dtype is DType.S8:
        return _lookup(c, "RELU", (source, zero_point(c)), (output, zero_point(c)))
    return _unary(c, "RELU", dtype, *((source, output) if dtype is DType.S16 else ()))


def relu6(c: Choices) -> Case:
    """RELU6; the output's quantization is mostly the input's, as converters write it; TFLM ignores any other."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    if dtype is DType.S8:
        source = (scale(c, -24, 10), zero_point(c))
        return _lookup(c, "RELU6", source, c.one_of((source, source, (scale(c), zero_point(c)))))
    source_scale = scale(c, -24, 10)
    return _unary(c, "RELU6", dtype, *((source_scale, source_scale) if dtype is DType.S16 else ()))


def leaky_relu(c: Choices) -> Case:
    """LEAKY_RELU of any slope, also negative, and between any two scales."""
    source, dtype = scale(c), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    output = _other_scale(c, source)
    alpha = c.one_of((0.0, 0.25, 1.5, -1.0, -0.3, c.integer(-400, 400) / 123))
    if dtype is DType.S8:
        return _lookup(c, "LEAKY_RELU", (source, zero_point(c)), (output, zero_point(c)), alpha=alpha)
    return _unary(c, "LEAKY_RELU", dtype, *((source, output) if dtype is DType.S16 else ()), alpha=alpha)


def hard_swish(c: Choices) -> Case:
    """HARD_SWISH; of s8 with factors that TFLM shifts by less than the 16 bits that it has."""
    if flip(c):
        return _unary(c, "HARD_SWISH", DType.F32)
    source = scale(c, -15, 6)
    output = float(np.float32(source * scale(c, -6, 6)))
    return _lookup(c, "HARD_SWISH", (source, zero_point(c)), (output, zero_point(c)))


def tanh(c: Choices) -> Case:
    """TANH of the input scales of LOGISTIC."""
    return _lookup(c, "TANH", (scale(c, -26, 3), zero_point(c)), (1 / 128, 0))


def elu(c: Choices) -> Case:
    """ELU between any two scales."""
    source = scale(c, -20, 4)
    return _lookup(c, "ELU", (source, zero_point(c)), (_other_scale(c, source), zero_point(c)))


def absolute(c: Choices) -> Case:
    """ABS between any two scales; of s16 also without."""
    source, dtype = scale(c), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    output = _other_scale(c, source)
    if dtype is DType.S8:
        return _lookup(c, "ABS", (source, zero_point(c)), (output, zero_point(c)))
    if dtype is DType.S16 and flip(c):
        # The magnitude of the least s16 wraps in TFLM, and in Kibi it is cut.
        data = np.maximum(values(c, (3, 5), dtype), -(1 << 15) + 1).astype(np.int16)
        return _unary(c, "ABS", dtype, data=data)
    return _unary(c, "ABS", dtype, *((source, output) if dtype is DType.S16 else ()))


def rsqrt(c: Choices) -> Case:
    """RSQRT of what is not negative, at which TFLM stops."""
    dtype, shape = c.one_of((DType.S8, DType.S16, DType.F32)), drawn_shape(c, c.integer(0, 4))
    if dtype is DType.F32:
        return _unary(c, "RSQRT", dtype, data=np.abs(values(c, shape, dtype)) + np.float32(2.0**-100))
    source, zero = scale(c, -12, 6), zero_point(c)
    output = float(np.float32(scale(c, *c.one_of(((-10, 4), (-48, 9)))) / np.sqrt(source)))
    if dtype is DType.S16:
        data = np.maximum(values(c, shape, dtype).astype(np.int32), 0).astype(np.int16)
        return _unary(c, "RSQRT", dtype, source, output, data=data)
    b = ModelBuilder()
    data = np.arange(zero, 128).astype(np.int8)
    operand = b.input(data.shape, DType.S8, source, zero)
    return one("RSQRT", b, [operand], b.tensor(data.shape, DType.S8, output, zero_point(c)), [data])


def sqrt(c: Choices) -> Case:
    """SQRT of what is not negative, also of numbers below the normal ones."""
    data = np.abs(values(c, drawn_shape(c, c.integer(0, 4)), DType.F32))
    return _unary(c, "SQRT", DType.F32, data=(data * np.float32(2.0 ** c.one_of((0, 0, -126)))).astype(np.float32))


def _real(name: str) -> Callable[[Choices], Case]:
    """How models of an operator that has f32 alone are drawn."""
    return lambda c: _unary(c, name, DType.F32)


def logistic(c: Choices) -> Case:
    """LOGISTIC of input scales from 2**-26 on; below 2**-27 and above 2**36 TFLM shifts by more bits than there are."""
    return _lookup(c, "LOGISTIC", (scale(c, -26, 3), zero_point(c)), _UNIT)


UNARY_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "ABS": absolute,
    "CEIL": _real("CEIL"),
    "ELU": elu,
    "FLOOR": _real("FLOOR"),
    "HARD_SWISH": hard_swish,
    "LEAKY_RELU": leaky_relu,
    "LOGISTIC": logistic,
    "NEG": _real("NEG"),
    "RELU": relu,
    "RELU6": relu6,
    "ROUND": _real("ROUND"),
    "RSQRT": rsqrt,
    "SQRT": sqrt,
    "SQUARE": _real("SQUARE"),
    "TANH": tanh,
}
"""How models of each of these operators are drawn."""
