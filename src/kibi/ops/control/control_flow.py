"""Operators that run graphs of their own: what is passed between a node and its subgraphs, and how.

A body is planned like a model with an arena of its own, which is the node's scratch: the largest of its subgraphs' arenas, as they
run one at a time. What a node reads is copied to the body's inputs, and its outputs are copied from the body's. TFLM does so,
too: `micro/kernels/if.cc`, `while.cc`. Several outputs are made as one bundle, from which `PART` takes each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Graph, KernelCall, Node, Operator, OperatorError, RowAccess, Rows, Site, Tensor, TensorType
from kibi.kernels.params import PARAMS
from kibi.ops.movement.part import Part
from kibi.ops.movement.reshape import Reshape

MOST_OPERANDS = 32
"""Tensors that are passed to a body. TFLM has no such limit."""
NOTHING = Graph("nothing", "nothing", (), (), (), ())
"""Stands for a body where there is none."""


def operand_names(first: str) -> tuple[str, ...]:
    """A required first input, and names for those behind it."""
    return (first, *(f"input{number}?" for number in range(1, MOST_OPERANDS + (first == "condition"))))


@dataclass(frozen=True, slots=True)
class ControlFlow(Operator):
    """A node that runs graphs. Its scratch is known when these are planned: `LoweredGraph.arenas`."""

    flow_depends_on_elements: ClassVar[bool] = True
    passed_from: ClassVar[int] = 0
    """The first input that is passed to the subgraphs."""

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """All rows of each input."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in site.row_tensors)

    def steps(self, site: Site) -> int:
        """All at once."""
        del site
        return 1

    def passed(self, site: Site) -> tuple[Tensor, ...]:
        """The inputs that are passed to the subgraphs."""
        return site.row_tensors[self.passed_from :]

    def check_inputs(self, site: Site, name: str, body: Graph) -> None:
        """A body takes what the node passes; quantization is the subgraphs' own affair, as in TFLM.

        Raises:
            OperatorError: it takes something else.
        """
        given = [tensor.type for tensor in self.passed(site)]
        _check_same(f"{name} takes", types_of(body, body.inputs), "the operator passes", given)

    def kernel(self, site: Site, name: str, outputs: Sequence[TensorType]) -> KernelCall:
        """A call with a table of what goes in and out."""
        *offsets, _ = Part.offsets(outputs)
        passed = [(tensor.type.rows, tensor.type.row_bytes) for tensor in self.passed(site)]
        made = [(offset, kind.size_bytes) for offset, kind in zip(offsets, outputs, strict=True)]
        pieces = np.array([*passed, *made], np.int32)
        params = PARAMS[name](inputs=len(passed), outputs=len(made), pieces=pieces)
        return KernelCall(name, params, is_untyped=True)


def types_of(graph: Graph, tensors: Sequence[int]) -> list[TensorType]:
    """The types of some tensors of a graph."""
    return [graph.tensors[index].type for index in tensors]


def check_same_outputs(what: str, first: Sequence[TensorType], also: str, second: Sequence[TensorType]) -> None:
    """Shapes and element types are the same, one by one.

    Raises:
        OperatorError: they are not.
    """
    _check_same(f"{what} gives", first, also, second)


def _check_same(what: str, first: Sequence[TensorType], also: str, second: Sequence[TensorType]) -> None:
    texts = [", ".join(map(str, kinds)) or "nothing" for kinds in (first, second)]
    if texts[0] != texts[1]:
        raise OperatorError(f"{what} {texts[0]}, but {also} {texts[1]}", "Export the model again; the file is damaged")


def output_of(types: Sequence[TensorType]) -> tuple[tuple[int, ...], DType]:
    """Shape and element type of a node's output: the one that there is, or the bundle of several."""
    if len(types) == 1:
        return types[0].shape, types[0].dtype
    return (Part.offsets(types)[-1],), DType.U8


def arrays(site: Site, rows: Rows) -> list[Array]:
    """The inputs of a node as whole arrays."""
    found = []
    for tensor, pieces in zip(site.row_tensors, rows, strict=True):
        data = np.concatenate([np.asarray(piece).reshape(-1) for piece in pieces])
        found.append(data.reshape(tensor.type.shape))
    return found


def bundled(outputs: Sequence[Array]) -> Array:
    """The elements of one output, or the bundle of several, with zeros between them."""
    if len(outputs) == 1:
        return outputs[0].reshape(-1)
    kinds = [TensorType(array.shape, DType.of(array)) for array in outputs]
    *offsets, size_bytes = Part.offsets(kinds)
    bundle = np.zeros(size_bytes, np.uint8)
    for offset, array in zip(offsets, outputs, strict=True):
        data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        bundle[offset : offset + data.size] = data
    return bundle


def as_body(graph: Graph) -> Graph:
    """The same graph, each of whose outputs is made by a node, and is listed once: what is not is copied.

    Args:
        graph: a verified graph.
    """
    made = {index for node in graph.nodes for index in node.outputs}
    tensors, nodes, outputs = list(graph.tensors), list(graph.nodes), list[int]()
    for index in graph.outputs:
        copied = index
        if index not in made or index in outputs:
            copied = len(tensors)
            tensors.append(replace(tensors[index], index=copied, data=None))
            nodes.append(Node(Reshape(), (index,), (copied,), len(nodes)))
        outputs.append(copied)
    return replace(graph, tensors=tuple(tensors), nodes=tuple(nodes), outputs=tuple(outputs))
