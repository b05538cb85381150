"""Tables of operators on single 8-bit elements, for proofs that compare all 256 values."""

from collections.abc import Sequence
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
"""The table that maps each value to itself."""
_UNARY = (TableOperator, Quantize, Dequantize)
"""Operators whose output elements depend on one element of one input."""


def is_unary(view: NodeView) -> bool:
    """True if each output element depends only on the element at the same place of the one input."""
    return isinstance(view.op, _UNARY) and not is_custom(view.op)


def answers(view: NodeView, values: Array) -> Array:
    """Returns the outputs of a unary operator for these elements.

    Args:
        view: a node whose operator is unary.
        values: `[N]`, of the input's type.

    Returns:
        `[N]`, of the output's type.
    """
    row = _with_shapes(view, {}, len(values))
    return np.asarray(row.op.reference(row)([[values]])).reshape(-1)


def table_of(view: NodeView, first: Array = IDENTITY) -> Table:
    """Returns the table of a unary operator with s8 output, for each s8 element or for the 256 entries of `first`."""
    return answers(view, first).astype(np.int8)


def tables_of(view: NodeView) -> tuple[Table, ...]:
    """Returns tables from the s8 elements of the one computed input to the output: one for each constant that may meet them.

    A unary operator has one table. An operator on two inputs with a constant has one table for each distinct element of the
    constant. All other nodes have none; neither have operators that are not Kibi's own, because nothing is known of them.
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


def outputs_for(view: NodeView, given: Sequence[Array]) -> Array:
    """Returns the results of an operator on single elements of any type, for elements `[N]` of each row input."""
    row = _with_shapes(view, {}, len(given[0]))
    return np.asarray(row.op.reference(row)([[each] for each in given])).reshape(-1)


def _with_constant(view: NodeView, place: int, element: Array) -> Table:
    """Returns the table of an operator on two inputs, with the input at this place fixed to one element."""
    row = _with_shapes(view, {view.op.inputs[place]: 1}, len(IDENTITY))
    rows = [[IDENTITY], [IDENTITY]]
    rows[place] = [np.full(1, element, np.int8)]
    return np.asarray(row.op.reference(row)(rows)).reshape(-1).astype(np.int8)


def _with_shapes(view: NodeView, elements: dict[str, int], others: int) -> NodeView:
    """Returns the view with tensors of one row, of the given numbers of elements by operand, and `others` for the rest."""
    operands = tuple(
        (name, None if tensor is None else _row(tensor, elements.get(name, others))) for name, tensor in view.operands
    )
    return replace(view, operands=operands)


def _row(tensor: Tensor, elements: int) -> Tensor:
    return replace(tensor, type=replace(tensor.type, shape=(1, elements)), data=None)
