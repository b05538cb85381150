"""The runs of a graph: the order of all row steps, each with the places of what it reads and writes.

A run is a row step of a node, or several whose places are evenly spaced. Its numbers are the node, doubled, plus 1 where there are
several steps; then how many; then, if the node counts, the number of the first step; then an entry for each pointer; and, where
there are several steps, for each pointer how many bytes it moves on with each step. A run that says that it has 0 steps has one,
whose pointers to inputs are evenly spaced: it has an entry for the first one, the distance between two, and an entry for each of
the others. An entry below the arena's size is a byte of the arena, those after it are bytes of the state; others count place
records. Graphs have runs of bytes, where an entry or a distance is the index of a 16-bit number in a table; where bytes do not
suffice, runs of 16-bit numbers; or these with 32-bit entries and distances. After runs of bytes is one more, at which a core stops.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from kibi.codegen.emit_context import STATE_ALIGNMENT, EmitContext
from kibi.errors import InternalError
from kibi.ir import RowAccess, Tensor
from kibi.planfile.records import MANY, TABLE_NUMBERS, Bytes, Kind, Memory
from kibi.planner.plan import Buffer, Run

WIDTHS = (1, 2, 4)
"""Bytes of an entry: an index in a table of numbers, or the number."""
_MOST_16 = 0xFFFF
_MOST_DISTANCE = 0x7FFF
_ANY_BYTES = (1 << 31) - 1
_LEAST_SPACED = 5
"""A run of fewer evenly spaced pointers is no faster than one with an entry for each."""

Place: TypeAlias = tuple[int, int]
"""Where a pointer leads: the number of its memory, and the byte there."""

NULL: Place = (Memory.NULL, 0)


@dataclass(frozen=True, slots=True)
class Group:
    """The pointers of a step to one input, state or output; see the record of the same name."""

    bytes: int
    count: int
    alignment: int
    flags: Bytes

    def values(self) -> dict[str, int]:
        """Returns the fields of its record."""
        return {"bytes": self.bytes, "count": self.count, "alignment": self.alignment, "flags": self.flags}


@dataclass(frozen=True, slots=True)
class OneRun:
    """A run.

    Attributes:
        node: the number of its node.
        bytes: how many it has.
        steps: how many row steps it has.
        constants: the bytes of the file to which pointers of its first step lead. With each step a pointer stays in its constant.
    """

    node: int
    bytes: int
    steps: int
    constants: frozenset[int]


@dataclass(frozen=True, slots=True)
class GraphRuns:
    """The runs of a graph as a file has them.

    Attributes:
        table: the 16-bit numbers that the bytes of runs name: the last one has the index 255. Empty for other widths.
        data: the runs; they follow the table.
        places: what the entries above the arena's size say.
        width: bytes of an entry.
        runs: each of them, in order.
        is_spaced: True if pointers of some are evenly spaced, and are stored so.
    """

    table: bytes
    data: bytes
    places: tuple[Place, ...]
    width: int
    runs: tuple[OneRun, ...]
    is_spaced: bool


@dataclass
class Pointers:
    """Where the pointers of a graph's steps lead.

    Attributes:
        b: the graph.
        constants: the offset in the file of each constant tensor, by its index.
        fillers: the offset in the file of the rows that replace those outside, by node and input.
    """

    b: EmitContext
    constants: dict[int, int]
    fillers: dict[tuple[int, int], int]
    _rows: dict[int, tuple[int, Sequence[int]]] = field(default_factory=dict)

    def of(self, node: int, step: int) -> list[Place]:
        """Returns the places of a step: of its inputs, its states, its outputs."""
        view = self.b.graph.views[node]
        found = list[Place]()
        if not view.op.receives:
            for number, (tensor, access) in enumerate(zip(view.row_tensors, self.b.accesses[node], strict=True)):
                found += self._read(tensor, access, step, self.fillers.get((node, number)))
        found += [self._row(view[name], 0) for name in view.op.states]
        for output, tensor in enumerate(view.outputs):
            found.append(self._row(tensor, 0 if view.accumulates else view.made_rows(step, output).start))
        return found

    def inputs(self, node: int, places: Sequence[Place]) -> Sequence[Place]:
        """Returns those places of a step of a node that are of its inputs."""
        view = self.b.graph.views[node]
        return places[: len(places) - len(view.op.states) - len(view.outputs)]

    def leave(self, node: int) -> bool:
        """True if some pointer of a node leads out of the arena, or nowhere."""
        steps = range(self.b.graph.views[node].steps)
        return any(memory != Memory.ARENA for step in steps for memory, _ in self.of(node, step))

    def port(self, index: int) -> Place:
        """Returns where a tensor that is in one piece begins."""
        return self._row(self.b.graph.tensors[index], 0)

    def groups(self, node: int) -> list[Group]:
        """Returns the groups of a node: of its inputs, its states, its outputs."""
        view = self.b.graph.views[node]
        found = list[Group]()
        if not view.op.receives:
            found += [
                _read_group(tensor, access, view.steps)
                for tensor, access in zip(view.row_tensors, self.b.accesses[node], strict=True)
            ]
        for name in view.op.states:
            found.append(_whole(view[name]))
        for output, tensor in enumerate(view.outputs):
            rows = tensor.type.rows if view.accumulates else len(view.made_rows(0, output))
            found.append(Group(rows * tensor.type.row_bytes, 1, tensor.type.dtype.size_bytes, Bytes(0)))
        return found

    def _read(self, tensor: Tensor, access: RowAccess, step: int, filler: int | None) -> Iterator[Place]:
        outside = NULL if filler is None else (int(Memory.FILE), filler)
        part_bytes = tensor.type.row_bytes // access.parts
        first_bytes = access.taken(tensor.type.row_elements)[0] * tensor.type.dtype.size_bytes
        for position in access.positions(step)[: access.pointers]:
            if position is None:
                yield outside
            else:
                row, part = divmod(position, access.parts)
                memory, place = self._row(tensor, row)
                yield memory, place + part * part_bytes + first_bytes

    def _row(self, tensor: Tensor, row: int) -> Place:
        if tensor.index not in self._rows:
            self._rows[tensor.index] = self._rows_of(tensor)
        memory, places = self._rows[tensor.index]
        return memory, places[row]

    def _rows_of(self, tensor: Tensor) -> tuple[int, Sequence[int]]:
        """The memory of a tensor, and the place of each row there."""
        b, index = self.b, tensor.index
        if tensor.is_planned:
            return Memory.ARENA, b.plan.row_offsets(b.graph, index)
        if tensor.is_constant:
            memory, base = int(Memory.FILE), self.constants[index]
        elif tensor.is_state:
            memory, base = int(Memory.STATE), b.variables[b.graph.variable_of(index)]
        else:
            memory, base = Memory.EXTERNAL + b.external.index(index), 0
        row_bytes = tensor.type.row_bytes
        return memory, range(base, base + tensor.type.rows * row_bytes, row_bytes)


def graph_runs(
    b: EmitContext, pointers: Pointers, kinds: Sequence[Kind], state_bytes: int, least_width: int = 1
) -> GraphRuns:
    """Returns the runs of a graph, with entries of as few bytes as suffice.

    Args:
        b: the graph.
        pointers: where its steps' pointers lead.
        kinds: the kind of each node.
        state_bytes: of the model's variables.
        least_width: the fewest bytes of an entry.

    Raises:
        InternalError: 32-bit entries do not suffice.
    """
    for width in (each for each in WIDTHS if each >= least_width):
        writer = _Writer(pointers, kinds, b.plan.arena_bytes, state_bytes, width)
        for run in b.plan.runs:
            writer.add(run)
        if writer.suffices:
            table, data = writer.encoded()
            return GraphRuns(table, data, tuple(writer.places), width, tuple(writer.each), writer.is_spaced)
    raise InternalError("a graph has runs that no file can hold")


@dataclass
class _Writer:
    """Writes the runs of one graph.

    Attributes:
        pointers, kinds, arena_bytes, state_bytes, width: of the graph.
        places: the places so far, with their numbers.
        runs: for each run its first numbers, and its entries and distances.
        each: the same runs for those who ask what they read.
        is_spaced: True if pointers of some are evenly spaced.
    """

    pointers: Pointers
    kinds: Sequence[Kind]
    arena_bytes: int
    state_bytes: int
    width: int
    places: dict[Place, int] = field(default_factory=dict)
    runs: list[tuple[list[int], list[int]]] = field(default_factory=list)
    each: list[OneRun] = field(default_factory=list)
    is_spaced: bool = False

    @cached_property
    def _records(self) -> dict[tuple[int, int, int], int]:
        """The number of the record for each place of the scratch of each node."""
        return {each: number for number, each in enumerate(self.pointers.b.scratch_records)}

    @cached_property
    def _scratch(self) -> dict[int, tuple[Buffer, ...]]:
        """The scratch of each step of the nodes whose scratch has several places."""
        plan = self.pointers.b.plan
        several = {node for node, _, _ in self.pointers.b.scratch_records[len(self.kinds) :]}
        return {node: plan.scratch_by_step(node) for node in several}

    def _record(self, node: int, step: int) -> int:
        """The number of the record of a step of a node."""
        if node not in self._scratch:
            return node
        scratch = self._scratch[node][step]
        return self._records[node, scratch.offset, scratch.size_bytes]

    def add(self, run: Run) -> None:
        """Adds steps of a node, in as few runs as their places allow."""
        steps = [self.pointers.of(run.node, run.first_step + k) for k in range(run.steps)]
        first = 0
        while first < len(steps):
            distances = () if Kind.RECEIVES in self.kinds[run.node] else self._distances(steps[first : first + 2])
            last = min(len(steps), first + self._most)
            count = 1
            while first + count < last and distances and _between(*steps[first + count - 1 :][:2]) == distances:
                count += 1
            self._write(run.node, run.first_step + first, count, steps[first], distances)
            first += count

    @property
    def suffices(self) -> bool:
        """True if all numbers fit."""
        return (
            (self.width > 2 or self.arena_bytes + self.state_bytes + len(self.places) <= _MOST_16 + 1)
            and all(number <= self._most for numbers, _ in self.runs for number in numbers)
            and (self.width > 1 or len(self._table) <= TABLE_NUMBERS)
        )

    def encoded(self) -> tuple[bytes, bytes]:
        """Returns the table of numbers, and the runs; there is a table for bytes alone."""
        if self.width > 1:
            data = (
                np.array(each, np.int64).astype(kind).tobytes()
                for run in self.runs
                for each, kind in zip(run, ("<u2", f"<u{self.width}"), strict=True)
            )
            return b"", b"".join(data)
        table = self._table
        index = {number: TABLE_NUMBERS - len(table) + k for k, number in enumerate(table)}
        data = (bytes([*numbers, *(index[each & _MOST_16] for each in entries)]) for numbers, entries in self.runs)
        return np.array(table, "<u2").tobytes(), b"".join(data)

    @property
    def _most(self) -> int:
        """The largest of a run's first numbers."""
        return (1 << 8 * min(self.width, 2)) - 1

    @property
    def _table(self) -> list[int]:
        """The 16-bit numbers of all entries and distances, ascending."""
        return sorted({each & _MOST_16 for _, entries in self.runs for each in entries})

    def _distances(self, steps: Sequence[Sequence[Place]]) -> tuple[int, ...]:
        """How far each pointer moves on from one step to the next; nothing where that is no number of the width."""
        return self._storable(_between(*steps)) if len(steps) > 1 else ()

    def _storable(self, distances: tuple[int, ...]) -> tuple[int, ...]:
        """The distances, or nothing where one is no number of the width."""
        return distances if self.width > 2 or all(abs(each) <= _MOST_DISTANCE for each in distances) else ()

    def _spacing(self, inputs: Sequence[Place]) -> tuple[int, ...]:
        """How far pointers to inputs are apart, if they are evenly spaced; nothing where a core is not made for that.

        Only a core with variables has a faster way through runs of one step, to which this belongs.
        """
        if not self.state_bytes or len(inputs) < _LEAST_SPACED:
            return ()
        found = {_between([before], [after]) for before, after in pairwise(inputs)}
        return self._storable(found.pop()) if len(found) == 1 else ()

    def _write(self, node: int, step: int, count: int, places: Sequence[Place], distances: Sequence[int]) -> None:
        inputs = self.pointers.inputs(node, places)
        spacing = self._spacing(inputs) if count == 1 else ()
        record = self._record(node, step)
        numbers = [2 * record] if count == 1 and not spacing else [2 * record + MANY, 0 if spacing else count]
        if Kind.COUNTS in self.kinds[node]:
            numbers.append(step)
        if spacing:
            entries = [self._entry(places[0]), *spacing, *map(self._entry, places[len(inputs) :])]
        else:
            entries = [*map(self._entry, places), *(distances if count > 1 else ())]
        self.is_spaced |= bool(spacing)
        self.runs.append((numbers, entries))
        size = len(numbers) * min(self.width, 2) + len(entries) * self.width
        self.each.append(OneRun(node, size, count, frozenset(at for memory, at in places if memory == Memory.FILE)))

    def _entry(self, place: Place) -> int:
        if place[0] == Memory.ARENA:
            return place[1]
        if place[0] == Memory.STATE:
            return self.arena_bytes + place[1]
        return self.arena_bytes + self.state_bytes + self.places.setdefault(place, len(self.places))


