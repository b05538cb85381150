"""A model file as TFLM's memory planner sees it: operators that read and make tensors of so many bytes, and no more.

Any operator will do, those that Kibi cannot run included: a plan for TFLM needs no arithmetic.

Source of what takes memory: TFLM `micro_allocation_info.cc`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

import numpy as np
import tflite

from kibi.dtypes import Array, DType
from kibi.errors import ModelError, Problem
from kibi.frontends.naming import identifier
from kibi.frontends.tflite.flatbuffer import Budget, enter
from kibi.frontends.tflite.model_tables import GET_AGAIN, located
from kibi.frontends.tflite.reader import TENSOR_TYPES, ModelReader, OperatorRecord, TensorRecord
from kibi.ir import Graph, KernelCall, Node, NodeView, Operator, RowAccess, Rows, Tensor, TensorType

_ELEMENT_BYTES = {
    "FLOAT64": 8, "COMPLEX128": 16, "COMPLEX64": 8, "INT64": 8, "UINT64": 8, "FLOAT32": 4, "INT32": 4, "UINT32": 4,
    "FLOAT16": 2, "BFLOAT16": 2, "INT16": 2, "UINT16": 2, "INT8": 1, "UINT8": 1, "BOOL": 1, "INT4": 1,
}  # fmt: skip
"""TFLM `memory_helpers.cc`: computed tensors are not packed. What is not listed takes no arena."""
_ENTERS_SUBGRAPHS = frozenset(("CALL_ONCE", "IF", "WHILE"))
_HANDLE = "VAR_HANDLE"
_MOST_BYTES = 1 << 28
"""Far beyond any microcontroller."""


@dataclass(frozen=True, slots=True)
class UnknownOperator(Operator):
    """An operator of which no more is known than its name and its operands: it runs in one step.

    Attributes:
        name: as the file has it.
        inputs, outputs: names of the operands.
        row_inputs: names of those that are no constants.
    """

    name: str  # type: ignore[misc]  # of each instance, where other operators have one for the class; here and below
    inputs: tuple[str, ...]  # type: ignore[misc]
    outputs: tuple[str, ...]  # type: ignore[misc]
    row_inputs: tuple[str, ...]  # type: ignore[misc]
    kernels: ClassVar[tuple[str, ...]] = ()
    types: ClassVar[tuple[DType, ...]] = ()

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Whatever the output says."""
        return view.output.type.shape, view.output.type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """All rows of all inputs."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in view.row_tensors)

    def steps(self, view: NodeView) -> int:
        """One."""
        del view
        return 1

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Raises an error: unknown operators have no reference.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(view.node.label)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """No kernel, and no scratch that is known."""
        del view
        return KernelCall("")


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a model that a plan for TFLM needs.

    Attributes:
        graph: the first subgraph, of `UnknownOperator` operators. Tensors and nodes are numbered as in the file; what takes none of
            the arena (constants, variables, handles) is constant or external.
        before: pairs of operators of which the first must run before the second, though no tensor says so: they use the
            same state.
        is_free: true if another order can be thought of at all: each tensor is made once, and before it is read.
    """

    graph: Graph
    before: tuple[tuple[int, int], ...]
    is_free: bool


def read_outline(data: bytes, source: str) -> Outline:
    """The outline of a `.tflite` file's contents.

    Args:
        data: the contents of the file.
        source: the file's name, for messages and the graph's name.

    Raises:
        ModelError: the file is corrupt, or an operand leads nowhere, or a shape is not known.
    """
    with located(data, source):
        reader = ModelReader(data)
        records = [reader.operator(index) for index in range(reader.operator_count)]
        tensors = [reader.tensor(index) for index in range(reader.tensor_count)]
        problems = [*_index_problems(reader, records), *_shape_problems(tensors)]
        if problems:
            raise ModelError(source, problems)
        keys = [_state(record, tensors) for record in records]
    without = {record.outputs[0] for record in records if record.name == _HANDLE and record.outputs}
    kinds = tuple(_tensor(index, tensor, index in without) for index, tensor in enumerate(tensors))
    nodes = tuple(_node(index, record, kinds) for index, record in enumerate(records))
    graph = Graph(identifier(source), source, kinds, nodes, reader.inputs, reader.outputs)
    return Outline(graph, _before(records, keys), _is_free(graph))


