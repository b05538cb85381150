"""What drawn models of all types share: shapes, windows, the model around an operator."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.dtypes import Array
from tests.support.choices import Choices
from tests.support.tflite_builder import Attribute, ModelBuilder


@dataclass(frozen=True, slots=True)
class Case:
    """A model and inputs for it.

    Attributes:
        operator: the operator's name, or `NETWORK`.
        model: the `.tflite` file.
        inputs: one array for each of its inputs.
    """

    operator: str
    model: bytes = field(repr=False)
    inputs: tuple[Array, ...] = field(repr=False)


def one(
    name: str,
    builder: ModelBuilder,
    operands: Sequence[int],
    output: int,
    inputs: Sequence[Array],
    **attributes: Attribute,
) -> Case:
    """The model of one operator."""
    builder.operator(name, operands, [output], attributes)
    return Case(name, builder.finish(outputs=[output]), tuple(inputs))


def shape_of_rank(c: Choices, rank: int, most: int = 5) -> tuple[int, ...]:
    """A shape with axes of 1 to `most` elements."""
    return tuple(c.integer(1, most) for _ in range(rank))


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial axis under a window."""

    size: int
    kernel: int
    stride: int
    dilation: int
    output: int

    @staticmethod
    def of(c: Choices, padding: str, *, dilates: bool, size: int | None = None) -> "Axis":
        """An axis of that size, or of any."""
        kernel, stride = c.integer(1, 5), c.integer(1, 3)
        dilation = c.integer(1, 3) if dilates else 1
        window = (kernel - 1) * dilation + 1
        if size is None:
            # Often as long as the window, so that the output has one element along this axis.
            size = c.one_of((c.integer(1, 9), window))
        if padding == "VALID" and size < window:
            kernel, dilation, window = 1, 1, 1
        last = size - 1 if padding == "SAME" else size - window
        return Axis(size, kernel, stride, dilation, last // stride + 1)

    @staticmethod
    def covered(c: Choices, padding: str) -> "Axis":
        """All of the axis under one window, which leaves it on both sides where it is padded."""
        size = c.integer(2, 9)
        return Axis(size, size if padding == "VALID" else size + c.integer(0, 3), size, 1, 1)


def window(c: Choices, *, dilates: bool) -> tuple[str, Axis, Axis]:
    """A padding scheme and the two spatial axes; now and then an input one high or one wide."""
    padding = c.one_of(("SAME", "VALID"))
    height, width = c.one_of(((None, None), (None, None), (1, None), (None, 1)))
    return (
        padding,
        Axis.of(c, padding, dilates=dilates, size=height),
        Axis.of(c, padding, dilates=dilates, size=width),
    )


def factors(c: Choices, total: int, rank: int) -> tuple[int, ...]:
    """A shape of that rank and number of elements."""
    cuts = [1, *(c.one_of([k for k in range(1, total + 1) if total % k == 0]) for _ in range(rank - 1)), total]
    shape = [1] * rank
    rest = total
    for axis, cut in enumerate(cuts[1:rank]):
        shape[axis] = int(np.gcd(cut, rest))
        rest //= shape[axis]
    shape[-1] = rest
    return tuple(shape)
