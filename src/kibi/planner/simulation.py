"""Plans played step by step on a map of the arena, and of the state behind it, that says, for each byte, whose it is.

No lifetime is believed: which bytes must be where at each step follows from the order alone.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph
from kibi.planner.plan import Buffer, Plan

_NOBODY = -1
_SCRATCH = -2
"""Of node 0; further nodes' numbers go down from there."""


def simulate(graph: Graph, plan: Plan) -> Iterator[str]:
    """Run the steps on the map.

    Args:
        graph: a verified graph.
        plan: computes each row once; its buffers have the right sizes, lie in the arena, and hold each row once.

    Yields:
        What is wrong: rows that a step reads, has written, or leaves to the caller, but that are not there; uses
        outside declared lifetimes; model inputs and outputs that are not contiguous.
    """
    arena = _Arena(graph, plan)
    for index, row in _rows_of(graph, graph.stored_inputs):
        arena.write(index, row)
    for index, row in _rows_of(graph, graph.stored_inputs):
        yield from (f"before step 0: {what}" for what in arena.check(index, row, 0))
    for index in dict.fromkeys((*graph.stored_inputs, *graph.outputs)):
        yield from arena.gaps(index)
    for index in graph.variables:
        for row in range(graph.tensors[index].type.rows):
            arena.write(index, row)
    order = [(run.node, run.first_step + k) for run in plan.runs for k in range(run.steps)]
    for step, (node, row) in enumerate(order):
        yield from (f"step {step}, row {row} of {_label(graph, node)}: {what}" for what in arena.step(step, node, row))
    for index, row in _rows_of(graph, graph.outputs):
        yield from (f"at the end: {what}" for what in arena.check(index, row, len(order) - 1))
    for index in arena.last_versions():
        for row in range(graph.tensors[index].type.rows):
            yield from (f"at the end: {what}" for what in arena.check(index, row, len(order) - 1))


def _rows_of(graph: Graph, tensors: tuple[int, ...]) -> list[tuple[int, int]]:
    """The rows of those tensors that live in the arena, as (tensor, row)."""
    computed = [index for index in tensors if graph.tensors[index].is_planned]
    return [(index, row) for index in computed for row in range(graph.tensors[index].type.rows)]


