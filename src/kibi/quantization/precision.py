"""The types that an operator may compute, from the most precise to the least."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.dtypes import DType


@dataclass(frozen=True, slots=True)
class Precision:
    """What an operator computes.

    Attributes:
        name: for people.
        activations: the type of its inputs and outputs: f32, s16 or s8.
        is_int4: of integers, True if its weights are int4, and not int8; some operators can have them.
    """

    name: str
    activations: DType
    is_int4: bool = False


FLOAT32 = Precision("float32", DType.F32)
INT16 = Precision("int16", DType.S16)
INT8 = Precision("int8", DType.S8)
INT4 = Precision("int4", DType.S8, is_int4=True)
PRECISIONS: Sequence[Precision] = (FLOAT32, INT16, INT8, INT4)
"""The most precise first: a search for types that fit a budget goes down this table. One more type is one more entry."""


def precisions_down_to(activations: DType, *, is_int4: bool = False) -> tuple[Precision, ...]:
    """The entries of the table up to the last one with these activations, the most precise first.

    Args:
        activations: f32, s16 or s8.
        is_int4: True if weights may be int4.
    """
    last = max(
        number
        for number, each in enumerate(PRECISIONS)
        if each.activations is activations and (is_int4 or not each.is_int4)
    )
    return tuple(PRECISIONS[: last + 1])
