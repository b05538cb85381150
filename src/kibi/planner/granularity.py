"""The unit of a plan: tensors or rows."""

from enum import StrEnum

from kibi.errors import PlanError


class Granularity(StrEnum):
    """The unit that a plan orders and places.

    TENSOR: each operator runs to completion, each tensor is one buffer. ROW: row steps of operators alternate between
    cuts, and rows live and die one by one, wherever that lowers the peak.
    """

    TENSOR = "tensor"
    ROW = "row"


def granularity_named(name: str) -> Granularity:
    """The granularity of that name.

    Raises:
        PlanError: no such name exists; the text lists those that do.
    """
    try:
        return Granularity(name)
    except ValueError:
        raise PlanError(f"unknown granularity {name!r}. There are: {', '.join(Granularity)}.") from None
