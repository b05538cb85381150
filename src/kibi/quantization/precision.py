"""The types that an operator may compute, from the most precise to the least."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.dtypes import DType


@dataclass(frozen=True, slots=True)
class Precision:
    """What an operator computes.

    Attributes:
        name: for people.
        activations: the type of its inputs and outputs: f32, s16 or s8. Of integers, the weights are s8.
    """

    name: str
    activations: DType


PRECISIONS: Sequence[Precision] = (
    Precision("float32", DType.F32),
    Precision("int16", DType.S16),
    Precision("int8", DType.S8),
)
"""The most precise first: a search for types that fit a budget goes down this table. One more type is one more entry."""


def precisions_down_to(activations: DType) -> tuple[Precision, ...]:
    """The entries of the table up to the last one with these activations, the most precise first."""
    last = max(number for number, each in enumerate(PRECISIONS) if each.activations is activations)
    return tuple(PRECISIONS[: last + 1])
