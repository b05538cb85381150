"""What a plan file says, as frozen data that is quick to follow."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.errors import PlanError
from kibi.kernels.params import PARAMS, FieldKind, Params
from kibi.kernels.params.layout import Layout
from kibi.planfile.in_numpy.contracts import Shape, holds
from kibi.planfile.kernel_ids import kernel_id
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import (
    GRAPH,
    LINE,
    NODE,
    NOTHING,
    READ,
    TENSOR,
    VARIABLE,
    WINDOW,
    WRITE,
    Kind,
    Placing,
    Reading,
    Record,
)

_MOST_STEPS = (1 << 15) - 1
_WIDTHS = {Placing.BYTES: "<u1", Placing.HALVES: "<u2", Placing.WORDS: "<u4"}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where the rows of a tensor are.

    Attributes:
        memory: the number of its memory: arena, state, file, external buffers.
        base: the byte from which places count.
        step: what a row's number, or its entry, is multiplied by.
        period: of a ring; 0: it is none.
        table: the entry of each row; None: there is none.
        rows, row_bytes: how many rows there are, and the bytes of one.
    """

    memory: int
    base: int
    step: int
    period: int
    table: NDArray[np.unsignedinteger] | None
    rows: int
    row_bytes: int

    def place(self, row: int) -> int:
        """Returns the byte of the memory at which a row begins."""
        if self.table is not None:
            row = int(self.table[row])
        elif self.period:
            row %= self.period
        return self.base + row * self.step


@dataclass(frozen=True, slots=True)
class Read:
    """The rows that a step reads of an input: `start + stride * step + dilation * k` for each k below `count`.

    Attributes:
        tensor: its number.
        is_shared: True if all batches of steps read the one batch of rows.
        count, start, stride, dilation: of the window.
        rows, steps: of one batch.
        parts: into which each row is divided.
        filler: the offset in the file of the row that replaces those outside; 0: nothing does.
    """

    tensor: int
    is_shared: bool
    count: int
    start: int
    stride: int
    dilation: int
    rows: int
    steps: int
    parts: int
    filler: int


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes:
        kernel: its name; empty where a step stores a row that the caller gives.
        kind: what is special about it.
        numbers: of its parameters, by the names of the struct's fields.
        pointers: offsets of the constants that they point to; 0: none.
        bodies: numbers of the graphs that its kernel runs.
        reads: its inputs.
        writes: the tensor of each output, then of each state, and the rows that a step makes.
        outputs: how many of them are outputs.
        steps: how many row steps it has.
        scratch, scratch_bytes: the byte of the arena at which its scratch begins, and its size; None: it has none.
    """

    kernel: str
    kind: Kind
    numbers: Mapping[str, float]
    pointers: Mapping[str, int]
    bodies: Mapping[str, int]
    reads: tuple[Read, ...]
    writes: tuple[tuple[int, int], ...]
    outputs: int
    steps: int
    scratch: int | None
    scratch_bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the order; see the record of the same name."""

    start: int
    last: int
    step: int
    steps: int
    further: int


