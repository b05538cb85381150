"""Graphs: nodes in order, tensors by index."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.ir.operator import KernelCall, Made, Operator, Rows
from kibi.ir.rows import RowAccess
from kibi.ir.tensor import Tensor
from kibi.text.notebook import rows_table, titled


@dataclass(frozen=True, slots=True)
class Node:
    """One operator applied to tensors.

    Attributes:
        op: the operator with its attributes.
        inputs: tensor indices in the order of `op.inputs`; None for an optional input that is left out.
        outputs: tensor indices in the order of `op.outputs`; optional ones are left out at the end.
        source: index of the operator in the model file; `-1 - k` for one that is in no file: it receives model input `k`.
    """

    op: Operator
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    source: int

    @property
    def label(self) -> str:
        """The name of the node in texts: `operator 3 (CONV_2D)`, or `input 0 (STREAM_INPUT)`."""
        where = f"operator {self.source}" if self.source >= 0 else f"input {-1 - self.source}"
        return f"{where} ({self.op.name})"


@dataclass(frozen=True, slots=True)
class Signature:
    """An entry point of a model file: a graph, and names of its inputs and outputs.

    Attributes:
        key: its name.
        subgraph: number of the graph in the file; TFLM runs number 0.
        inputs, outputs: names, each with the index of a tensor of that graph, in the file's order.
    """

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Graph:
    """A model in Kibi's own form. Immutable; a pass makes a new one.

    Attributes:
        name: an identifier made from the file's name; prefixes generated C.
        source: the model file's name.
        tensors: all tensors; `tensors[i].index == i`.
        nodes: in an order in which each tensor is made before it is read.
        inputs, outputs: tensor indices.
        path: the path of the model file whose first graph this is, or None.
        signatures: the entry points of the model file.
        signature: the one by which the graph was asked for, or None.
        digest: the SHA-256 of the model file in hexadecimal digits; empty where there is no file.
    """

    name: str
    source: str
    tensors: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    path: Path | None = field(default=None, compare=False)
    signatures: tuple[Signature, ...] = field(default=(), compare=False)
    signature: Signature | None = field(default=None, compare=False)
    digest: str = field(default="", compare=False)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.nodes):,} operators, {len(self.tensors):,} tensors>"

    def _repr_html_(self) -> str:
        """The operators with shapes and types, for notebooks."""
        rows = [
            (view.node.source, view.op.name, view.output.name, str(view.output.type), view.op.macs(view))
            for view in self.views
        ]
        what = f"{len(self.nodes):,} operators, {self.macs:,} MACs, {self.weights_bytes:,} bytes of weights"
        return titled(f"{self.name}: {what}", rows_table(("number", "operator", "output", "form", "MACs"), rows))

    @cached_property
    def views(self) -> tuple["NodeView", ...]:
        """Each node with its tensors."""
        return tuple(NodeView.of(self, node) for node in self.nodes)

    @cached_property
    def general_calls(self) -> tuple[KernelCall, ...]:
        """The call of each node's general kernel; its weights are packed once for all that ask."""
        return tuple(
            replace(
                view.op.kernel_call(view),
                least_arena_bytes=self.least_arena_bytes,
                is_often_least=bool(view.node.inputs) and view.node.inputs[0] in self._often_least,
                input_range=self._range_of(view.node.inputs[0]) if view.node.inputs else DType.S8.limits,
            )
            for view in self.views
        )

    @cached_property
    def _often_least(self) -> frozenset[int]:
        """The tensors of s8 whose zero is -128, made by operators that cut there."""
        made = (index for node in self.nodes if node.op.cuts_at_zero for index in node.outputs)
        types = ((index, self.tensors[index]) for index in made)
        return frozenset(
            index
            for index, each in types
            if each.type.dtype is DType.S8 and each.type.quantization and each.type.quantization.zero_point == -128
        )

    def _range_of(self, index: int | None) -> tuple[int, int]:
        return DType.S8.limits if index is None else self._ranges.get(index, DType.S8.limits)

    @cached_property
    def _ranges(self) -> Mapping[int, tuple[int, int]]:
        """The least and the largest element of tensors of s8 that cannot have all values, by index."""
        found: dict[int, tuple[int, int]] = {}
        for view in self.views:
            sources, made = view.row_tensors, [each for each in view.outputs if not each.is_state]
            if sources and all(each.type.dtype is DType.S8 for each in (*sources, *made)):
                given = [found.get(each.index, DType.S8.limits) for each in sources]
                limits = view.op.output_range(view, given)
                found |= {each.index: limits for each in made if limits is not None}
        return found

    @cached_property
    def least_arena_bytes(self) -> int:
        """Bytes that every arena of the model has: those of the largest input or output that is stored in it."""
        ends = (self.tensors[index] for index in (*self.stored_inputs, *self.outputs))
        return max((each.type.size_bytes for each in ends if each.is_planned), default=0)

    @property
    def calls(self) -> tuple[KernelCall, ...]:
        """The call of the kernel that runs each node: the general one, until `kibi.selection` has chosen another."""
        return self.general_calls

    @cached_property
    def selections(self) -> dict[Any, Any]:
        """The lowered graphs that `kibi.selection` has made from this graph, by the arguments of the lowering."""
        return {}

    @cached_property
    def streamed_inputs(self) -> dict[int, int]:
        """The model inputs that arrive row by row, each with the node that receives it."""
        made = {index: number for number, node in enumerate(self.nodes) if node.op.receives for index in node.outputs}
        return {index: made[index] for index in self.inputs if index in made}

    @property
    def stored_inputs(self) -> tuple[int, ...]:
        """The model inputs that are there before the first step."""
        return tuple(index for index in self.inputs if index not in self.streamed_inputs)

    @cached_property
    def variables(self) -> tuple[int, ...]:
        """The tensors that keep their value from one inference to the next, and that some node reads or changes."""
        used = {index for node in self.nodes for index in (*node.inputs, *node.outputs) if index is not None}
        used |= {self.variable_of(index) for index in used if self.tensors[index].is_state}
        return tuple(tensor.index for tensor in self.tensors if tensor.is_variable and tensor.index in used)

    def variable_of(self, index: int) -> int:
        """Returns the variable in whose bytes a tensor is stored: itself, or the one of which it is a next version."""
        following = self.tensors[index].updates
        while following is not None:
            index, following = following, self.tensors[following].updates
        return index

    @property
    def given(self) -> tuple[int, ...]:
        """The tensors that are there before the first step: stored inputs, then variables."""
        return (*self.stored_inputs, *self.variables)

    @cached_property
    def loops(self) -> tuple[int, ...]:
        """The numbers of the nodes with a loop inside, which may reach its limit."""
        return tuple(number for number, node in enumerate(self.nodes) if node.op.may_loop)

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(view.op.macs(view) for view in self.views)

    @cached_property
    def weights_bytes(self) -> int:
        """Bytes of the constants that nodes and their subgraphs read, as the model file holds them: each body counts once."""
        return self.own_weights_bytes + sum(body.own_weights_bytes for body in subgraphs_within(self.nodes))

    @cached_property
    def own_weights_bytes(self) -> int:
        """Bytes of the constants that the graph's own nodes read."""
        used = {index for node in self.nodes for index in node.inputs if index is not None}
        return sum(self.tensors[index].type.size_bytes for index in used if self.tensors[index].is_constant)

    @cached_property
    def uses(self) -> "SubgraphUses":
        """The graphs inside of its operators, counted as often as an operator runs them."""
        inner = [body for node in self.nodes for body in node.op.subgraphs]
        return SubgraphUses(
            len(inner) + sum(body.uses.graphs for body in inner),
            sum(len(body.nodes) + body.uses.operators for body in inner),
        )


