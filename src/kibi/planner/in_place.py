"""Rows in place: where a step may write its output over the input rows that it reads for the last time.

Kernels declare how far below an input row their output must begin for that (`KernelCall.inplace_distance_bytes`). Here this becomes
leave for pairs of buffers to share bytes, which placement may use or not.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, Tensor
from kibi.planner.placement.items import PairRule
from kibi.planner.plan import Buffer, Run

_MOST_WORK = 1 << 19
"""Pairs of buffers, with the rows and the steps of each, that are looked at in one order; further pairs do not share bytes."""
_Steps = list[tuple[int, int]]
"""The steps of a node: (place in the order, number among the node's steps)."""


def in_place_rules(
    graph: Graph, runs: Sequence[Run], buffers: Sequence[Buffer], effort: int = 1
) -> tuple[PairRule, ...]:
    """The pairs of buffers that may share bytes while a node turns the one into the other.

    Args:
        graph: the graph that is planned.
        runs: the order of row steps.
        buffers: rows and scratch of that order; their offsets do not matter.
        effort: how many times the usual work may be done.

    Returns:
        A rule for each pair that can gain: `first` holds rows that are read, `second` those that are made.
    """
    order = [(run.node, run.first_step + k) for run in runs for k in range(run.steps)]
    steps: dict[int, _Steps] = {}
    for place, (node, number) in enumerate(order):
        steps.setdefault(node, []).append((place, number))
    lives = _Lives.of(graph, steps, buffers)
    rules: list[PairRule] = []
    work = 0
    for node, its in steps.items():
        for rule, looked in _rules_of(graph, node, its, lives):
            work += looked
            if work > effort * _MOST_WORK:
                return tuple(rules)
            rules += [rule] if rule is not None else []
    return tuple(rules)


@dataclass(frozen=True, slots=True)
class _Lives:
    """What is known of buffers.

    Attributes:
        buffers: of each tensor that is not pinned, with their positions in the list.
        finished: for each tensor, the last step that makes one of its rows; -1 for a stored input.
        reads: for each tensor, when it is read.
    """

    buffers: dict[int, list[tuple[int, Buffer]]]
    finished: dict[int, int]
    reads: "dict[int, _Reads]"

    @staticmethod
    def of(graph: Graph, steps: dict[int, _Steps], buffers: Sequence[Buffer]) -> "_Lives":
        found: dict[int, list[tuple[int, Buffer]]] = {}
        for place, buffer in enumerate(buffers):
            if buffer.tensor is not None and not buffer.is_pinned:
                found.setdefault(buffer.tensor, []).append((place, buffer))
        finished = dict.fromkeys(graph.given, -1)
        readers: dict[int, list[tuple[int, int]]] = {}
        for node, its in steps.items():
            finished |= dict.fromkeys(graph.nodes[node].outputs, its[-1][0])
            for tensor in graph.views[node].row_tensors:
                readers.setdefault(tensor.index, []).extend((place, node) for place, _ in its)
        return _Lives(found, finished, {tensor: _Reads.of(reads) for tensor, reads in readers.items()})


@dataclass(frozen=True, slots=True)
class _Reads:
    """When a tensor is read.

    Attributes:
        places: of the readings, ascending.
        nodes: which read there.
        following: for each reading, the position of the next reading by another node; after the last one, `len(nodes)`.
    """

    places: list[int]
    nodes: list[int]
    following: list[int]

    @staticmethod
    def of(reads: list[tuple[int, int]]) -> "_Reads":
        """From pairs (place, node)."""
        places, nodes = map(list, zip(*sorted(reads), strict=True))
        following = [len(nodes)] * len(nodes)
        for k in range(len(nodes) - 2, -1, -1):
            following[k] = following[k + 1] if nodes[k] == nodes[k + 1] else k + 1
        return _Reads(places, nodes, following)

    def other_from(self, place: int, node: int) -> int | None:
        """The first place from one on at which another node than that reads; None where none does."""
        at = bisect_left(self.places, place)
        if at < len(self.nodes) and self.nodes[at] == node:
            at = self.following[at]
        return self.places[at] if at < len(self.places) else None


def _rules_of(graph: Graph, node: int, steps: _Steps, lives: _Lives) -> Iterator[tuple[PairRule | None, int]]:
    """For each pair of buffers of one node that live at once, the rule, if there is one; and how much was looked at."""
    view = graph.views[node]
    for output in range(len(view.outputs)):
        yield from _rules_of_output(graph, node, output, steps, lives)


def _rules_of_output(
    graph: Graph, node: int, number: int, steps: _Steps, lives: _Lives
) -> Iterator[tuple[PairRule | None, int]]:
    """The same for one output, by its number."""
    view = graph.views[node]
    overlaps = graph.calls[node].inplace_distance_bytes
    made_bytes = view.outputs[number].type.row_bytes
    made = [range(rows.start * made_bytes, rows.stop * made_bytes) for rows in view.every_made_rows(number)]
    for tensor, access, overlap in zip(view.row_tensors, view.accesses, overlaps, strict=False):
        if overlap is None or tensor.index in graph.outputs:
            continue
        if view.row_tensors.count(tensor) > 1:
            continue  # one tensor at two inputs: no rule says how the two reads meet
        turn = _Turn.of(overlap, steps, made, [access.needs(step) for step in range(view.steps)])
        reads = lives.reads[tensor.index]
        held = _Held.of(lives.buffers.get(tensor.index, []), tensor, lives)
        for second, output in lives.buffers.get(view.outputs[number].index, []):
            other = reads.other_from(output.start, node)
            alive = held.alive(output)
            passed = 0
            skipped = output.first_row * made_bytes
            is_one_step = turn.is_one_step(output, skipped)
            for place in np.flatnonzero(held.may_share(alive, output, other, is_one_step=is_one_step)).tolist():
                first, rows = held.buffers[alive[place]]
                distance, looked = turn.distance(rows, output, skipped)
                rule = PairRule(first, second, distance) if distance < output.size_bytes else None
                yield rule, looked + place - passed
                passed = place + 1
            yield None, len(alive) - passed


@dataclass(frozen=True, slots=True)
class _Held:
    """The buffers of a tensor that a node reads.

    Attributes:
        buffers: with their positions in the list of all.
        starts, ends: of their lives: `[buffers]`.
        reached: the last end of each life and of those before it: `[buffers]`.
        made: the last step that makes some of their rows, as far as that is known: `[buffers]`.
        rows: how many each holds: `[buffers]`.
    """

    buffers: list[tuple[int, Buffer]]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reached: NDArray[np.int64]
    made: NDArray[np.int64]
    rows: NDArray[np.int64]

    @staticmethod
    def of(buffers: list[tuple[int, Buffer]], tensor: Tensor, lives: _Lives) -> "_Held":
        """From a tensor's buffers; one that holds all rows is made when the tensor is."""
        whole = lives.finished.get(tensor.index, -1)  # a constant has no buffers
        facts = [
            (rows.start, rows.end, rows.start if rows.rows < tensor.type.rows else whole, rows.rows)
            for _, rows in buffers
        ]
        starts, ends, made, counts = np.array(facts, np.int64).reshape(-1, 4).T
        return _Held(buffers, starts, ends, np.maximum.accumulate(ends), made, counts)

    def alive(self, output: Buffer) -> NDArray[np.int64]:
        """Those that live with an output, ascending. Rows are made in order, so that starts ascend."""
        low, high = np.searchsorted(self.reached, output.start, "right"), np.searchsorted(self.starts, output.end)
        found: NDArray[np.int64] = low + np.flatnonzero(output.start < self.ends[low:high])
        return found

    def may_share(
        self, alive: NDArray[np.int64], output: Buffer, other: int | None, *, is_one_step: bool
    ) -> NDArray[np.bool_]:
        """Which of some that live with an output are only read from then on, and by no other node.

        `other` is the first place at which another node reads the tensor once the output is begun. Where one step makes all of
        the output, a single row that is read after it would be lost: there is no use in looking at it.
        """
        fits: NDArray[np.bool_] = self.made[alive] < output.start
        if other is not None:
            fits &= other >= self.ends[alive]
        if is_one_step:
            fits &= (self.rows[alive] > 1) | (self.ends[alive] == output.start + 1)
        return fits


@dataclass(frozen=True, slots=True)
class _Turn:
    """How a node turns rows of one tensor into those of another.

    Attributes:
        overlap: the kernel's distance within a step.
        steps: of the node.
        made: for each step, the bytes of the output tensor that it makes.
        needs: for each step, the rows of the input that it reads.
        reading: for each row of the input, the steps that read it, as positions in `steps`.
        making: the positions of the steps, ascending by the first byte that they make, and these bytes.
    """

    overlap: int
    steps: _Steps
    made: Sequence[range]
    needs: Sequence[tuple[int, ...]]
    reading: dict[int, list[int]]
    making: tuple[list[int], list[int]]

    @staticmethod
    def of(overlap: int, steps: _Steps, made: Sequence[range], needs: Sequence[tuple[int, ...]]) -> "_Turn":
        """From what each step, by its number, makes and reads."""
        reading: dict[int, list[int]] = {}
        for position, (_, number) in enumerate(steps):
            for row in needs[number]:
                reading.setdefault(row, []).append(position)
        makers = [position for position, (_, number) in enumerate(steps) if made[number]]
        makers.sort(key=lambda position: made[steps[position][1]].start)
        return _Turn(overlap, steps, made, needs, reading, (makers, [made[steps[each][1]].start for each in makers]))

    def is_one_step(self, output: Buffer, skipped: int) -> bool:
        """Whether one step makes all bytes of an output, which begins `skipped` bytes behind the start of its tensor."""
        makers, starts = self.making
        place = bisect_left(starts, skipped)
        made = self.made[self.steps[makers[place]][1]] if place < len(makers) else range(0)
        return made == range(skipped, skipped + output.size_bytes)

    def _met(self, rows: Buffer, output: Buffer, skipped: int) -> list[int]:
        """The positions of the steps that read some of the rows, or make some of the output; the others do not matter."""
        makers, starts = self.making
        low, high = bisect_left(starts, skipped), bisect_left(starts, skipped + output.size_bytes)
        met = set(makers[low:high])
        for row in range(rows.first_row, rows.first_row + rows.rows):
            met.update(self.reading.get(row, ()))
        return sorted(met, reverse=True)

    def distance(self, rows: Buffer, output: Buffer, skipped: int) -> tuple[int, int]:
        """The least distance from the output's offset to that of the rows such that nothing is overwritten that is needed.

        The output's buffer begins `skipped` bytes behind the start of its tensor. Beside the distance, how many rows and steps
        were looked at.
        """
        met = self._met(rows, output, skipped)
        row_bytes = rows.size_bytes // rows.rows
        last_row = rows.first_row + rows.rows
        distance = -rows.size_bytes
        later = rows.size_bytes  # the lowest byte of the rows that a later step reads
        for position in met:
            place, number = self.steps[position]
            if place < output.start:
                break
            read = [
                (row - rows.first_row) * row_bytes for row in self.needs[number] if rows.first_row <= row < last_row
            ]
            made = self.made[number]
            if made and skipped <= made.start < skipped + output.size_bytes:
                if later < rows.size_bytes:
                    distance = max(distance, made.stop - skipped - later)
                apart = min(self.overlap, len(made))  # what lies below the rows altogether is in nobody's way
                distance = max([distance, *(made.start - skipped + apart - low for low in read)])
            later = min([later, *read])
        return distance, rows.rows + len(met)
