"""Plans played step by step on a map of the arena, and of the state after it, that says, for each byte, whose it is.

No lifetime is believed: which bytes must be where at each step follows from the order alone.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, NodeView, RowAccess
from kibi.planner.plan import Buffer, Plan, Run

_Ints: TypeAlias = NDArray[np.int64]
_NOBODY = 0
_ALWAYS = 1 << 62
"""The end of a variable's life, which begins before all steps."""
_FEW_STEPS = 4
"""Runs of so many steps at most are played step by step."""
_AT_ONCE = 1 << 16
"""Readings of rows that are looked at together, unless one row of each step is more."""


def simulate(graph: Graph, plan: Plan) -> Iterator[str]:
    """Run the steps on the map.

    A run of many steps is played at once where that shows at a glance that nothing is wrong, else step by step.

    Args:
        graph: a verified graph.
        plan: computes each row once; its buffers have the right sizes, are in the arena, and hold each row once.

    Yields:
        What is wrong: rows that a step reads, has written, or leaves to the caller, but that are not there; uses
        outside declared lifetimes; model inputs and outputs that are not contiguous.
    """
    arena = _Arena(graph, plan)
    inputs = [index for index in graph.stored_inputs if index in arena.rows.first]
    for index in inputs:
        arena.write_all(index)
    for index in inputs:
        yield from (f"before step 0: {what}" for what in arena.check_all(index, 0))
    for index in dict.fromkeys((*graph.stored_inputs, *graph.outputs)):
        yield from arena.gaps(index)
    for index in graph.variables:
        arena.write_all(index)
    step = 0
    for run in plan.runs:
        if run.steps <= _FEW_STEPS or not arena.run(step, run):
            for row in range(run.first_step, run.first_step + run.steps):
                where = f"step {step + row - run.first_step}, row {row} of {_label(graph, run.node)}"
                yield from (f"{where}: {what}" for what in arena.step(step + row - run.first_step, run.node, row))
        step += run.steps
    for index in (*graph.outputs, *arena.last_versions()):
        if index in arena.rows.first:
            yield from (f"at the end: {what}" for what in arena.check_all(index, step - 1))


@dataclass(frozen=True)
class _Rows:
    """The rows that have bytes on the map, numbered from 1 on.

    Attributes:
        first: for each tensor, the number of its first row.
        offsets: where each begins: `[rows + 1]`, as all.
        sizes: its bytes.
        starts, ends: the declared life of its buffer.
        bytes: how many all of them take.
    """

    first: dict[int, int]
    offsets: _Ints
    sizes: _Ints
    starts: _Ints
    ends: _Ints
    bytes: int

    @staticmethod
    def of(graph: Graph, plan: Plan) -> "_Rows":
        """The rows of a plan's buffers, then those of variables and of their next versions, which share bytes."""
        held = dict.fromkeys(buffer.tensor for buffer in plan.buffers if buffer.tensor is not None)
        states = [
            each.index for each in graph.tensors if each.is_state and graph.variable_of(each.index) in graph.variables
        ]
        first, count = dict[int, int](), 1
        for index in (*held, *states):
            first[index] = count
            count += graph.tensors[index].type.rows
        facts = np.zeros((4, count), np.int64)
        facts[2:, :] = [[-1], [_ALWAYS]]
        its = [
            (first[each.tensor] + each.first_row, each.rows, each.offset, graph.tensors[each.tensor].type.row_bytes,
             each.start, each.end)
            for each in plan.buffers if each.tensor is not None
        ]  # fmt: skip
        begin, rows, offset, size, start, end = np.array(its, np.int64).reshape(-1, 6).T
        nth = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)
        facts[:, np.repeat(begin, rows) + nth] = (
            np.repeat(offset, rows) + nth * np.repeat(size, rows), *(np.repeat(each, rows) for each in (size, start, end))
        )  # fmt: skip
        highest = max((buffer.offset + buffer.size_bytes for buffer in plan.buffers), default=0)
        for variable in graph.variables:
            for index in (each for each in states if graph.variable_of(each) == variable):
                kind = graph.tensors[index].type
                its_rows = slice(first[index], first[index] + kind.rows)
                facts[0, its_rows] = highest + np.arange(kind.rows) * kind.row_bytes
                facts[1, its_rows] = kind.row_bytes
            highest += graph.tensors[variable].type.size_bytes
        return _Rows(first, facts[0], facts[1], facts[2], facts[3], highest)

    @cached_property
    def facts(self) -> list[list[int]]:
        """Offset, size, start and end of each, for steps by themselves."""
        found: list[list[int]] = np.column_stack((self.offsets, self.sizes, self.starts, self.ends)).tolist()
        return found

    @property
    def count(self) -> int:
        """The count of numbers, that of nobody included."""
        return len(self.offsets)