class _Arena:
    """Who owns each byte: the unit (tensor, row) that was written there last."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.row_at: dict[tuple[int, int], tuple[int, Buffer | None]] = {}
        self.unit: dict[tuple[int, int], int] = {}
        self.scratch = {node: buffer for buffer in plan.buffers for node in buffer.nodes}
        for buffer in plan.buffers:
            for k in range(buffer.rows if buffer.tensor is not None else 0):
                key = (buffer.tensor or 0, buffer.first_row + k)
                row_bytes = graph.tensors[key[0]].type.row_bytes
                self.row_at[key] = (buffer.offset + k * row_bytes, buffer)
                self.unit[key] = len(self.unit)
        highest = max((buffer.offset + buffer.size_bytes for buffer in plan.buffers), default=0)
        for variable in graph.variables:
            versions = [each for each in graph.tensors if each.is_state and graph.variable_of(each.index) == variable]
            for key in ((each.index, row) for each in versions for row in range(each.type.rows)):
                self.row_at[key] = (highest + key[1] * graph.tensors[key[0]].type.row_bytes, None)
                self.unit[key] = len(self.unit)
            highest += graph.tensors[variable].type.size_bytes
        self.owner = np.full(highest, _NOBODY, np.int64)
        self.intact: set[int] = set()
        """The units all of whose bytes hold what was written there: kept so that what is read often is not looked at again."""
        self.key_of: dict[int, tuple[int, int]] = {}
        self.row_bytes = [tensor.type.row_bytes for tensor in graph.tensors]
        self.made_rows = {
            index: view.every_made_rows(output)
            for view in graph.views
            for output, index in enumerate(view.node.outputs)
        }
        self.accesses = [view.accesses for view in graph.views]
        self.overlaps = [call.inplace_distance_bytes for call in graph.calls]

    def last_versions(self) -> Iterator[int]:
        """What each variable must hold at the end."""
        followed = {tensor.updates for tensor in self.graph.tensors}
        states = dict.fromkeys(index for index, _ in self.row_at if self.graph.tensors[index].is_state)
        yield from (index for index in states if index not in followed)

    def write(self, tensor: int, row: int) -> None:
        """A row's bytes are now its own."""
        self._take(self._bytes(tensor, row), self.unit[tensor, row])

    def _take(self, places: NDArray[np.int64], unit: int) -> None:
        """All bytes of a unit are now its own; whatever they belonged to has lost them."""
        before = places[:1] if (places == places[:1]).all() else np.unique(places)
        self.intact.difference_update(before.tolist())
        places[:] = unit
        self.intact.add(unit)

    def step(self, step: int, node: int, row: int) -> Iterator[str]:
        """Run a row step; what is wrong with the rows, and the accumulator, that must be there while the kernel runs."""
        if row > 0:
            yield from self._accumulated(node)
        made = list(self._made(node, row))
        read = list(self._read(node, row))
        scratch = self.scratch.get(node)
        if scratch is not None:
            # The kernel may write its scratch before it has read its input and after it has stored its output.
            self._take(self._scratch_bytes(scratch), self._scratch_unit(node))
            if not scratch.start <= step < scratch.end:
                yield f"scratch is used, but declares to live from step {scratch.start} to {scratch.end}"
        for index, each, _ in read:
            if not self._is_there(index, each, step):
                yield from self.check(index, each, step)
        for key in made:
            self.write(*key)
        yield from self._scattered(made)
        if scratch is not None and self._scratch_unit(node) not in self.intact:
            yield "the output lies in the scratch"
        for key in made:
            yield from self.check(*key, step)
        for index in self.graph.nodes[node].outputs:
            yield from self._overwritten([key for key in made if key[0] == index], read)

    def _read(self, node: int, row: int) -> Iterator[tuple[int, int, int | None]]:
        """The rows that a step reads, as (tensor, row), and how far below them its output may begin that overwrites them."""
        tensors = self.graph.views[node].row_tensors
        overlaps = self.overlaps[node] or (None,) * len(tensors)
        for tensor, access, overlap in zip(tensors, self.accesses[node], overlaps, strict=True):
            if (tensor.index, 0) in self.row_at:
                parts = [part for part in access.positions(row) if part is not None]
                rows = parts if access.parts == 1 else sorted({part // access.parts for part in parts})
                yield from ((tensor.index, each, overlap) for each in rows)

    def _overwritten(self, made: list[tuple[int, int]], read: list[tuple[int, int, int | None]]) -> Iterator[str]:
        """What is wrong with the rows of one output in the place of rows that the same step reads."""
        places = [(self.row_at[key][0], self.row_bytes[key[0]]) for key in made]
        if not places:
            return
        first, last = min(places)[0], max(start + size for start, size in places)
        for tensor, row, overlap in read:
            low, _ = self.row_at[tensor, row]
            high = low + self.row_bytes[tensor]
            if high <= first or last <= low or not any(start < high and low < start + size for start, size in places):
                continue
            if overlap is None or low - first < overlap:
                allowed = "never may" if overlap is None else f"may if it begins {overlap} bytes below or more"
                name = f"row {row} of {self.graph.tensors[tensor].name!r}"
                yield f"the output from byte {first} overwrites {name} at byte {low} while it is read; it {allowed}"

    def _accumulated(self, node: int) -> Iterator[str]:
        """What is wrong with what the steps before this one have added up."""
        scratch = self.scratch.get(node)
        if scratch is None or not self.graph.views[node].accumulates:
            return
        if self._scratch_unit(node) not in self.intact:
            wrong = np.flatnonzero(self._scratch_bytes(scratch) != self._scratch_unit(node))
            holder = self._holder(int(self._scratch_bytes(scratch)[wrong[0]]))
            where = f"{len(wrong)} of its bytes, from byte {scratch.offset + wrong[0]}, hold {holder}"
            yield f"its accumulator has not survived since the step before: {where}"

    def _scratch_unit(self, node: int) -> int:
        return _SCRATCH - node

    def _scratch_bytes(self, scratch: Buffer) -> NDArray[np.int64]:
        return self.owner[scratch.offset : scratch.offset + scratch.size_bytes]

    def _made(self, node: int, row: int) -> Iterator[tuple[int, int]]:
        """The rows that a step makes, as (tensor, row)."""
        for index in self.graph.nodes[node].outputs:
            if self.graph.tensors[index].is_external:
                continue
            yield from ((index, made) for made in self.made_rows[index][row])

    def _scattered(self, made: list[tuple[int, int]]) -> Iterator[str]:
        """Rows of one step that do not lie one behind the other, as its kernel writes them."""
        for (tensor, row), (other, after) in pairwise(made):
            row_bytes = self.row_bytes[tensor]
            if tensor == other and self.row_at[other, after][0] != self.row_at[tensor, row][0] + row_bytes:
                yield f"rows {row} and {after} of {self.graph.tensors[tensor].name!r} are made together but lie apart"

    def _is_there(self, tensor: int, row: int, step: int) -> bool:
        """Whether `check` finds nothing wrong."""
        _, buffer = self.row_at[tensor, row]
        return self.unit[tensor, row] in self.intact and (buffer is None or buffer.start <= step < buffer.end)

    def check(self, tensor: int, row: int, step: int) -> Iterator[str]:
        """What is wrong with a row that must be there."""
        offset, buffer = self.row_at[tensor, row]
        if self.unit[tensor, row] not in self.intact:
            wrong = np.flatnonzero(self._bytes(tensor, row) != self.unit[tensor, row])
            holder = self._holder(int(self.owner[offset + wrong[0]]))
            name = f"row {row} of {self.graph.tensors[tensor].name!r}"
            yield f"{name} is not there: {len(wrong)} of its bytes, from byte {offset + wrong[0]}, hold {holder}"
        if buffer is not None and not buffer.start <= step < buffer.end:
            name = f"row {row} of {self.graph.tensors[tensor].name!r}"
            yield f"{name} is used, but its buffer declares to live from step {buffer.start} to {buffer.end}"

    def gaps(self, tensor: int) -> Iterator[str]:
        """Where the rows of a model input or output do not lie one behind the other."""
        row_bytes = self.row_bytes[tensor]
        places = [self.row_at[key][0] for key in _rows_of(self.graph, (tensor,))]
        for row, offset in enumerate(places):
            if offset != places[0] + row * row_bytes:
                name = self.graph.tensors[tensor].name
                where = f"row {row} of {name!r} is at offset {offset}, not behind row {row - 1}"
                yield f"{where}; callers see inputs and outputs as one array"
                return

    def _bytes(self, tensor: int, row: int) -> NDArray[np.int64]:
        offset, _ = self.row_at[tensor, row]
        return self.owner[offset : offset + self.row_bytes[tensor]]

    def _holder(self, unit: int) -> str:
        if unit == _NOBODY:
            return "nothing: it is not made yet"
        if unit <= _SCRATCH:
            return f"scratch of {_label(self.graph, _SCRATCH - unit)}"
        if not self.key_of:
            self.key_of = {value: key for key, value in self.unit.items()}
        tensor, row = self.key_of[unit]
        return f"row {row} of {self.graph.tensors[tensor].name!r}"


def _label(graph: Graph, node: int) -> str:
    return graph.nodes[node].label
