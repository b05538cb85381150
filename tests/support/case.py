"""A drawn model with its inputs, and the words in which models of one operator are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kibi.dtypes import Array
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.choices import Choices


@dataclass(frozen=True, slots=True)
class Case:
    """A model and inputs for it.

    Attributes:
        operator: the operator's name, or `NETWORK`.
        model: the `.tflite` file.
        inputs: one array for each of its inputs.
        further: the inputs of inferences that follow, of a model that has states.
        cycles: of which inferences alone there are outputs: every second, every third, and so on.
    """

    operator: str
    model: bytes = field(repr=False)
    inputs: tuple[Array, ...] = field(repr=False)
    further: tuple[tuple[Array, ...], ...] = field(default=(), repr=False)
    cycles: int = 1

    @property
    def runs(self) -> tuple[tuple[Array, ...], ...]:
        """The inputs of each inference, one after another."""
        return (self.inputs, *self.further)

    @property
    def every_input(self) -> tuple[Array, ...]:
        """The inputs of all inferences in a row."""
        return tuple(array for inputs in self.runs for array in inputs)


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


def drawn_shape(c: Choices, rank: int, most: int = 5) -> tuple[int, ...]:
    """A shape of that rank, each axis from 1 to `most`."""
    return tuple(c.integer(1, most) for _ in range(rank))


def permutation(c: Choices, count: int) -> list[int]:
    """The numbers from 0 on, in any order."""
    left, order = list(range(count)), []
    while left:
        order.append(left.pop(c.integer(0, len(left) - 1)))
    return order


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
