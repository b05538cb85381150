"""Accesses: how many bytes one inference reads and writes in each buffer and each constant, which decides what regions are worth.

The model is stated once, here. A row counts once for each time that a kernel is handed it, so that one which three output
rows read counts three times; once when it is made; a stored model input once when the caller writes it, a model output once
when the caller reads it. In each step scratch is written once and read once. A constant that a kernel takes whole, such as
a filter, is read once in each step; by an operator that accumulates, once in all its steps together.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kibi.ir import Graph, KernelCall, NodeView, RowAccess, Tensor


@dataclass(frozen=True, slots=True)
class Accesses:
    """Bytes read and written in one inference.

    Attributes:
        tensors: of each tensor whose rows are placed, by its index.
        scratch: of each node's scratch.
        weights: of each constant that kernels read, by its tensor's index.
        weight_sizes: for each of these, the bytes of each array in which kernels read it; several where nodes pack it
            differently.
        alignment_bytes: of the largest element of these arrays; 1 where there are no constants.
    """

    tensors: dict[int, int]
    scratch: tuple[int, ...]
    weights: dict[int, int]
    weight_sizes: dict[int, tuple[int, ...]]
    alignment_bytes: int = 1


def count_accesses(graph: Graph) -> Accesses:
    """The bytes that one inference reads and writes."""
    tensors = {index: 0 for index, tensor in enumerate(graph.tensors) if tensor.is_planned}
    arrays: dict[int, dict[tuple[str, bytes], int]] = {}
    weights: dict[int, int] = {}
    scratch, alignment_bytes = [], 1
    for index in (*graph.stored_inputs, *dict.fromkeys(graph.outputs)):
        if index in tensors:
            tensors[index] += graph.tensors[index].type.size_bytes
    for view, call in zip(graph.views, graph.calls, strict=True):
        scratch.append(2 * call.scratch_bytes * view.steps)
        for index in view.node.outputs:
            if index in tensors:
                tensors[index] += graph.tensors[index].type.size_bytes
        for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
            if tensor.is_constant:
                arrays.setdefault(tensor.index, {})["rows", b""] = tensor.type.size_bytes
                alignment_bytes = max(alignment_bytes, tensor.type.dtype.size_bytes)
                weights[tensor.index] = weights.get(tensor.index, 0) + _row_reads(view, tensor, access)
            elif tensor.index in tensors:
                tensors[tensor.index] += _row_reads(view, tensor, access)
        for index, packed in packed_constants(view, call):
            arrays.setdefault(index, {})[packed.dtype.str, packed.tobytes()] = packed.nbytes
            alignment_bytes = max(alignment_bytes, packed.itemsize)
            times = 1 if view.accumulates else view.steps
            weights[index] = weights.get(index, 0) + packed.nbytes * times
    sizes = {index: tuple(found.values()) for index, found in sorted(arrays.items())}
    return Accesses(tensors, tuple(scratch), dict(sorted(weights.items())), sizes, alignment_bytes)


def packed_constants(
    view: NodeView, call: KernelCall
) -> Iterator[tuple[int, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]]:
    """The constants that the kernel takes as a parameter of the operand's name, each as (tensor, packed elements)."""
    constants = {name: tensor for name, tensor in view.operands if tensor is not None and tensor.is_constant}
    for name, data in call.constants.items():
        if name in constants:
            yield constants[name].index, data


def _row_reads(view: NodeView, tensor: Tensor, access: RowAccess) -> int:
    """Bytes of the rows, or parts of rows, that all steps of a node are handed."""
    part_bytes = access.taken(tensor.type.row_elements)[1] * tensor.type.dtype.size_bytes
    return part_bytes * sum(part is not None for step in range(view.steps) for part in access.positions(step))
