"""Attributes of operators: whole numbers that kernels can hold."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np

from kibi.ir.operator import Operator, OperatorError
from kibi.kernels.params import PARAMS

_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


def check_attributes(op: Operator) -> None:
    """Checks the whole numbers among an operator's attributes, also those in tuples and records.

    Operators with kernels of their own say themselves what fits: their parameters may have 64 bits.

    Raises:
        OperatorError: one does not fit 32 bits, as Kibi's own kernels hold it.
    """
    if not all(kernel in PARAMS for kernel in op.kernels):
        return
    declared = fields(op)  # type: ignore[arg-type]  # operators are dataclasses
    for each in (field for field in declared if field.name not in op.subgraph_names):
        for number in _numbers(getattr(op, each.name)):
            if not _LOWEST <= number <= _HIGHEST:
                size = f"{number}" if abs(number) < 1 << 64 else f"a number of {number.bit_length()} bits"
                what = f"{each.name} is {size}, which 32 bits do not hold"
                raise OperatorError(what, f"Give {each.name} a number from {_LOWEST} to {_HIGHEST}")


def _numbers(value: object) -> Iterator[int]:
    """The whole numbers of an attribute."""
    if isinstance(value, int | np.integer):
        yield int(value)
    elif isinstance(value, tuple):
        for each in value:
            yield from _numbers(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _numbers(getattr(value, field.name))
