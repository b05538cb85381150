"""Operators on one element of 8 bits at a time, as tables: what proofs over all 256 values look at."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, Tensor
from kibi.ops import Dequantize, Quantize, is_custom
from kibi.ops.elementwise.broadcast import Elementwise2
from kibi.ops.elementwise.table import ALL_S8, TableOperator

Table = NDArray[np.int8]
"""The results for -128 … 127, in order."""

IDENTITY: Table = ALL_S8.astype(np.int8)
"""The table that changes nothing."""
_UNARY = (TableOperator, Quantize, Dequantize)
"""Operators that see one element of one input at a time."""


def is_unary(view: NodeView) -> bool:
    """Whether each element of the output depends on the element at the same place of the one input, and on nothing else."""
    return isinstance(view.op, _UNARY) and not is_custom(view.op)


def answers(view: NodeView, values: Array) -> Array:
    """What a unary operator makes of these elements.

    Args:
        view: a node whose operator is unary.
        values: `[N]`, of the input's type.

    Returns:
        `[N]`, of the output's type.
    """
    row = _with_shapes(view, {}, len(values))
    return np.asarray(row.op.reference(row)([[values]])).reshape(-1)


def table_of(view: NodeView, first: Array = IDENTITY) -> Table:
    """What a unary operator that gives s8 makes of each s8 element, or of these 256 elements that are made of them."""
    return answers(view, first).astype(np.int8)


def tables_of(view: NodeView) -> tuple[Table, ...]:
    """What a node makes of each s8 element of its one input that is computed: a table for each constant that it may meet.

    One table stands for unary operators, one for each distinct element of the constant where an operator on two inputs has a
    constant. No table: the node is nothing of the kind, or its operator is not Kibi's own, so that nothing is known of it.
    """
    if is_custom(view.op):
        return ()
    if any(tensor is not None and tensor.type.dtype is not DType.S8 for _, tensor in view.operands):
        return ()
    if is_unary(view):
        return (table_of(view),)
    if not isinstance(view.op, Elementwise2):
        return ()
    constants = [view[name].data for name in view.op.inputs]
    place = next((place for place, data in enumerate(constants) if data is not None), None)
    if place is None or constants[1 - place] is not None:
        return ()
    return tuple(_with_constant(view, place, element) for element in np.unique(np.asarray(constants[place])))


def _with_constant(view: NodeView, place: int, element: Array) -> Table:
    """The table of an operator on two inputs whose input at that place is one element."""
    row = _with_shapes(view, {view.op.inputs[place]: 1}, len(IDENTITY))
    rows = [[IDENTITY], [IDENTITY]]
    rows[place] = [np.full(1, element, np.int8)]
    return np.asarray(row.op.reference(row)(rows)).reshape(-1).astype(np.int8)


def _with_shapes(view: NodeView, elements: dict[str, int], others: int) -> NodeView:
    """The view on tensors of one row; their numbers of elements by operand, and that of all others."""
    operands = tuple(
        (name, None if tensor is None else _row(tensor, elements.get(name, others))) for name, tensor in view.operands
    )
    return replace(view, operands=operands)


def _row(tensor: Tensor, elements: int) -> Tensor:
    return replace(tensor, type=replace(tensor.type, shape=(1, elements)), data=None)
