"""Evaluates a node on complete tensors: its reference implementation, step by step."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kibi.dtypes import Array
from kibi.ir import NodeView, RowAccess, Rows, TensorType


def evaluate(view: NodeView, inputs: Sequence[Array]) -> Array:
    """Returns the output of a node that has one output.

    Args:
        view: a node that computes.
        inputs: for each of the operator's row inputs, in order, its elements: of the tensor's shape and of any integer type.

    Returns:
        The elements of the output, of its shape and type.
    """
    kinds = [tensor.type for tensor in view.row_tensors]
    tables = [_by_row(array, kind) for array, kind in zip(inputs, kinds, strict=True)]
    accesses = view.accesses
    made = _function(view)
    parts = []
    for step in range(view.steps):
        rows = tuple(
            tuple(_pieces(table, kind, access, step))
            for table, kind, access in zip(tables, kinds, accesses, strict=True)
        )
        parts.append(made(rows, step).reshape(-1))
    output = view.output.type
    return np.concatenate(parts).astype(output.dtype.numpy).reshape(output.shape)


def _by_row(array: Array, kind: TensorType) -> Array:
    """Returns the elements, row by row."""
    return array.astype(kind.dtype.numpy).reshape(kind.rows, kind.row_elements)


def _pieces(rows: Array, kind: TensorType, access: RowAccess, step: int) -> Iterator[Array | None]:
    """Yields the rows, or parts of rows, that a step reads; outside the input, the constant fill row or None."""
    first, size = access.taken(kind.row_elements)
    parts = rows.reshape(kind.rows * access.parts, -1)[:, first : first + size]
    for position in access.positions(step):
        if position is not None:
            yield parts[position]
        else:
            yield None if access.fill is None else np.full(size, access.fill, rows.dtype)


def _function(view: NodeView) -> Callable[[Rows, int], Array]:
    """Returns a function from a step's rows and number to its output; if the node accumulates, only the last step has one."""
    if not view.accumulates:
        row = view.op.reference(view)
        return lambda rows, _: np.asarray(row(rows))
    accumulation = view.op.accumulation(view)
    sums = accumulation.start.copy()

    def step(rows: Rows, number: int) -> Array:
        accumulation.add(sums, rows, number)
        return np.asarray(accumulation.finish(sums)) if number == view.steps - 1 else sums[:0]

    return step
