"""The shared checks of the Signal operators, which are those of TFLM for front ends of speech."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, Operator, OperatorError, RowAccess, StatefulOperator
from kibi.ops import checks


@dataclass(frozen=True, slots=True)
class Vectors(Operator):
    """An operator on whole tensors, in one step."""

    def steps(self, view: NodeView) -> int:
        """All at once."""
        del view
        return 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Whole tensors."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in view.row_tensors)


@dataclass(frozen=True, slots=True)
class StatefulLines(StatefulOperator):
    """An operator that remembers something, on lines along the last axis, all in one step."""

    def steps(self, view: NodeView) -> int:
        """All at once."""
        del view
        return 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Each line by itself."""
        kind = view["input"].type
        lines, parts = kind.elements // kind.shape[-1], kind.row_elements // kind.shape[-1]
        return (RowAccess.every(lines, 1, parts),)


def apart(view: NodeView) -> tuple[int, ...]:
    """The distances of a kernel whose outputs are apart from each row that is read: the most that a step makes of one."""
    most = max(tensor.type.size_bytes // view.steps for tensor in view.outputs)
    return (most,) * len(view.row_tensors)


def vector(view: NodeView, operand: str, dtype: DType, elements: int | None = None) -> int:
    """The elements of an operand that must have one axis, this type, and, where it is given, this size.

    Raises:
        OperatorError: it has not.
    """
    checks.dtype(view, operand, dtype)
    (found,) = checks.rank(view, operand, 1)
    if elements not in (None, found):
        raise OperatorError(f"{operand} has {found} elements, but {elements} are required", operand=operand)
    return found


def within(name: str, value: int, low: int, high: int) -> None:
    """Check an attribute against a closed range.

    Raises:
        OperatorError: it is outside.
    """
    if not low <= value <= high:
        raise OperatorError(f"{name} is {value}, but {low} to {high} are possible")


def lines_of(view: NodeView, operand: str) -> tuple[tuple[int, ...], int]:
    """The axes of an operand before its last, which must be there, and the last.

    Raises:
        OperatorError: it has no axis.
    """
    shape = view[operand].type.shape
    if not shape:
        raise OperatorError(f"{operand} has no axis, but one is required at least", operand=operand)
    return shape[:-1], shape[-1]


def whole(pieces: Sequence[Array | None]) -> Any:
    """The elements of all rows, in order."""
    return np.concatenate([np.asarray(piece).reshape(-1) for piece in pieces])