class _Arena:
    """Who owns each byte: the row that was written there last, or the scratch, by its number."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.rows = _Rows.of(graph, plan)
        self.scratch = _scratch(plan)
        self.places = dict[int, tuple[int, int]]()
        """For each node, the bytes that its scratch had last."""
        top = max((buffer.offset + buffer.size_bytes for buffer in plan.buffers), default=0)
        self.owner = np.full(max(self.rows.bytes, top), _NOBODY, np.int32)
        self.intact = np.zeros(self.rows.count + len(graph.nodes), np.bool_)
        """For each number, True if all its bytes hold what was written there: what is read often is not looked at again."""
        self.accesses = [view.accesses for view in graph.views]
        self.overlaps = [call.inplace_distance_bytes for call in graph.calls]
        self.outputs = [
            tuple(index for index in node.outputs if not graph.tensors[index].is_external) for node in graph.nodes
        ]

    def last_versions(self) -> Iterator[int]:
        """Yields the contents that each variable must have at the end."""
        followed = {tensor.updates for tensor in self.graph.tensors}
        states = (index for index in self.rows.first if self.graph.tensors[index].is_state)
        yield from (index for index in states if index not in followed)

    def numbers(self, tensor: int) -> range:
        """The numbers of a tensor's rows."""
        first = self.rows.first[tensor]
        return range(first, first + self.graph.tensors[tensor].type.rows)

    def write_all(self, tensor: int) -> None:
        """The bytes of all rows of a tensor are now their own."""
        numbers = self.numbers(tensor)
        if not self._write_in_order(numbers):
            for number in numbers:
                self._write(number)

    def _write_in_order(self, numbers: range) -> bool:
        """The same for adjacent rows of one size, in order; returns False, and does nothing, where they are not adjacent."""
        if not numbers:
            return True
        its = slice(numbers.start, numbers.stop)
        offsets, size = self.rows.offsets[its], int(self.rows.sizes[numbers.start])
        if (np.diff(offsets) != size).any():
            return False
        places = self.owner[offsets[0] : offsets[0] + size * len(numbers)]
        self.intact[places] = False
        places[:] = np.repeat(np.arange(numbers.start, numbers.stop), size)
        self.intact[its] = True
        return True

    def _write(self, number: int) -> None:
        """A row's bytes are now its own."""
        offset, size, _, _ = self.rows.facts[number]
        self._take(self.owner[offset : offset + size], number)

    def _take(self, places: NDArray[np.int32], number: int) -> None:
        """All these bytes are now one's own; whatever they belonged to has lost them."""
        self.intact[places] = False
        places[:] = number
        self.intact[number] = True

    def _take_scratch(self, scratch: Buffer, node: int) -> None:
        """A node's scratch is there now, and nowhere else."""
        number, place = self._scratch_number(node), (scratch.offset, scratch.offset + scratch.size_bytes)
        before = self.places.get(node, place)
        if before != place:
            left = self.owner[slice(*before)]
            left[left == number] = _NOBODY
        self.places[node] = place
        self._take(self._scratch_bytes(scratch), number)

    def run(self, step: int, run: Run) -> bool:
        """Play a run at once, its first step being that one of all; False, and nothing done, where it needs a closer look."""
        view, scratch = self.graph.views[run.node], self._scratch_at(run.node, step)
        made = {index: self._block(index, view, run) for index in self.outputs[run.node]}
        if scratch is not None and not self._is_apart(scratch, view, run, step):
            return False
        if not all(self._is_made_in_time(index, made[index], view, run, step) for index in made):
            return False
        if not self._lie_apart(list(made.values())):
            return False
        overlaps = self.overlaps[run.node] or (None,) * len(view.row_tensors)
        for tensor, access, overlap in zip(view.row_tensors, self.accesses[run.node], overlaps, strict=True):
            if tensor.index in self.rows.first:
                last = _last_reads(access, run, tensor.type.rows)
                if not self._is_read_in_time(tensor.index, last + (step - run.first_step), step):
                    return False
                if any(self._is_lost(tensor.index, last, output, made[output], view, overlap) for output in made):
                    return False
        if scratch is not None:
            self._take_scratch(scratch, run.node)
        return all(self._write_in_order(numbers) for numbers in made.values())

    def _lie_apart(self, blocks: Sequence[range]) -> bool:
        """True if blocks of adjacent rows share no byte."""
        spans = sorted(
            (int(self.rows.offsets[each.start]), int(self.rows.offsets[each.stop - 1] + self.rows.sizes[each.start]))
            for each in blocks
            if each
        )
        return all(end <= start for (_, end), (start, _) in pairwise(spans))

    def _block(self, tensor: int, view: NodeView, run: Run) -> range:
        """The numbers of the rows of an output that a run makes."""
        first, output = self.rows.first[tensor], view.node.outputs.index(tensor)
        last = view.made_rows(run.first_step + run.steps - 1, output)
        return range(first + view.made_rows(run.first_step, output).start, first + last.stop)

    def _is_apart(self, scratch: Buffer, view: NodeView, run: Run, step: int) -> bool:
        """True if scratch lives during the run, holds what was added up before, and shares no byte with what the node uses."""
        if not scratch.start <= step <= step + run.steps <= scratch.end:
            return False
        if view.accumulates and run.first_step > 0 and not self.intact[self._scratch_number(run.node)]:
            return False
        low, high = scratch.offset, scratch.offset + scratch.size_bytes
        used = (*(tensor.index for tensor in view.row_tensors), *self.outputs[run.node])
        for index in (index for index in used if index in self.rows.first):
            its = slice(self.numbers(index).start, self.numbers(index).stop)
            if ((self.rows.offsets[its] < high) & (self.rows.offsets[its] + self.rows.sizes[its] > low)).any():
                return False
        return True

    def _is_made_in_time(self, tensor: int, numbers: range, view: NodeView, run: Run, step: int) -> bool:
        """True if rows are adjacent, in order, and each is made while its buffer lives."""
        if not numbers:
            return True
        its = slice(numbers.start, numbers.stop)
        first = numbers.start - self.rows.first[tensor]
        made_by = view.made_by(view.node.outputs.index(tensor))
        when = made_by[first : first + len(numbers)] + (step - run.first_step)
        in_time = (self.rows.starts[its] <= when) & (when < self.rows.ends[its])
        return bool(in_time.all() and (np.diff(self.rows.offsets[its]) == self.rows.sizes[numbers.start]).all())

    def _is_read_in_time(self, tensor: int, last: _Ints, step: int) -> bool:
        """True if all rows of a tensor that are read from a step on are there then, and each lives until its last reading."""
        its = self.rows.first[tensor] + np.flatnonzero(last >= step)
        last = last[last >= step]
        in_time = (self.rows.starts[its] <= step) & (last < self.rows.ends[its])
        return bool((self.intact[its] & in_time).all())

    def _is_lost(self, tensor: int, last: _Ints, output: int, made: range, view: NodeView, overlap: int | None) -> bool:
        """True if adjacent rows that are made overwrite some of a tensor before its last reading by the node.

        `last` has for each row the node's last step that reads it. In that step itself the output may begin `overlap` bytes
        below the row or more; None: it never may.
        """
        its = np.flatnonzero(last >= 0)
        if not made or not len(its):
            return False
        size, bottom = int(self.rows.sizes[made.start]), int(self.rows.offsets[made.start])
        low, row_bytes = self.rows.offsets[self.rows.first[tensor] + its], self.rows.sizes[self.rows.first[tensor]]
        met = (low < bottom + size * len(made)) & (low + row_bytes > bottom)
        low, last = low[met], last[its][met]
        # Bytes are written in order: the first one of a row that is overwritten is so before the others.
        first = made.start - self.rows.first[output]
        number = view.node.outputs.index(output)
        when = view.made_by(number)[first + (np.maximum(low, bottom) - bottom) // max(1, size)]
        if overlap is None:
            return bool((when <= last).any())
        begins = bottom + (view.made_before(number)[when] - first) * size
        return bool(((when < last) | ((when == last) & (low - begins < overlap))).any())

    def step(self, step: int, node: int, row: int) -> Iterator[str]:
        """Run a row step; what is wrong with the rows, and the accumulator, that must be there while the kernel runs."""
        if row > 0:
            yield from self._accumulated(node, step)
        made = self._made(node, row)
        read = list(self._read(node, row))
        scratch = self._scratch_at(node, step)
        if scratch is not None:
            # The kernel may write its scratch before it has read its input and after it has stored its output.
            self._take_scratch(scratch, node)
            if not scratch.start <= step < scratch.end:
                yield f"scratch is used, but declares to live from step {scratch.start} to {scratch.end}"
        for number, _ in read:
            if not self._is_there(number, step):
                yield from self._check(number, step)
        yield from self._torn(node)
        for number in made:
            self._write(number)
        yield from self._scattered(node, made)
        if scratch is not None and not self.intact[self._scratch_number(node)]:
            yield "the output is in the scratch"
        for number in made:
            if not self._is_there(number, step):
                yield from self._check(number, step)
        for index in self.outputs[node]:
            yield from self._overwritten(self._made_of(index, node, row), read)

    def _torn(self, node: int) -> Iterator[str]:
        """Yields what is wrong with the rows that a kernel finds by a pointer to the first."""
        for tensor, access in zip(self.graph.views[node].row_tensors, self.accesses[node], strict=True):
            if access.is_joined and tensor.index in self.rows.first:
                its = slice(self.numbers(tensor.index).start, self.numbers(tensor.index).stop)
                if (np.diff(self.rows.offsets[its]) != self.rows.sizes[its.start]).any():
                    yield f"the rows of {tensor.name!r} are read together but are apart"

    def _read(self, node: int, row: int) -> Iterator[tuple[int, int | None]]:
        """The rows that a step reads, and how far below them its output may begin that overwrites them."""
        tensors = self.graph.views[node].row_tensors
        overlaps = self.overlaps[node] or (None,) * len(tensors)
        for tensor, access, overlap in zip(tensors, self.accesses[node], overlaps, strict=True):
            first = self.rows.first.get(tensor.index)
            if first is not None:
                parts = [part for part in access.positions(row) if part is not None]
                rows = parts if access.parts == 1 else sorted({part // access.parts for part in parts})
                yield from ((first + each, overlap) for each in rows)

    def _overwritten(self, made: Sequence[int], read: Sequence[tuple[int, int | None]]) -> Iterator[str]:
        """Yields what is wrong with the rows of one output in the place of rows that the same step reads."""
        places = [self.rows.facts[number][:2] for number in made]
        if not places:
            return
        first, last = min(places)[0], max(start + size for start, size in places)
        for number, overlap in read:
            low, size_bytes, _, _ = self.rows.facts[number]
            high = low + size_bytes
            if high <= first or last <= low or not any(start < high and low < start + size for start, size in places):
                continue
            if overlap is None or low - first < overlap:
                allowed = "never may" if overlap is None else f"may if it begins {overlap} bytes below or more"
                name = self._name(number)
                yield f"the output from byte {first} overwrites {name} at byte {low} while it is read; it {allowed}"

    def _accumulated(self, node: int, step: int) -> Iterator[str]:
        """Yields what is wrong with the sums of the steps before this one."""
        scratch = self._scratch_at(node, step)
        if scratch is None or not self.graph.views[node].accumulates:
            return
        if not self.intact[self._scratch_number(node)]:
            wrong = np.flatnonzero(self._scratch_bytes(scratch) != self._scratch_number(node))
            holder = self._holder(int(self._scratch_bytes(scratch)[wrong[0]]))
            where = f"{len(wrong)} of its bytes, from byte {scratch.offset + wrong[0]}, hold {holder}"
            yield f"its accumulator has not survived since the step before: {where}"

    def _scratch_at(self, node: int, step: int) -> Buffer | None:
        """The last scratch of a node whose declared life begins at a step or before; the first one where all begin later."""
        parts = self.scratch.get(node, ())
        return parts[max(0, bisect_right(parts, step, key=lambda part: part.start) - 1)] if parts else None

    def _scratch_number(self, node: int) -> int:
        return self.rows.count + node

    def _scratch_bytes(self, scratch: Buffer) -> NDArray[np.int32]:
        return self.owner[scratch.offset : scratch.offset + scratch.size_bytes]

    def _made(self, node: int, row: int) -> list[int]:
        """The rows that a step makes."""
        return [number for index in self.outputs[node] for number in self._made_of(index, node, row)]

    def _made_of(self, tensor: int, node: int, row: int) -> list[int]:
        """The same of one output."""
        view = self.graph.views[node]
        rows, first = view.made_rows(row, view.node.outputs.index(tensor)), self.rows.first[tensor]
        return [first + each for each in rows]

    def _scattered(self, node: int, made: Sequence[int]) -> Iterator[str]:
        """Rows of one step that are not one after the other, as its kernel writes them."""
        for number, after in pairwise(made):
            offset, size, _, _ = self.rows.facts[number]
            is_same = after not in (self.rows.first[index] for index in self.outputs[node])
            if is_same and after == number + 1 and self.rows.facts[after][0] != offset + size:
                tensor, row = self._tensor_and_row(number)
                name = self.graph.tensors[tensor].name
                yield f"rows {row} and {row + 1} of {name!r} are made together but are apart"

    def _is_there(self, number: int, step: int) -> bool:
        """True if `_check` finds nothing wrong."""
        _, _, start, end = self.rows.facts[number]
        return start <= step < end and bool(self.intact[number])

    def check_all(self, tensor: int, step: int) -> Iterator[str]:
        """Yields what is wrong with the rows of a tensor, all of which must be there."""
        its = slice(self.numbers(tensor).start, self.numbers(tensor).stop)
        is_there = self.intact[its] & (self.rows.starts[its] <= step) & (step < self.rows.ends[its])
        for row in np.flatnonzero(~is_there).tolist():
            yield from self._check(its.start + row, step)

    def _check(self, number: int, step: int) -> Iterator[str]:
        """Yields what is wrong with a row that must be there."""
        offset, size, start, end = self.rows.facts[number]
        if not self.intact[number] and not size:
            yield f"{self._name(number)} is not there: it has no bytes, and no step has made it yet"
        elif not self.intact[number]:
            places = self.owner[offset : offset + size]
            wrong = np.flatnonzero(places != number)
            where = f"{len(wrong)} of its bytes, from byte {offset + wrong[0]}"
            yield f"{self._name(number)} is not there: {where}, hold {self._holder(int(places[wrong[0]]))}"
        if not start <= step < end:
            yield f"{self._name(number)} is used, but its buffer declares to live from step {start} to {end}"

    def gaps(self, tensor: int) -> Iterator[str]:
        """Yields the places where the rows of a model input or output are not one after the other."""
        if not self.graph.tensors[tensor].is_planned:
            return
        numbers = self.numbers(tensor)
        offsets = self.rows.offsets[numbers.start : numbers.stop]
        apart = np.flatnonzero(np.diff(offsets) != self.graph.tensors[tensor].type.row_bytes)
        if len(apart):
            row, name = int(apart[0]) + 1, self.graph.tensors[tensor].name
            where = f"row {row} of {name!r} is at offset {offsets[row]}, not after row {row - 1}"
            yield f"{where}; callers see inputs and outputs as one array"

    def _tensor_and_row(self, number: int) -> tuple[int, int]:
        firsts = list(self.rows.first.values())
        tensor = list(self.rows.first)[bisect_right(firsts, number) - 1]
        return tensor, number - self.rows.first[tensor]

    def _name(self, number: int) -> str:
        tensor, row = self._tensor_and_row(number)
        return f"row {row} of {self.graph.tensors[tensor].name!r}"

    def _holder(self, number: int) -> str:
        if number == _NOBODY:
            return "nothing: it is not made yet"
        if number >= self.rows.count:
            return f"scratch of {_label(self.graph, number - self.rows.count)}"
        return self._name(number)


def _scratch(plan: Plan) -> dict[int, list[Buffer]]:
    """The scratch of each node, ascending by the beginnings of its lives."""
    found: dict[int, list[Buffer]] = {}
    for buffer in sorted(plan.buffers, key=lambda each: each.start):
        for node in buffer.nodes:
            found.setdefault(node, []).append(buffer)
    return found


def _last_reads(access: RowAccess, run: Run, rows: int) -> _Ints:
    """Returns for each row of a tensor the last step of a run that reads it; -1 where none does."""
    steps = np.arange(run.first_step, run.first_step + run.steps)
    if access.stride == 0:  # all steps of a batch read the same
        steps = steps[((steps + 1) % access.output_rows == 0) | (steps == steps[-1])]
    batch, inner = np.divmod(steps, access.output_rows)
    first = 0 if access.is_shared else batch * access.rows
    last = np.full(rows, -1, np.int64)
    at_once = max(1, _AT_ONCE // len(steps))
    for begin in range(0, access.count, at_once):
        nth = np.arange(begin, min(begin + at_once, access.count))[:, None]
        places = access.start + access.stride * inner + access.dilation * nth
        inside = (places >= 0) & (places < access.rows)
        read = ((places + first) // access.parts)[inside]
        np.maximum.at(last, read, np.broadcast_to(steps, places.shape)[inside])
    return last


def _label(graph: Graph, node: int) -> str:
    return graph.nodes[node].label
