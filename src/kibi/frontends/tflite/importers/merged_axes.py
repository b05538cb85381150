"""Reductions of more than four axes: neighbours that are all reduced, or all kept, become one axis.

Where more than four axes are left, reduced ones and kept ones alternate. Then a kept axis and its reduced neighbour change places,
which makes neighbours of two reduced axes and of two kept ones, until four are left.

No two reduced axes pass each other, and no two kept ones. So each output takes the same elements in the same order, and the bits
are the same.
"""

from dataclasses import replace
from itertools import groupby
from math import prod

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import OptionsError, TensorTable
from kibi.ir import Node, Operator, Tensor, TensorType
from kibi.ops import Reshape, Transpose
from kibi.ops.reductions.reduction import Reduction

_MOST_AXES = 4
"""The number of axes that the operators themselves accept."""


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
    _check(op, shape, named, made)
    groups, flat = _groups(shape, named), data.index
    nodes: list[Node] = []
    while len(groups) > _MOST_AXES:
        groups, flat, swap = _swapped(groups, flat, source, table)
        nodes += swap
    before, flat = flat, table.add(f"{data.name}, axes merged", _shaped(data.type, groups))
    where = np.array([place for place, (_, is_reduced) in enumerate(groups) if is_reduced], np.int32)
    kept = tuple(size for size, is_reduced in groups if not is_reduced)
    small = table.add(f"{made.name}, axes merged", replace(made.type, shape=kept))
    operands = flat, table.constant(f"axes of operator {source}", where)
    return (
        *nodes,
        Node(Reshape(), (before,), (flat,), source),
        Node(replace(op, keep_dims=False), operands, (small,), source),
        Node(Reshape(), (small,), outputs, source),
    )


_Groups = list[tuple[int, bool]]
"""The sizes of axes, and whether they are reduced; neighbours differ in that."""


def _swapped(groups: _Groups, index: int, source: int, table: TensorTable) -> tuple[_Groups, int, list[Node]]:
    """The third and the fourth group change places, so that two pairs of neighbours become one group each.

    Args:
        groups: five or more.
        index: of the tensor that has them for axes.
        source: the operator's index in the file.
        table: where tensors are added.

    Returns:
        The groups that are left, the index of the tensor that has them, and the nodes that make it.
    """
    data = table.tensors[index]
    sizes, (first, kind) = [size for size, _ in groups], groups[0]
    left = [(first, kind), (sizes[1] * sizes[3], not kind), (sizes[2] * sizes[4], kind), *groups[5:]]
    front, rest = sizes[0] * sizes[1], prod(sizes[4:])
    apart = table.add(f"{data.name}, axes apart", replace(data.type, shape=(front, sizes[2], sizes[3], rest)))
    beside = table.add(f"{data.name}, axes swapped", replace(data.type, shape=(front, sizes[3], sizes[2], rest)))
    order = table.constant(f"order of the axes of operator {source}", np.array([0, 2, 1, 3], np.int32))
    nodes = [Node(Reshape(), (index,), (apart,), source), Node(Transpose(), (apart, order), (beside,), source)]
    return left, beside, nodes


def _shaped(kind: TensorType, groups: _Groups) -> TensorType:
    return replace(kind, shape=tuple(size for size, _ in groups))


def _groups(shape: tuple[int, ...], named: frozenset[int]) -> _Groups:
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
