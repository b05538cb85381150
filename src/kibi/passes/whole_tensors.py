"""A node on whole tensors: its living definition, step after step."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kibi.dtypes import Array
from kibi.ir import RowAccess, Rows, Site, TensorType


def evaluate(site: Site, inputs: Sequence[Array]) -> Array:
    """The output of a node that has one.

    Args:
        site: a node that computes.
        inputs: for each of the operator's row inputs, in order, its elements: of the tensor's shape and of any integer type.

    Returns:
        The elements of the output, of its shape and type.
    """
    kinds = [tensor.type for tensor in site.row_tensors]
    tables = [_by_row(array, kind) for array, kind in zip(inputs, kinds, strict=True)]
    accesses = site.accesses
    made = _function(site)
    parts = []
    for step in range(site.steps):
        rows = tuple(
            tuple(_pieces(table, kind, access, step))
            for table, kind, access in zip(tables, kinds, accesses, strict=True)
        )
        parts.append(made(rows, step).reshape(-1))
    output = site.output.type
    return np.concatenate(parts).astype(output.dtype.numpy).reshape(output.shape)


def _by_row(array: Array, kind: TensorType) -> Array:
    """The elements by rows."""
    return array.astype(kind.dtype.numpy).reshape(kind.rows, kind.row_elements)


def _pieces(rows: Array, kind: TensorType, access: RowAccess, step: int) -> Iterator[Array | None]:
    """The rows, or parts of rows, that a step reads; constant ones outside."""
    parts = rows.reshape(kind.rows * access.parts, -1)
    for position in access.positions(step):
        if position is not None:
            yield parts[position]
        else:
            yield None if access.fill is None else np.full(parts.shape[1], access.fill, rows.dtype)


def _function(site: Site) -> Callable[[Rows, int], Array]:
    """From the rows of a step, and its number, to what the step makes; nothing before the last where it accumulates."""
    if not site.accumulates:
        row = site.op.reference(site)
        return lambda rows, _: np.asarray(row(rows))
    accumulation = site.op.accumulation(site)
    sums = accumulation.start.copy()

    def step(rows: Rows, number: int) -> Array:
        accumulation.add(sums, rows, number)
        return np.asarray(accumulation.finish(sums)) if number == site.steps - 1 else sums[:0]

    return step
