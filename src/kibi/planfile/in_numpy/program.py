"""What a plan file says, as frozen data that is quick to follow."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kibi.errors import PlanError
from kibi.kernels.params import PARAMS, FieldKind, Params
from kibi.kernels.params.layout import Layout
from kibi.planfile.in_numpy.contracts import Group, Shape, holds
from kibi.planfile.kernel_ids import kernel_id
from kibi.planfile.reader import PlanFile
from kibi.planfile.record import Record
from kibi.planfile.records import GRAPH, GROUP, NODE, PLACE, PORT, VARIABLE, Kind, Memory
from kibi.planfile.run_reader import FileRun, runs_of

Place = tuple[int, int]
"""The number of a memory, and the byte there."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes:
        kernel: its name; empty where a step stores a row that the caller gives.
        kind: what is special about it.
        numbers: of its parameters, by the names of the struct's fields.
        pointers: offsets of the constants that they point to.
        bodies: numbers of the graphs that its kernel runs.
        groups: its pointers: of its inputs, its states, its outputs.
        reads, states: how many of these are inputs, and states.
        steps: how many row steps it has.
        scratch, scratch_bytes: the byte of the arena at which its scratch begins, and its size; None: it has none.
    """

    kernel: str
    kind: Kind
    numbers: Mapping[str, float]
    pointers: Mapping[str, int]
    bodies: Mapping[str, int]
    groups: tuple[Group, ...]
    reads: int
    states: int
    steps: int
    scratch: int | None
    scratch_bytes: int


@dataclass(frozen=True, slots=True)
class Program:
    """A graph: the model, or one inside of an operator.

    Attributes:
        nodes, runs: of it.
        places: what entries say that are not below the sizes of arena and state.
        inputs, outputs: the byte of the arena at which each begins; of a graph inside of an operator.
        arena_bytes: of its arena.
        state_bytes: of the model's variables.
    """

    nodes: tuple[Node, ...]
    runs: tuple[FileRun, ...]
    places: tuple[Place, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    arena_bytes: int
    state_bytes: int

    def place(self, run: FileRun, pointer: int, further: int) -> Place:
        """Returns where a pointer leads, so many steps after the first one of its run.

        Raises:
            PlanError: it is an entry that there is not.
        """
        entry = run.entries[pointer]
        moved = run.distances[pointer] * further if further else run.shifts[pointer] if run.shifts else 0
        if entry < self.arena_bytes:
            return Memory.ARENA, entry + moved
        if Kind.LEAVES not in self.nodes[run.node].kind:
            raise wrong("a node that stays in the arena is given a place outside of it")
        if entry < self.arena_bytes + self.state_bytes:
            return Memory.STATE, entry - self.arena_bytes + moved
        number = entry - self.arena_bytes - self.state_bytes
        if number >= len(self.places):
            raise wrong("a step is given a place that there is not")
        memory, offset = self.places[number]
        return memory, offset + moved


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


def port_of(file: PlanFile, index: int) -> Mapping[str, int]:
    """Returns the record of a port: inputs come first, then outputs.

    Raises:
        PlanError: it is not inside the file.
    """
    return file.record(PORT, file.header["ports"] + index * PORT.size_bytes)


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
        if not nodes or graph["arena_bytes"] > self.file.arena_bytes:
            raise wrong("a graph has no nodes, or a larger arena than the model")
        inputs, outputs = graph["input_count"], graph["output_count"]
        ends = self.file.words(graph["ends"], inputs + outputs)
        places = self.table(PLACE, graph["places"], graph["place_count"])
        return Program(
            tuple(map(self._node, nodes)),
            tuple(runs_of(self.file, graph, nodes)),
            tuple((each["memory"], each["offset"]) for each in places),
            tuple(ends[:inputs]),
            tuple(ends[inputs:]),
            graph["arena_bytes"],
            self.file.state_bytes,
        )

    def _node(self, one: Mapping[str, int]) -> Node:
        kind = Kind(one["flags"])
        receives = Kind.RECEIVES in kind
        if not receives and one["kernel_id"] not in self.kernels:
            raise wrong(f"no kernel has the id {one['kernel_id']:#010x}")
        kernel = "" if receives else self.kernels[one["kernel_id"]]
        numbers, pointers, bodies = ({}, {}, {}) if receives else self._params(PARAMS[kernel], one["params"])
        reads, states, outputs = one["read_count"], one["state_count"], one["output_count"]
        groups = tuple(
            Group(each["count"], each["bytes"]) for each in self.table(GROUP, one["groups"], reads + states + outputs)
        )
        if not outputs or sum(each.count for each in groups) != one["pointers"]:
            raise wrong("a node has no outputs, or other pointers than its groups say")
        scratch = one["scratch"] if one["scratch_bytes"] else None
        if not receives:
            shape = Shape(one["steps"], groups, reads, states, 0 if scratch is None else one["scratch_bytes"])
            if not holds(self.file, kernel, one["params"], shape):
                raise wrong(f"a node asks {kernel} for what it may not")
        return Node(
            kernel, kind, numbers, pointers, bodies, groups, reads, states, one["steps"], scratch, one["scratch_bytes"]
        )

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
                if each.is_pointer:
                    pointers[each.name] = (offset + word) % (1 << 32)
                else:
                    bodies[each.name] = word
        return numbers, pointers, bodies


__all__ = ["Node", "Place", "Program", "Variable", "port_of", "programs_of", "variables_of", "wrong"]
