"""Any `.tflite` file as a graph of opaque operators: what is read and made, and how large it is, and nothing else.

For tests that ask about orders and bytes only, on models whose operators Kibi does not know.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tflite

from kibi.dtypes import Array, DType
from kibi.ir import Graph, KernelCall, Node, NodeView, Operator, RowAccess, Rows, Tensor, TensorType

_BITS = {
    tflite.TensorType.INT4: 4,
    tflite.TensorType.INT8: 8,
    tflite.TensorType.UINT8: 8,
    tflite.TensorType.BOOL: 8,
    tflite.TensorType.INT16: 16,
    tflite.TensorType.FLOAT16: 16,
    tflite.TensorType.INT32: 32,
    tflite.TensorType.UINT32: 32,
    tflite.TensorType.FLOAT32: 32,
    tflite.TensorType.INT64: 64,
}
"""Bits of an element; a resource, which names a variable, has none in the arena."""


@dataclass(frozen=True, slots=True)
class UnknownOperator(Operator):
    """Some operator; its operands' names do not matter."""

    name: ClassVar[str] = "OPAQUE"
    inputs: ClassVar[tuple[str, ...]] = ()
    types: ClassVar[tuple[DType, ...]] = ()
    kernels: ClassVar[tuple[str, ...]] = ()

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Nothing is known of shapes."""
        raise NotImplementedError

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Nothing is known of rows."""
        raise NotImplementedError

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Nothing is ever computed."""
        raise NotImplementedError

    def kernel_call(self, view: NodeView) -> KernelCall:
        """There is no kernel."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class LooseModel:
    """A model of which only order and sizes are known.

    Attributes:
        graph: tensors are vectors of as many bytes; variables, what the file holds and what nobody makes are constants.
        before: pairs of nodes that must run in this order though no tensor says so: those that touch the same variable,
            of which at least one writes it.
    """

    graph: Graph
    before: tuple[tuple[int, int], ...]


def opaque_graph(
    sizes: Sequence[int],
    nodes: Sequence[tuple[Sequence[int], Sequence[int]]],
    inputs: Sequence[int],
    outputs: Sequence[int],
    constants: frozenset[int] = frozenset(),
) -> Graph:
    """A graph of opaque operators, given as (inputs, outputs), on tensors of that many bytes."""
    data = np.zeros(0, np.int8)
    tensors = tuple(
        Tensor(index, f"t{index}", TensorType((size,), DType.S8), data if index in constants else None)
        for index, size in enumerate(sizes)
    )
    made = tuple(
        Node(UnknownOperator(), tuple(None if i < 0 else i for i in read), tuple(written), number)
        for number, (read, written) in enumerate(nodes)
    )
    return Graph("loose", "loose.tflite", tensors, made, tuple(inputs), tuple(outputs))


def load_loosely(path: Path) -> LooseModel:
    """Read the first subgraph of a model."""
    model: Any = tflite.Model.GetRootAs(path.read_bytes(), 0)
    subgraph = model.Subgraphs(0)
    tensors = [subgraph.Tensors(index) for index in range(subgraph.TensorsLength())]
    held = {index for index, tensor in enumerate(tensors) if model.Buffers(tensor.Buffer()).DataLength()}
    held |= {index for index, tensor in enumerate(tensors) if tensor.IsVariable()}
    operators = [subgraph.Operators(index) for index in range(subgraph.OperatorsLength())]
    codes = [model.OperatorCodes(operator.OpcodeIndex()) for operator in operators]
    kinds = [max(code.BuiltinCode(), code.DeprecatedBuiltinCode()) for code in codes]
    nodes = [(_indices(operator, "Inputs"), _indices(operator, "Outputs")) for operator in operators]
    # What nobody makes (a custom operator's scratch, say) takes nothing here, like what the file holds.
    made = {*_indices(subgraph, "Inputs"), *(index for _, written in nodes for index in written)}
    held |= set(range(len(tensors))) - made
    graph = opaque_graph(
        [_size_bytes(tensor) for tensor in tensors],
        nodes,
        [index for index in _indices(subgraph, "Inputs") if index not in held],
        _indices(subgraph, "Outputs"),
        frozenset(held),
    )
    return LooseModel(graph, tuple(_state_order(operators, kinds)))


def _state_order(operators: Sequence[Any], kinds: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of operators on the same variable, by the name that its handle has, in the file's order, but for two readers."""
    reading, writing = tflite.BuiltinOperator.READ_VARIABLE, tflite.BuiltinOperator.ASSIGN_VARIABLE
    names: dict[int, Any] = {}
    users: dict[Any, list[int]] = {}
    for number, (operator, kind) in enumerate(zip(operators, kinds, strict=True)):
        if kind == tflite.BuiltinOperator.VAR_HANDLE:
            options = tflite.VarHandleOptions()
            table = operator.BuiltinOptions()
            options.Init(table.Bytes, table.Pos)
            names[operator.Outputs(0)] = options.SharedName()
        elif kind in {reading, writing}:
            users.setdefault(names[operator.Inputs(0)], []).append(number)
    return [
        (first, second)
        for numbers in users.values()
        for place, first in enumerate(numbers)
        for second in numbers[place + 1 :]
        if writing in {kinds[first], kinds[second]}
    ]


def _indices(table: Any, what: str) -> list[int]:
    return [int(getattr(table, what)(k)) for k in range(getattr(table, f"{what}Length")())]


def _size_bytes(tensor: Any) -> int:
    elements = 1
    for axis in range(tensor.ShapeLength()):
        elements *= int(tensor.Shape(axis))
    return -(-elements * _BITS.get(tensor.Type(), 0) // 8)
