"""Drawn models of elementwise operators on two inputs that broadcast."""

from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, flip, scale
from tests.support.drawn_values import ACTIVATIONS, SMALLEST_OUTPUT_SCALE, drawn_zero_point, values


def _many_axes(c: Choices, count: int, most_axes: int) -> tuple[tuple[int, ...], ...]:
    """The same of more than four axes: an input has all of them, the last one, or a single element; or any of them."""
    output = drawn_shape(c, c.integer(5, most_axes), 3)
    if flip(c):
        shapes = [c.one_of((output, output[-1:], ())) for _ in range(count)]
    else:
        shapes = [tuple(size if flip(c) else 1 for size in output) for _ in range(count)]
    return (*shapes, tuple(int(size) for size in np.broadcast_shapes(*shapes)))


def broadcast_shapes(c: Choices, count: int = 2, most_axes: int = 6) -> tuple[tuple[int, ...], ...]:
    """Shapes of inputs and of what they broadcast to; axes of 1 at the front may be left out."""
    if most_axes > 4 and c.integer(0, 7) == 7:
        return _many_axes(c, count, most_axes)
    output = drawn_shape(c, c.integer(0, 4), 4)
    shapes = []
    for other in range(1, count + 1):
        shape = list(output)
        for axis in range(len(shape)):
            if c.one_of((0, 0, 1, 2)) == (other - 1) % 2 + 1:
                shape[axis] = 1
        while shape and shape[0] == 1 and flip(c):
            shape.pop(0)
        shapes.append(tuple(shape))
    return (*shapes, tuple(int(size) for size in np.broadcast_shapes(*shapes)))


Scales = tuple[float, float, float] | None
"""Of both inputs and the output; None where there are none."""


def _pair(
    c: Choices,
    name: str,
    dtype: DType,
    scales: Scales,
    dtype2: DType | None = None,
    *,
    divisor: Callable[[Array, int], Array] | None = None,
    **attributes: Attribute,
) -> Case:
    """An operator on two inputs that broadcast: two inputs, an input and a constant, or an input and itself.

    `dtype2` is the second input's type where it is another. `divisor` changes the elements of that input, whose zero point it is
    given.
    """
    b, inputs, operands = ModelBuilder(), [], []
    *shapes, output_shape = broadcast_shapes(c, most_axes=4 if name == "PRELU" and dtype is DType.F32 else 6)
    constant = c.one_of((None, None, 0, 1))
    for number, (shape, kind) in enumerate(zip(shapes, (dtype, dtype2 or dtype), strict=True)):
        zero = drawn_zero_point(c, kind)
        data = values(c, shape, kind)
        if divisor is not None and number == 1:
            data = divisor(data, zero)
        quantization = () if scales is None else (scales[number], zero)
        if number == constant:
            operands.append(b.constant(data, *quantization))
        else:
            operands.append(b.input(shape, kind, *quantization))
            inputs.append(data)
    is_twice = (
        constant is None and shapes[0] == shapes[1] == output_shape and divisor is None and dtype2 in (None, dtype)
    )
    if is_twice and flip(c):
        operands = [operands[0]] * 2
    quantization = () if scales is None else (max(SMALLEST_OUTPUT_SCALE, scales[2]), drawn_zero_point(c, dtype))
    output = b.tensor(output_shape, dtype, *quantization)
    return one(name, b, operands, output, inputs, **attributes)


