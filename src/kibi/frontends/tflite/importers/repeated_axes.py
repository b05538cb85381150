"""Elementwise operators whose inputs broadcast in too many alternations for a row: an input is repeated along some axes.

A row's axes fall into two groups, and an input has all of a group, or one element in its place. Where that does not hold, a
BROADCAST_TO repeats the input along the axes of a group that it has in part. Elements are copied, so the bits are the same.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from math import prod

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import Importer, TensorTable
from kibi.ir import Node, Operator, TensorType
from kibi.ops import BroadcastTo, Reshape
from kibi.ops.elementwise.broadcast import Broadcast2, repeated_shapes


def repeated(
    op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int, table: TensorTable
) -> tuple[Node, ...]:
    """The nodes that replace an operator whose inputs must be repeated; none for another. Arguments as in `Importer.nodes`."""
    given = [index for index in inputs if index is not None]
    if (
        not isinstance(op, Broadcast2)
        or len(given) != len(op.inputs)
        or any(_is_per_channel(table, index) for index in given)
    ):
        return ()
    kinds = tuple(TensorType(table.tensors[index].type.shape, DType.S8) for index in given)
    shapes = repeated_shapes(kinds, op.most_axes)
    if shapes is None or shapes == tuple(kind.shape for kind in kinds):
        return ()
    nodes: list[Node] = []
    operands = []
    for index, shape in zip(given, shapes, strict=True):
        made, operand = _repetition(index, shape, source, table)
        nodes += made
        operands.append(operand)
    return (*nodes, Node(op, tuple(operands), outputs, source))


def broadcasting(operator: Callable[[], Operator]) -> Importer:
    """An operator without attributes, whose inputs broadcast."""
    return Importer(lambda _: operator(), instead=repeated)


def _is_per_channel(table: TensorTable, index: int) -> bool:
    quantization = table.tensors[index].type.quantization
    return quantization is not None and quantization.is_per_channel


def _repetition(index: int, shape: tuple[int, ...], source: int, table: TensorTable) -> tuple[list[Node], int]:
    """The nodes that repeat a tensor until it has a shape, through few axes, and the index of the result."""
    tensor = table.tensors[index]
    own = (1,) * (len(shape) - len(tensor.type.shape)) + tensor.type.shape
    if own == shape:
        return [], index
    groups = [list(sizes) for _, sizes in groupby(zip(own, shape, strict=True), lambda pair: pair[0] == pair[1])]
    before, after = (tuple(prod(pair[place] for pair in sizes) for sizes in groups) for place in (0, 1))
    few, many, whole = (
        table.add(f"{tensor.name}, {what}", replace(tensor.type, shape=sizes))
        for what, sizes in (("axes merged", before), ("repeated", after), ("repeated as a whole", shape))
    )
    wanted = table.constant(f"shape for operator {source}", np.array(after, np.int32))
    return [
        Node(Reshape(), (index,), (few,), source),
        Node(BroadcastTo(), (few, wanted), (many,), source),
        Node(Reshape(), (many,), (whole,), source),
    ], whole