def _index_problems(reader: ModelReader, records: Sequence[OperatorRecord]) -> Iterator[Problem]:
    for index in (*reader.inputs, *reader.outputs):
        if not 0 <= index < reader.tensor_count:
            what = f"an input or output of the model is tensor {index}, but there are {reader.tensor_count}"
            yield Problem(what, GET_AGAIN)
    for number, record in enumerate(records):
        for index in (*(each for each in record.inputs if each != -1), *record.outputs):
            if not 0 <= index < reader.tensor_count:
                what = f"{record.name}: an operand is tensor {index}, but there are {reader.tensor_count}"
                yield Problem(what, GET_AGAIN, number)


def _shape_problems(tensors: Sequence[TensorRecord]) -> Iterator[Problem]:
    for tensor in tensors:
        if any(size < 0 for size in tensor.shape):
            yield Problem(
                f"its shape is {list(tensor.shape)}", "Export the model with fixed shapes", tensor=tensor.name
            )
        elif _size_bytes(tensor) > _MOST_BYTES:
            what = f"it has {_size_bytes(tensor)} bytes; at most {_MOST_BYTES} are planned"
            yield Problem(what, "Check its shape", tensor=tensor.name)


def _size_bytes(record: TensorRecord) -> int:
    return prod(record.shape) * _ELEMENT_BYTES.get(TENSOR_TYPES.get(record.type_code, ""), 0)


def _tensor(index: int, record: TensorRecord, is_handle: bool) -> Tensor:
    """A tensor of so many bytes; constants without their elements."""
    size_bytes = _size_bytes(record)
    kind = TensorType((1, size_bytes), DType.U8)
    data = None if record.data is None else np.broadcast_to(np.uint8(0), kind.shape)
    return Tensor(index, record.name, kind, data, is_external=record.is_variable or is_handle or not size_bytes)


def _node(index: int, record: OperatorRecord, tensors: Sequence[Tensor]) -> Node:
    names = tuple(f"input_{number}" for number in range(len(record.inputs)))
    inputs = tuple(None if each == -1 else each for each in record.inputs)
    read = tuple(
        name for name, each in zip(names, inputs, strict=True) if each is not None and not tensors[each].is_constant
    )
    outputs = ("output", *(f"output_{number}" for number in range(1, len(record.outputs))))[: len(record.outputs)]
    return Node(UnknownOperator(record.name, names, outputs, read), inputs, record.outputs, index)


def _is_free(graph: Graph) -> bool:
    """True if each tensor is made once, and before it is read."""
    made = [index for node in graph.nodes for index in node.outputs]
    done = set(graph.inputs)
    for node in graph.nodes:
        if any(index in made and index not in done for index in node.inputs):
            return False
        done.update(node.outputs)
    return len(set(made)) == len(made) and not set(made) & set(graph.inputs)


def _state(record: OperatorRecord, tensors: Sequence[TensorRecord]) -> frozenset[bytes | int]:
    """The states that an operator uses by itself: variable tensors by their index, resources by their name."""
    operands = (*(index for index in record.inputs if index != -1), *record.outputs)
    states: set[bytes | int] = {index for index in operands if tensors[index].is_variable}
    if record.name == _HANDLE and record.options is not None:
        table = tflite.VarHandleOptions()
        table.Init(record.options.Bytes, record.options.Pos)
        enter(table, Budget(len(record.options.Bytes)))
        states.add((table.Container() or b"") + b"\0" + (table.SharedName() or b""))
    return frozenset(states)


def _before(records: Sequence[OperatorRecord], keys: Sequence[frozenset[bytes | int]]) -> tuple[tuple[int, int], ...]:
    """Operators that use the same state keep their order; those that enter subgraphs may use any."""
    handles: dict[int, frozenset[bytes | int]] = {}
    users: dict[bytes | int, list[int]] = {}
    everything: list[int] = []
    for number, (record, own) in enumerate(zip(records, keys, strict=True)):
        states = own.union(*(handles.get(index, frozenset()) for index in record.inputs))
        if record.name == _HANDLE:
            handles |= dict.fromkeys(record.outputs, states)
            continue
        if record.name in _ENTERS_SUBGRAPHS:
            everything.append(number)
        for state in states:
            users.setdefault(state, []).append(number)
    pairs = {pair for its in users.values() for pair in pairwise(its)}
    stateful = sorted({number for its in users.values() for number in its} | set(everything))
    for gate in everything:
        pairs |= {(number, gate) if number < gate else (gate, number) for number in stateful if number != gate}
    return tuple(sorted(pairs))