def _arithmetic(c: Choices, name: str, scales: tuple[float, float, float]) -> Case:
    """ADD, SUB or MUL of any type."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.S32, DType.F32))
    quantized = scales if dtype in (DType.S8, DType.S16) else None
    return _pair(c, name, dtype, quantized, fused_activation_function=c.one_of(ACTIVATIONS))


def _sum_scales(c: Choices, highest_power: int = 16) -> tuple[float, float, float]:
    """Scales of which the output's is at least 2**-13 of the larger input's: below that the factor of s16 is not below 1."""
    first = scale(c, -12, 2)
    second = float(np.float32(first * scale(c, -9, 9)))
    return first, second, float(np.float32(max(first, second) * scale(c, -13, highest_power)))


def add(c: Choices) -> Case:
    """ADD of any type, with any broadcasting."""
    return _arithmetic(c, "ADD", _sum_scales(c))


def sub(c: Choices) -> Case:
    """SUB of any type, with any broadcasting; TFLM does not survive a factor that is 0."""
    return _arithmetic(c, "SUB", _sum_scales(c, 10))


def mul(c: Choices) -> Case:
    """MUL of any type, with any broadcasting, and factors from 2**-20 to 2**14."""
    first, second = scale(c, -12, 2), scale(c, -12, 2)
    return _arithmetic(c, "MUL", (first, second, float(np.float32(first * second / scale(c, -20, 13)))))


def div(c: Choices) -> Case:
    """DIV of any type by what is not 0; s8 by divisors whose quotients TFLM shifts by no more bits than there are."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S32, DType.F32))
    power = c.integer(1, 20)

    def divisor(data: Array, zero: int) -> Array:
        most = min(1 << min(power, 8), 256) - 1 if dtype is DType.S8 else 1 << 30
        centred = data.astype(np.float64 if dtype is DType.F32 else np.int64) - zero
        wanted = np.where(centred == 0, 1, np.clip(centred, -most, most)) + zero
        # A divisor of -1 would overflow at the least s32.
        wanted = np.where(wanted == -1, 3, wanted) if dtype is DType.S32 else wanted
        if dtype is DType.S8:
            wanted = np.where(
                (wanted < -128) | (wanted > 127) | (wanted == zero), zero + (1 if zero < 127 else -1), wanted
            )
        return wanted.astype(dtype.numpy)

    first, second = scale(c, -12, 2), scale(c, -12, 2)
    factor = (1 + c.integer(0, 255) / 256) * 2.0 ** (power - 1)
    scales = (first, second, float(np.float32(first / second / factor))) if dtype is DType.S8 else None
    return _pair(c, "DIV", dtype, scales, divisor=divisor, fused_activation_function=c.one_of(ACTIVATIONS))


def _extreme(c: Choices, name: str) -> Case:
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.S32, DType.S64, DType.F32))
    return _pair(c, name, dtype, (scale(c), scale(c), scale(c)) if dtype in (DType.S8, DType.S16) else None)


def maximum(c: Choices) -> Case:
    """MAXIMUM of any type, and of any scales, which do not count."""
    return _extreme(c, "MAXIMUM")


def minimum(c: Choices) -> Case:
    """MINIMUM of any type, and of any scales, which do not count."""
    return _extreme(c, "MINIMUM")


def squared_difference(c: Choices) -> Case:
    """SQUARED_DIFFERENCE of any type."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.S32, DType.F32))
    first = scale(c, -12, 2)
    second = float(np.float32(first * scale(c, -5, 5)))
    largest = max(first, second)
    # Squares of s8 have 14 bits more than those of the inputs.
    output = largest * largest * scale(c, -8, 12)
    scales = (first, second, float(np.float32(output)))
    return _pair(c, "SQUARED_DIFFERENCE", dtype, scales if dtype in (DType.S8, DType.S16) else None)


def prelu(c: Choices) -> Case:
    """PRELU with slopes that broadcast, or are broadcast to; those of s16 are s8."""
    dtype = c.one_of((DType.S8, DType.S16, DType.F32))
    first, second = scale(c, -12, 2), scale(c, -12, 2)
    output = float(np.float32(first * scale(c, -10, 10)))
    slopes = DType.S8 if dtype is DType.S16 else dtype
    return _pair(c, "PRELU", dtype, None if dtype is DType.F32 else (first, second, output), slopes)


BINARY_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "ADD": add,
    "DIV": div,
    "MAXIMUM": maximum,
    "MINIMUM": minimum,
    "MUL": mul,
    "PRELU": prelu,
    "SQUARED_DIFFERENCE": squared_difference,
    "SUB": sub,
}
"""How models of each of these operators are drawn."""
