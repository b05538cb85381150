"""Rows in place: where a step may write its output over the input rows that it reads for the last time.

Kernels declare how far below an input row their output must begin for that (`KernelCall.inplace_distance_bytes`). Here this becomes
leave for pairs of buffers to share bytes, which placement may use or not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, RowAccess, Tensor
from kibi.planner.lifetimes import places_of
from kibi.planner.placement.items import PairRule
from kibi.planner.plan import Buffer, Run

_Ints: TypeAlias = NDArray[np.int64]
_MOST_WORK = 1 << 22
"""Pairs of buffers, and row steps of each, that are looked at in one order; further pairs do not share bytes."""
_AT_ONCE = 1 << 18
"""Row steps of pairs that are looked at together, unless one pair has more."""
_NEVER = 1 << 62


def in_place_rules(
    graph: Graph, runs: Sequence[Run], buffers: Sequence[Buffer], effort: int = 1
) -> tuple[PairRule, ...]:
    """Returns the pairs of buffers that may share bytes while a node makes one from the other.

    Args:
        graph: the graph that is planned.
        runs: the order of row steps.
        buffers: rows and scratch of that order; their offsets do not matter.
        effort: how many times the usual work may be done.

    Returns:
        A rule for each pair that can gain: `first` holds rows that are read, `second` those that are made.
    """
    lives = _Lives.of(graph, places_of(graph, runs), buffers)
    rules: list[PairRule] = []
    work = effort * _MOST_WORK
    for node in sorted(range(len(graph.nodes)), key=lambda node: int(lives.places[node][0])):
        for turn in _turns(graph, node, lives):
            pairs = turn.pairs(work)
            work -= pairs.looked
            for part in pairs.parts(work):
                work -= int(part.steps.sum())
                rules += turn.rules(part)
            if work <= 0:
                return tuple(rules)
    return tuple(rules)


@dataclass(frozen=True, slots=True)
class _Lives:
    """The known facts about buffers.

    Attributes:
        places: for each node, when its steps come.
        buffers: of each tensor that is not pinned.
        reads: for each tensor, when it is read.
    """

    places: Sequence[_Ints]
    buffers: "dict[int, _Buffers]"
    reads: "dict[int, _Reads]"

    @staticmethod
    def of(graph: Graph, places: Sequence[_Ints], buffers: Sequence[Buffer]) -> "_Lives":
        found: dict[int, list[tuple[int, Buffer]]] = {}
        for number, buffer in enumerate(buffers):
            if buffer.tensor is not None and not buffer.is_pinned:
                found.setdefault(buffer.tensor, []).append((number, buffer))
        finished = {out: int(its[-1]) for node, its in zip(graph.nodes, places, strict=True) for out in node.outputs}
        readers: dict[int, list[int]] = {}
        for node, view in enumerate(graph.views):
            for tensor in view.row_tensors:
                readers.setdefault(tensor.index, []).append(node)
        tensors = {index: graph.tensors[index] for index in found}
        held = {index: _Buffers.of(its, tensors[index], finished.get(index, -1)) for index, its in found.items()}
        return _Lives(places, held, {index: _Reads.of(nodes, places) for index, nodes in readers.items()})


@dataclass(frozen=True, slots=True)
class _Reads:
    """The readings of a tensor.

    Attributes:
        places: of the readings, ascending.
        nodes: which read there.
        following: for each reading, the place of the next reading by another node.
    """

    places: _Ints
    nodes: _Ints
    following: _Ints

    @staticmethod
    def of(readers: Sequence[int], places: Sequence[_Ints]) -> "_Reads":
        """Returns the readings by nodes, from the places of each node's steps."""
        when = np.concatenate([places[node] for node in readers])
        order = np.argsort(when, kind="stable")
        when, nodes = when[order], np.repeat(readers, [len(places[node]) for node in readers])[order]
        changes = np.where(nodes[:-1] != nodes[1:], when[1:], _NEVER)
        following = np.minimum.accumulate(np.append(changes, _NEVER)[::-1])[::-1]
        return _Reads(when, nodes, following)

    def others_from(self, places: _Ints, node: int) -> _Ints:
        """Returns for each place the first from there on at which another node than that reads."""
        at = np.searchsorted(self.places, places)
        is_any = at < len(self.places)
        at = np.minimum(at, len(self.places) - 1)
        found = np.where(self.nodes[at] == node, self.following[at], self.places[at])
        return np.where(is_any, found, _NEVER)


