"""Reductions of more than four axes: neighbours that are all reduced, or all kept, become one axis.

The elements stay as they are stored, and each output takes the same ones in the same order, so the bits are the same.
"""

from dataclasses import replace
from itertools import groupby
from math import prod

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import OptionsError, TensorTable
from kibi.ir import Node, Operator, Tensor, TensorType
from kibi.ops import Reshape
from kibi.ops.reduction import Reduction

_MOST_AXES = 4
"""Of what the operators themselves take."""


def merged(
    op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int, table: TensorTable
) -> tuple[Node, ...]:
    """The nodes that replace a reduction of many axes; none for another. Arguments as in `Importer.nodes`.

    Raises:
        OptionsError: the output has not the shape that the input and the axes give.
    """
    given = [table.tensors[index] for index in inputs if index is not None]
    if not isinstance(op, Reduction) or len(given) != len(op.inputs) or len(outputs) != 1:
        return ()
    data, axes = given
    shape, made = data.type.shape, table.tensors[outputs[0]]
    named = _named(axes, len(shape))
    if len(shape) <= _MOST_AXES or named is None or _is_per_channel(data.type) or _is_per_channel(made.type):
        return ()
    groups = _groups(shape, named)
    if len(groups) > _MOST_AXES:
        return ()
    _check(op, shape, named, made)
    flat = table.add(f"{data.name}, axes merged", replace(data.type, shape=tuple(size for size, _ in groups)))
    where = np.array([place for place, (_, is_reduced) in enumerate(groups) if is_reduced], np.int32)
    kept = tuple(size for size, is_reduced in groups if not is_reduced)
    small = table.add(f"{made.name}, axes merged", replace(made.type, shape=kept))
    operands = flat, table.constant(f"axes of operator {source}", where)
    return (
        Node(Reshape(), (data.index,), (flat,), source),
        Node(replace(op, keep_dims=False), operands, (small,), source),
        Node(Reshape(), (small,), outputs, source),
    )


def _groups(shape: tuple[int, ...], named: frozenset[int]) -> list[tuple[int, bool]]:
    """The sizes of the axes that remain, and whether they are reduced; one is, so that there is something to reduce.

    Axes of one element move nothing, and are left out.
    """
    long = [axis for axis, size in enumerate(shape) if size > 1]
    runs = [(is_reduced, list(axes)) for is_reduced, axes in groupby(long, key=named.__contains__)]
    groups = [(prod(shape[axis] for axis in axes), is_reduced) for is_reduced, axes in runs]
    return groups if any(is_reduced for _, is_reduced in groups) else [(1, True), *groups]


def _named(axes: Tensor, rank: int) -> frozenset[int] | None:
    """The axes that are reduced, counted from the front; None where they are no such constants."""
    if axes.data is None or axes.type.dtype is not DType.S32:
        return None
    numbers = axes.data.reshape(-1).tolist()
    return frozenset(axis % rank for axis in numbers) if all(-rank <= axis < rank for axis in numbers) else None


def _is_per_channel(kind: TensorType) -> bool:
    return kind.quantization is not None and kind.quantization.is_per_channel


def _check(op: Reduction, shape: tuple[int, ...], named: frozenset[int], made: Tensor) -> None:
    keeps = op.keep_dims
    wanted = tuple(1 if axis in named else size for axis, size in enumerate(shape) if keeps or axis not in named)
    if made.type.shape != wanted:
        what = f"output has shape {list(made.type.shape)}, its inputs give {list(wanted)}"
        raise OptionsError(what, "Export the model again; the file is damaged")