@dataclass(frozen=True, slots=True)
class Program:
    """A graph: the model, or one inside of an operator.

    Attributes:
        nodes, tensors, lines: of it.
        inputs, outputs: the byte of the arena at which each begins; of a graph inside of an operator.
        arena_bytes: of its arena.
    """

    nodes: tuple[Node, ...]
    tensors: tuple[Tensor, ...]
    lines: tuple[Line, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    arena_bytes: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: the byte of the state at which it begins, and its first bytes."""

    place: int
    initial: bytes


def programs_of(file: PlanFile) -> tuple[Program, ...]:
    """Returns the graphs of a plan file; the first is the model.

    Raises:
        PlanError: an offset leads outside of the file, a number is out of its range, or a kernel is unknown.
    """
    reader = _Reader(file, {kernel_id(name): name for name in PARAMS})
    head = file.header
    return tuple(reader.program(each) for each in reader.table(GRAPH, head["graphs"], head["graph_count"]))


def variables_of(file: PlanFile) -> tuple[Variable, ...]:
    """Returns the variables of a plan file.

    Raises:
        PlanError: one is not inside the memory of variables.
    """
    found, head = [], file.header
    for each in _Reader(file, {}).table(VARIABLE, head["variables"], head["variable_count"]):
        if each["place"] + each["bytes"] > head["state_bytes"]:
            raise wrong("a variable is outside of the memory of variables")
        initial = (
            file.part(each["initial"], each["bytes"])
            if each["initial"]
            else bytes([each["fill"] & 255]) * each["bytes"]
        )
        found.append(Variable(each["place"], initial))
    return tuple(found)


def wrong(what: str) -> PlanError:
    """The error for a file that asks for what no model may."""
    return PlanError(f"the plan file is wrong: {what}. Make it again with `kibi compile --format plan`.")


@dataclass(frozen=True, slots=True)
class _Reader:
    file: PlanFile
    kernels: Mapping[int, str]

    def table(self, record: Record, offset: int, count: int) -> list[dict[str, int]]:
        return [self.file.record(record, offset + k * record.size_bytes) for k in range(count)]

    def program(self, graph: Mapping[str, int]) -> Program:
        nodes = self.table(NODE, graph["nodes"], graph["node_count"])
        lines = self.table(LINE, graph["lines"], graph["line_count"])
        if not nodes or graph["arena_bytes"] > self.file.arena_bytes:
            raise wrong("a graph has no nodes, or a larger arena than the model")
        tensors = tuple(self._tensor(each) for each in self.table(TENSOR, graph["tensors"], graph["tensor_count"]))
        return Program(
            tuple(self._node(each, tensors) for each in nodes),
            tensors,
            tuple(Line(*(each[name] for name in Line.__dataclass_fields__)) for each in lines),
            tuple(self.file.words(graph["inputs"], graph["input_count"])),
            tuple(self.file.words(graph["outputs"], graph["output_count"])),
            graph["arena_bytes"],
        )

    def _tensor(self, one: Mapping[str, int]) -> Tensor:
        if one["placing"] > Placing.WORDS or not one["rows"] or not one["row_bytes"]:
            raise wrong("a tensor has no rows, or no known placing")
        placing, table = Placing(one["placing"]), None
        if placing in _WIDTHS:
            kind = np.dtype(_WIDTHS[placing])
            table = np.frombuffer(self.file.part(one["table"], one["rows"] * kind.itemsize), kind)
        if placing is Placing.RING and not one["period"]:
            raise wrong("a ring has no period")
        step = (
            one["step"] - (1 << 32) if placing in (Placing.LINEAR, Placing.RING) and one["step"] >> 31 else one["step"]
        )
        period = one["period"] if placing is Placing.RING else 0
        found = Tensor(one["memory"], one["base"], step, period, table, one["rows"], one["row_bytes"])
        if found.row_bytes > self._memory_bytes(found):
            raise wrong("a row of a tensor is larger than its memory")
        return found

    def _node(self, one: Mapping[str, int], tensors: tuple[Tensor, ...]) -> Node:
        kind = Kind(one["flags"])
        receives = Kind.RECEIVES in kind
        if not receives and one["kernel_id"] not in self.kernels:
            raise wrong(f"no kernel has the id {one['kernel_id']:#010x}")
        kernel = "" if receives else self.kernels[one["kernel_id"]]
        numbers, pointers, bodies = ({}, {}, {}) if receives else self._params(PARAMS[kernel], one["params"])
        writes = tuple((each["tensor"], each["rows"]) for each in self.table(WRITE, one["writes"], one["write_count"]))
        reads = tuple(
            self._read(each, one["steps"], tensors) for each in self.table(READ, one["reads"], one["read_count"])
        )
        if (
            not one["output_count"]
            or one["write_count"] != one["output_count"] + one["state_count"]
            or any(number >= len(tensors) for number, _ in writes)
        ):
            raise wrong("a node has no outputs, or names a tensor that there is not")
        scratch = None if one["scratch"] == NOTHING else one["scratch"]
        self._check_size(one, reads)
        if not receives:
            self._check_contract(kernel, one, tensors, reads, writes)
        return Node(
            kernel, kind, numbers, pointers, bodies, reads, writes,
            one["output_count"], one["steps"], scratch, one["scratch_bytes"],
        )  # fmt: skip

    def _check_size(self, one: Mapping[str, int], reads: tuple[Read, ...]) -> None:
        """A step has as many rows as its record says, and there are no more steps than a record may have."""
        rows = sum(each.count for each in reads) + one["write_count"]
        if rows != one["rows"] or not 1 <= one["steps"] <= _MOST_STEPS:
            raise wrong("a node has other rows than its steps need, or more steps than there may be")

    def _check_contract(
        self,
        kernel: str,
        one: Mapping[str, int],
        tensors: tuple[Tensor, ...],
        reads: tuple[Read, ...],
        writes: tuple[tuple[int, int], ...],
    ) -> None:
        """A node keeps to the contract of its kernel."""
        accumulates = bool(one["flags"] & Kind.ACCUMULATES)
        rooms = []
        for place, (number, made) in enumerate(writes):
            tensor = tensors[number]
            rows = tensor.rows if accumulates or place >= one["output_count"] else made
            rooms.append(min(rows * tensor.row_bytes, self._memory_bytes(tensor)))
        shape = Shape(
            one["steps"],
            [each.count for each in reads],
            [tensors[each.tensor].row_bytes // each.parts for each in reads],
            rooms[: one["output_count"]],
            rooms[one["output_count"] :],
            0 if one["scratch"] == NOTHING else one["scratch_bytes"],
        )
        if not holds(self.file, kernel, one["params"], shape):
            raise wrong(f"a node asks {kernel} for what it may not")

    def _memory_bytes(self, tensor: Tensor) -> int:
        """The bytes of the memory that holds a tensor."""
        sizes = (self.file.arena_bytes, self.file.state_bytes, len(self.file.data), *self.file.externals)
        return sizes[tensor.memory] if tensor.memory < len(sizes) else 0

    def _read(self, one: Mapping[str, int], steps: int, tensors: tuple[Tensor, ...]) -> Read:
        if one["tensor"] >= len(tensors):
            raise wrong("a node reads a tensor that there is not")
        shared = bool(one["flags"] & Reading.SHARED)
        if one["flags"] & Reading.SINGLE:
            return Read(one["tensor"], shared, 1, 0, 1, 0, steps, steps, 1, 0)
        window = self.file.record(WINDOW, one["window"])
        if not window["steps"] or not window["parts"] or tensors[one["tensor"]].row_bytes % window["parts"]:
            raise wrong("a window has no steps, or divides rows unevenly")
        names = ("count", "start", "stride", "dilation", "rows", "steps", "parts", "filler")
        return Read(one["tensor"], shared, *(window[name] for name in names))

    def _params(
        self, kind: type[Params], offset: int
    ) -> tuple[Mapping[str, float], Mapping[str, int], Mapping[str, int]]:
        """Returns the numbers, the offsets of constants, and the numbers of graphs in a parameter struct."""
        layout = Layout.of(kind)
        data = self.file.part(offset, layout.size_bytes)
        numbers, pointers, bodies = dict[str, float](), dict[str, int](), dict[str, int]()
        for each, place in zip(kind.fields, layout.offsets, strict=True):
            if each.kind is FieldKind.NUMBER and each.dtype is not None:
                numbers[each.name] = np.frombuffer(data, each.dtype.numpy, 1, place)[0].item()
            else:
                word = int.from_bytes(data[place : place + 4], "little")
                (pointers if each.kind is FieldKind.ARRAY else bodies)[each.name] = word
        return numbers, pointers, bodies


__all__ = ["Line", "Node", "Program", "Read", "Tensor", "Variable", "programs_of", "variables_of", "wrong"]
