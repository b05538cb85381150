"""Operators that run graphs of their own: what is passed between a node and its subgraphs, and how.

A body is planned like a model with an arena of its own, which is the node's scratch: the largest of its subgraphs' arenas, as they
run one at a time. What a node reads is copied to the body's inputs, and its outputs are copied from the body's. TFLM does so,
too: `micro/kernels/if.cc`, `while.cc`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array
from kibi.ir import Graph, KernelCall, Node, NodeView, Operator, OperatorError, RowAccess, Rows, Tensor, TensorType
from kibi.kernels.params import PARAMS
from kibi.ops.movement.reshape import Reshape

MOST_OPERANDS = 32
"""Tensors that are passed to a body. TFLM has no such limit."""
MOST_OUTPUTS = 64
"""Tensors that a body gives. TFLM has no such limit."""
NOTHING = Graph("nothing", "nothing", (), (), (), ())
"""Replaces a body that is absent."""


def operand_names(first: str) -> tuple[str, ...]:
    """A required first input, and names for those after it."""
    return (first, *(f"input{number}?" for number in range(1, MOST_OPERANDS + (first == "condition"))))


@dataclass(frozen=True, slots=True)
class ControlFlow(Operator):
    """A node that runs graphs. Its scratch is known when these are planned: `LoweredGraph.arenas`."""

    outputs: ClassVar[tuple[str, ...]] = ("output", *(f"output{number}?" for number in range(1, MOST_OUTPUTS)))
    flow_depends_on_elements: ClassVar[bool] = True
    passed_from: ClassVar[int] = 0
    """The first input that is passed to the subgraphs."""

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """All rows of each input."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in view.row_tensors)

    def steps(self, view: NodeView) -> int:
        """All at once."""
        del view
        return 1

    def passed(self, view: NodeView) -> tuple[Tensor, ...]:
        """The inputs that are passed to the subgraphs."""
        return view.row_tensors[self.passed_from :]

    def check_inputs(self, view: NodeView, name: str, body: Graph) -> None:
        """A body takes what the node passes; quantization is the subgraphs' own affair, as in TFLM.

        Raises:
            OperatorError: it takes something else.
        """
        given = [tensor.type for tensor in self.passed(view)]
        _check_same(f"{name} takes", types_of(body, body.inputs), "the operator passes", given)

    def check_outputs(self, view: NodeView, name: str, given: Sequence[TensorType]) -> None:
        """A body gives what the node's outputs are.

        Raises:
            OperatorError: it gives something else.
        """
        check_same_outputs(name, given, "the operator gives", [tensor.type for tensor in view.outputs])

    def kernel(self, view: NodeView, name: str) -> KernelCall:
        """A call with a table of what goes in and out."""
        passed = [tensor.type for tensor in self.passed(view)]
        pieces = [number for kind in passed for number in (kind.rows, kind.row_bytes)]
        pieces += [tensor.type.size_bytes for tensor in view.outputs]
        params = PARAMS[name](inputs=len(passed), outputs=len(view.outputs), pieces=np.array(pieces, np.int32))
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


def arrays(view: NodeView, rows: Rows) -> list[Array]:
    """The inputs of a node as whole arrays."""
    found = []
    for tensor, pieces in zip(view.row_tensors, rows, strict=True):
        data = np.concatenate([np.asarray(piece).reshape(-1) for piece in pieces])
        found.append(data.reshape(tensor.type.shape))
    return found


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