def _between(before: Sequence[Place], after: Sequence[Place]) -> tuple[int, ...]:
    """How far each pointer moves on between two steps; nothing if one changes its memory."""
    if any(first[0] != second[0] for first, second in zip(before, after, strict=True)):
        return ()
    return tuple(second[1] - first[1] for first, second in zip(before, after, strict=True))


def _whole(tensor: Tensor) -> Group:
    """The pointer to a state: kernels may read words of it, whatever its elements are."""
    alignment = STATE_ALIGNMENT if tensor.is_state else tensor.type.dtype.size_bytes
    return Group(tensor.type.size_bytes, 1, alignment, Bytes(0))


def _read_group(tensor: Tensor, access: RowAccess, steps: int) -> Group:
    """The pointers of a step to an input. Of pointers that are all null, any number of bytes may be used."""
    part_bytes = access.taken(tensor.type.row_elements)[1] * tensor.type.dtype.size_bytes
    flags = Bytes(0)
    if access.is_joined:
        return Group(part_bytes * access.count, 1, tensor.type.dtype.size_bytes, flags)
    if access.fill is None and not access.stays_inside:
        inside = [[each is not None for each in access.positions(k)] for k in range(min(steps, access.output_rows))]
        if not all(map(all, inside)):
            flags = Bytes.NULLABLE | (Bytes.REACHES if all(map(any, inside)) else Bytes(0))
        if not any(map(any, inside)):
            part_bytes = _ANY_BYTES
    return Group(part_bytes, access.count, tensor.type.dtype.size_bytes, flags)