@dataclass(frozen=True, slots=True)
class _Buffers:
    """The buffers of a tensor, `[buffers]` each.

    Attributes:
        numbers: their positions in the list of all.
        starts, ends: of their lives.
        made: the last step that makes some of their rows; the first one where the others are not known.
        first_rows, rows: which rows they hold.
        size_bytes: their sizes.
    """

    numbers: _Ints
    starts: _Ints
    ends: _Ints
    made: _Ints
    first_rows: _Ints
    rows: _Ints
    size_bytes: _Ints

    @staticmethod
    def of(buffers: Sequence[tuple[int, Buffer]], tensor: Tensor, finished: int) -> "_Buffers":
        """From a tensor's buffers; one that holds all rows is made when the tensor is."""
        facts = [
            (
                number, each.start, each.end, each.start if each.rows < tensor.type.rows else finished, each.first_row,
                each.rows, each.size_bytes,
            )
            for number, each in buffers
        ]  # fmt: skip
        return _Buffers(*np.array(facts, np.int64).reshape(-1, len(fields(_Buffers))).T)


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of an input's buffer and an output's, `[pairs]` each.

    Attributes:
        inputs, outputs: positions among the buffers of their tensors.
        begin: the first step of the node that matters: one that makes bytes of the output.
        steps: how many steps from there on do.
        looked: how many pairs were weighed to find these.
    """

    inputs: _Ints
    outputs: _Ints
    begin: _Ints
    steps: _Ints
    looked: int

    def parts(self, work: int) -> "Iterator[_Pairs]":
        """The same in parts of not too many steps, until so many steps are reached."""
        if not len(self.steps):
            return
        total = np.cumsum(self.steps)
        kept = int(np.searchsorted(total, work, "right"))
        cuts = np.flatnonzero(np.diff(total[:kept] // _AT_ONCE)) + 1
        for first, end in zip([0, *cuts.tolist()], [*cuts.tolist(), kept], strict=True):
            if first < end:
                part = slice(first, end)
                yield _Pairs(self.inputs[part], self.outputs[part], self.begin[part], self.steps[part], 0)


def _turns(graph: Graph, node: int, lives: _Lives) -> "Iterator[_Turn]":
    """The outputs of a node, each with the inputs that it may overwrite."""
    view = graph.views[node]
    overlaps = graph.calls[node].inplace_distance_bytes
    for number, made in enumerate(view.outputs):
        output = lives.buffers.get(made.index)
        for tensor, access, overlap in zip(view.row_tensors, view.accesses, overlaps, strict=False):
            held = lives.buffers.get(tensor.index)
            if overlap is None or tensor.index in graph.outputs or output is None or held is None:
                continue
            if view.row_tensors.count(tensor) > 1:
                continue  # one tensor at two inputs: no rule says how the two reads meet
            others = lives.reads[tensor.index].others_from(output.starts, node)
            last_steps = access.last_steps(tensor.type.rows, view.steps)
            made_bytes = view.made_before(number) * made.type.row_bytes
            places = lives.places[node]
            yield _Turn(access, tensor.type.row_bytes, last_steps, overlap, made_bytes, held, output, others, places)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A node that makes rows of one tensor from rows of another.

    Attributes:
        access: which rows of the input a step reads.
        row_bytes: of a row of the input.
        last_steps: for each row of the input, the last step that reads it; -1: none does.
        overlap: the kernel's distance within a step.
        made: the bytes of the output that are made before each step, and after all: `[steps + 1]`.
        held: the input's buffers.
        output: the output's.
        others: for each of the output's buffers, when another node reads the input once that buffer is begun.
        places: when the node's steps come.
    """

    access: RowAccess
    row_bytes: int
    last_steps: _Ints
    overlap: int
    made: _Ints
    held: _Buffers
    output: _Buffers
    others: _Ints
    places: _Ints

    def pairs(self, most: int) -> _Pairs:
        """The pairs that live at once and that placement may gain from, among the first `most` that are looked at."""
        held, output = self.held, self.output
        # Rows are made in order, so that starts ascend.
        low = np.searchsorted(np.maximum.accumulate(held.ends), output.starts, "right")
        counts = np.maximum(np.searchsorted(held.starts, output.ends) - low, 0)
        counts = counts[: np.searchsorted(np.cumsum(counts), most, "right")]
        outputs = np.repeat(np.arange(len(counts)), counts)
        inputs = low[outputs] + _ramps(counts)
        starts, ends = output.starts[outputs], held.ends[inputs]
        fits = (starts < ends) & (held.made[inputs] < starts) & (self.others[outputs] >= ends)
        # Where one step makes all of the output, a single row that is read after it would be lost.
        fits &= ~self._is_one_step()[outputs] | (held.rows[inputs] > 1) | (ends == starts + 1)
        looked, inputs, outputs = len(fits), inputs[fits], outputs[fits]
        if not len(inputs):
            return _Pairs(inputs, outputs, inputs, inputs, looked)
        begin = np.searchsorted(self.places, output.starts)[outputs]
        end = np.maximum(self._made_until()[outputs], self._read_until()[inputs])
        is_met = begin < end
        begin, end = begin[is_met], end[is_met]
        return _Pairs(inputs[is_met], outputs[is_met], begin, end - begin, looked)

    def _is_one_step(self) -> NDArray[np.bool_]:
        """Returns for each buffer of the output whether one step makes all of it."""
        skipped = self.output.first_rows * self._made_row_bytes
        step = np.searchsorted(self.made, skipped, "right") - 1
        stop = self.made[np.minimum(step + 1, len(self.made) - 1)]
        found: NDArray[np.bool_] = (self.made[step] == skipped) & (stop == skipped + self.output.size_bytes)
        return found

    @property
    def _made_row_bytes(self) -> int:
        return int(self.output.size_bytes[0] // max(1, self.output.rows[0]))

    def _made_until(self) -> _Ints:
        """Returns for each buffer of the output the step after the last one that makes some of it."""
        return np.searchsorted(self.made, self.output.first_rows * self._made_row_bytes + self.output.size_bytes)

    def _read_until(self) -> _Ints:
        """Returns for each buffer of the input the step after the last one that reads some of it."""
        edges = np.repeat(self.held.first_rows, 2)
        edges[1::2] += self.held.rows
        padded = np.concatenate((self.last_steps, [-1]))
        return np.maximum.reduceat(padded, edges)[::2] + 1

    def rules(self, pairs: _Pairs) -> Iterator[PairRule]:
        """The rules of pairs that gain.

        A distance is the least from the output's offset to that of the rows such that nothing is overwritten that is needed.
        """
        held, output = self.held, self.output
        pair = np.repeat(np.arange(len(pairs.steps)), pairs.steps)
        step = pairs.begin[pair] + _ramps(pairs.steps)
        begin = held.first_rows[pairs.inputs]
        size = held.size_bytes[pairs.inputs][pair]
        row = self.access.first_rows(step, begin[pair], (begin + held.rows[pairs.inputs])[pair])
        is_read = row >= 0
        low = np.where(is_read, (row - begin[pair]) * self.row_bytes, size)
        later = _later(low, pair, size)
        skipped = (output.first_rows * self._made_row_bytes)[pairs.outputs][pair]
        start, stop = self.made[step] - skipped, self.made[step + 1] - skipped
        makes = (start < stop) & (start >= 0) & (start < output.size_bytes[pairs.outputs][pair])
        distance = np.where(makes & (later < size), stop - later, -size)
        # What is below the rows altogether is in nobody's way.
        apart = np.where(makes & is_read, start + np.minimum(self.overlap, stop - start) - low, -size)
        firsts = np.cumsum(pairs.steps) - pairs.steps
        distances = np.maximum.reduceat(np.maximum(distance, apart), firsts)
        gains = np.flatnonzero(distances < output.size_bytes[pairs.outputs])
        first, second = held.numbers[pairs.inputs[gains]], output.numbers[pairs.outputs[gains]]
        for facts in zip(first.tolist(), second.tolist(), distances[gains].tolist(), strict=True):
            yield PairRule(*facts)


def _ramps(counts: _Ints) -> _Ints:
    """0, 1, 2 … for each count, one after another."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def _later(low: _Ints, group: _Ints, otherwise: _Ints) -> _Ints:
    """Returns for each element the least of those after it in its group; `otherwise` for the last."""
    offset = group * (int(low.max(initial=0)) + 1)
    least = np.minimum.accumulate((low + offset)[::-1])[::-1] - offset
    found = otherwise.copy()
    np.copyto(found[:-1], least[1:], where=group[1:] == group[:-1])
    return found
