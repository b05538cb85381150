"""Operators on one element of 8 bits at a time, as tables: what proofs over all 256 values look at."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Site, Tensor
from kibi.ops import Dequantize, Quantize, is_custom
from kibi.ops.elementwise.broadcast import Elementwise2
from kibi.ops.elementwise.table import ALL_S8, TableOperator

Table = NDArray[np.int8]
"""The results for -128 … 127, in order."""

IDENTITY: Table = ALL_S8.astype(np.int8)
"""The table that changes nothing."""
_UNARY = (TableOperator, Quantize, Dequantize)
"""Operators that see one element of one input at a time."""


def is_unary(site: Site) -> bool:
    """Whether each element of the output depends on the element at the same place of the one input, and on nothing else."""
    return isinstance(site.op, _UNARY) and not is_custom(site.op)


def answers(site: Site, values: Array) -> Array:
    """What a unary operator makes of these elements.

    Args:
        site: a node whose operator is unary.
        values: `[N]`, of the input's type.

    Returns:
        `[N]`, of the output's type.
    """
    row = _with_shapes(site, {}, len(values))
    return np.asarray(row.op.reference(row)([[values]])).reshape(-1)


def table_of(site: Site, first: Array = IDENTITY) -> Table:
    """What a unary operator that gives s8 makes of each s8 element, or of these 256 elements that are made of them."""
    return answers(site, first).astype(np.int8)


def tables_of(site: Site) -> tuple[Table, ...]:
    """What a node makes of each s8 element of its one input that is computed: a table for each constant that it may meet.

    One table stands for unary operators, one for each distinct element of the constant where an operator on two inputs has a
    constant. No table: the node is nothing of the kind, or its operator is not Kibi's own, so that nothing is known of it.
    """
    if is_custom(site.op):
        return ()
    if any(tensor is not None and tensor.type.dtype is not DType.S8 for _, tensor in site.operands):
        return ()
    if is_unary(site):
        return (table_of(site),)
    if not isinstance(site.op, Elementwise2):
        return ()
    constants = [site[name].data for name in site.op.inputs]
    place = next((place for place, data in enumerate(constants) if data is not None), None)
    if place is None or constants[1 - place] is not None:
        return ()
    return tuple(_with_constant(site, place, element) for element in np.unique(np.asarray(constants[place])))


def _with_constant(site: Site, place: int, element: Array) -> Table:
    """The table of an operator on two inputs whose input at that place is one element."""
    row = _with_shapes(site, {site.op.inputs[place]: 1}, len(IDENTITY))
    rows = [[IDENTITY], [IDENTITY]]
    rows[place] = [np.full(1, element, np.int8)]
    return np.asarray(row.op.reference(row)(rows)).reshape(-1).astype(np.int8)


def _with_shapes(site: Site, elements: dict[str, int], others: int) -> Site:
    """The site on tensors of one row; their numbers of elements by operand, and that of all others."""
    operands = tuple(
        (name, None if tensor is None else _row(tensor, elements.get(name, others))) for name, tensor in site.operands
    )
    return replace(site, operands=operands)


def _row(tensor: Tensor, elements: int) -> Tensor:
    return replace(tensor, type=replace(tensor.type, shape=(1, elements)), data=None)
