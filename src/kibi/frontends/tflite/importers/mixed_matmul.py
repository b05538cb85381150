"""BATCH_MATMUL of s16 and s8: the matrix of s8 becomes one of s16, of the same numbers and the same scale.

TFLM refuses it, and so does not say what the bits are: they are those of two matrices of s16 (rule N35).
"""

from dataclasses import replace

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import TensorTable
from kibi.ir import Node, Operator
from kibi.ops import Cast

_MIXED = {DType.S8, DType.S16}


def widened(
    op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int, table: TensorTable
) -> tuple[Node, ...]:
    """The nodes that replace a product of s16 and s8; none for other products. Arguments as in `Importer.nodes`."""
    given = [index for index in inputs if index is not None]
    if len(given) != len(op.inputs) or {table.tensors[index].type.dtype for index in given} != _MIXED:
        return ()
    nodes: list[Node] = []
    operands = []
    for index in given:
        tensor = table.tensors[index]
        if tensor.type.dtype is DType.S16:
            operands.append(index)
            continue
        kind = replace(tensor.type, dtype=DType.S16)
        wide = table.add(f"{tensor.name}, widened", kind)
        operands.append(wide)
        if tensor.data is None:
            nodes.append(Node(Cast(), (index,), (wide,), source))
        else:
            data = tensor.data.astype(np.dtype("<i2"))
            data.flags.writeable = False
            table.tensors[wide] = replace(table.tensors[wide], data=data)
    return (*nodes, Node(op, tuple(operands), outputs, source))