@dataclass(frozen=True, slots=True)
class SubgraphUses:
    """The size of the graphs inside of a graph's operators; a body that several operators run counts for each of them.

    Attributes:
        graphs: number of graphs.
        operators: number of operators in these graphs.
    """

    graphs: int
    operators: int


def subgraphs_within(nodes: Iterable[Node]) -> tuple[Graph, ...]:
    """The subgraphs of nodes, and those inside of them, each object once."""
    found: dict[int, Graph] = {}
    waiting = [body for node in nodes for body in node.op.subgraphs]
    while waiting:
        body = waiting.pop()
        if id(body) not in found:
            found[id(body)] = body
            waiting += [inner for node in body.nodes for inner in node.op.subgraphs]
    return tuple(found.values())


@dataclass(frozen=True)
class NodeView:
    """A node and the tensors at its operands, by the operator's names for them.

    What the operator derives from it alone is computed once: others ask for it in every row step.
    """

    node: Node
    operands: tuple[tuple[str, Tensor | None], ...]

    @staticmethod
    def of(graph: Graph, node: Node) -> "NodeView":
        """The view of a node of that graph."""
        made = (name.rstrip("?") for name in node.op.outputs[: len(node.outputs)])
        names = (*(name.rstrip("?") for name in node.op.inputs), *made)
        padding = (None,) * (len(node.op.inputs) - len(node.inputs))
        indices = (*node.inputs, *padding, *node.outputs)
        tensors = (None if index is None else graph.tensors[index] for index in indices)
        return NodeView(node, tuple(zip(names, tensors, strict=True)))

    @property
    def op(self) -> Operator:
        """The node's operator."""
        return self.node.op

    @property
    def window(self) -> Tensor | None:
        """The window of memory with the weights that the node's kernel reads; None where they are constants."""
        return None

    @property
    def own(self) -> "NodeView":
        """The view as the operator itself knows it: without a window."""
        return self

    @cached_property
    def accesses(self) -> tuple[RowAccess, ...]:
        """The rows that a step reads, for each of `row_tensors`."""
        return self.op.accesses(self)

    def reference(self) -> Callable[[Rows], Made]:
        """Returns the reference of a step."""
        return self.op.reference(self)

    @cached_property
    def accumulates(self) -> bool:
        """True if its steps add rows of the input to an accumulator, and the last step makes the complete output."""
        return self.op.accumulates(self)

    def find(self, name: str) -> Tensor | None:
        """The tensor at an operand, or None where it is left out."""
        for operand, tensor in self.operands:
            if operand == name:
                return tensor
        raise InternalError(f"operator {self.op.name} has no operand {name!r}")

    def __getitem__(self, name: str) -> Tensor:
        tensor = self.find(name)
        if tensor is None:
            raise InternalError(f"operand {name!r} of {self.node.label} is left out")
        return tensor

    def constant(self, name: str) -> Array:
        """The elements of a constant operand."""
        data = self[name].data
        if data is None:
            raise InternalError(f"operand {name!r} of {self.node.label} is no constant")
        return data

    @cached_property
    def output(self) -> Tensor:
        """The first output."""
        return self["output"]

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        """All outputs, in order."""
        return tuple(self[name] for name in self.output_names)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """The names in `op.outputs` that the node has, in order; optional ones may be left out."""
        return tuple(name for name, _ in self.operands[len(self.operands) - len(self.node.outputs) :])

    @property
    def declared(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """The shape and the element type that each output has."""
        return tuple((tensor.type.shape, tensor.type.dtype) for tensor in self.outputs)

    def inferred(self) -> tuple[tuple[tuple[int, ...], DType], ...]:
        """Returns the shape and the element type of each output, by the operator's rule.

        Raises:
            OperatorError: the node breaks a rule of the operator.
        """
        found = self.op.infer(self)
        return tuple((kind.shape, kind.dtype) for kind in found) if isinstance(found, list) else (found,)

    @cached_property
    def steps(self) -> int:
        """Row steps that make the outputs."""
        return self.op.steps(self)

    def made_rows(self, step: int, output: int = 0) -> range:
        """The rows of an output, by its number, that a step makes; of an accumulating node, all by the last."""
        steps, rows = self.steps, self._output_rows[output]
        if self.accumulates:
            return range(rows if step == steps - 1 else 0)
        return range(step * rows // steps, (step + 1) * rows // steps)

    def every_made_rows(self, output: int = 0) -> tuple[range, ...]:
        """`made_rows` of each step."""
        return tuple(self.made_rows(step, output) for step in range(self.steps))

    def made_before(self, output: int = 0) -> NDArray[np.int64]:
        """Returns how many rows of an output are made before each step, and at last after all of them: `[steps + 1]`."""
        return self._made[output][0]

    def made_by(self, output: int = 0) -> NDArray[np.int64]:
        """Returns the step that makes each row of an output: `[rows]`."""
        return self._made[output][1]

    @cached_property
    def _made(self) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]:
        """For each output `made_before` and `made_by`."""
        found, count = [], np.arange(self.steps + 1)
        for rows in self._output_rows:
            before = np.where(count < self.steps, 0, rows) if self.accumulates else count * rows // self.steps
            found.append((before, np.repeat(count[:-1], np.diff(before))))
        return tuple(found)

    @cached_property
    def _output_rows(self) -> tuple[int, ...]:
        return tuple(tensor.type.rows for tensor in self.outputs)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """The names in `op.row_inputs` that the node has, in order; optional ones may be left out."""
        return tuple(name for name in self.op.row_inputs if self.find(name) is not None)

    @cached_property
    def row_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that are read by the row, in the order of `row_names`."""
        return tuple(self[name] for name in self.row_names)
