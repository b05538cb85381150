"""The search for stages that are computed stripe by stripe: dynamic programming over cuts, for the peak and the extra work.

Between two cuts the nodes either alternate by the row, as in `row_cuts`, or make their output stripe by stripe. In a stripe they
alternate by the row, too, and in the same order in each: so one order of a stage gives the bytes of a column of each image at each
step, and a stripe's peak is a sum of these, each times the columns that the stripe has of the image. The last image is complete at
the end of the stage, and images from before it must stay until its last stripe has read them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from kibi.ir import Graph
from kibi.planner.order.row_cuts import CutSearch
from kibi.planner.order.row_steps import Ints, RowSteps, Slices, row_steps
from kibi.planner.order.row_stretches import live_at_cuts, pulled
from kibi.planner.plan import Stripes
from kibi.planner.stripes import MOST_STRIPES, Columns, needed_columns, node_problem, stage_problem

_STEP_WORK = 600_000
"""Row steps in the orders of all stages that are weighed."""
_MOST_FRONT = 24
"""How many trades of peak against work are kept for the nodes before each cut."""
_MOST_MOVES = 12
"""How often the border of a stripe is moved."""


@dataclass(frozen=True, slots=True)
class Found:
    """Stages, and what they are judged by.

    Attributes:
        stages: ascending; none: nothing is computed twice.
        peak_bytes: the most bytes that live at once, as the search counts them.
        extra_macs: the multiply-accumulates that are computed a second time.
    """

    stages: tuple[Stripes, ...]
    peak_bytes: int
    extra_macs: int


def stages_within(graph: Graph, most_macs: int) -> tuple[Found, ...]:
    """Returns the stages that lower the peak the most, for more and more extra work, after the order without stages.

    Args:
        graph: a lowered graph.
        most_macs: the most multiply-accumulates that may be computed a second time.
    """
    steps = row_steps(graph)
    search, stages = CutSearch(steps), _StageSearch(graph, steps, most_macs)
    plain = search.best(0).peak_bytes
    edges: list[list[tuple[int, Found]]] = [[] for _ in range(len(graph.nodes) + 1)]
    for found in stages.below(plain):
        edges[found.stages[0].end].append((found.stages[0].begin, found))
    fronts: list[list[Found]] = [[Found((), 0, 0)]]
    for end in range(1, len(graph.nodes) + 1):
        ways = [(begin, Found((), peak, 0)) for begin, peak in search.peaks(end).items()]
        joined = [_joined(before, last) for begin, last in (*ways, *edges[end]) for before in fronts[begin]]
        fronts.append(_front(joined, most_macs))
    return tuple(sorted(fronts[-1], key=lambda each: (each.extra_macs, each.peak_bytes)))


def _joined(before: Found, last: Found) -> Found:
    peak = max(before.peak_bytes, last.peak_bytes)
    return Found((*before.stages, *last.stages), peak, before.extra_macs + last.extra_macs)


def _front(found: Sequence[Found], most_macs: int) -> list[Found]:
    """Returns those that no other beats in both peak and work: of too many, the one with the least work and the smallest peaks."""
    kept: list[Found] = []
    for each in sorted(found, key=lambda each: (each.extra_macs, each.peak_bytes, len(each.stages))):
        if each.extra_macs <= most_macs and (not kept or each.peak_bytes < kept[-1].peak_bytes):
            kept.append(each)
    return kept if len(kept) <= _MOST_FRONT else [kept[0], *kept[1 - _MOST_FRONT :]]


class _StageSearch:
    """The search for stages of one graph."""

    def __init__(self, graph: Graph, steps: RowSteps, most_macs: int) -> None:
        self._graph = graph
        self._steps = steps
        self._most_macs = most_macs
        self._work = _STEP_WORK
        self._live = live_at_cuts(steps)
        self._can = [not node_problem(view) for view in graph.views]

    def below(self, peak_bytes: int) -> Iterator[Found]:
        """Yields stages of one or more nodes in which fewer bytes live, until the work is done; several for the same nodes."""
        for begin in range(len(self._can)):
            read_until = 0
            for end in range(begin + 1, len(self._can) + 1):
                if not self._can[end - 1] or self._work <= 0:
                    break
                if read_until < end:
                    yield from self._stripes(begin, end, peak_bytes)
                read_until = max(read_until, self._last_readers[end - 1])

    @cached_property
    def _last_readers(self) -> list[int]:
        """The last node that reads what each node makes; the number of nodes where that is an output of the model."""
        nodes = self._graph.nodes
        last = {index: number for number, node in enumerate(nodes) for index in node.inputs if index is not None}
        last |= dict.fromkeys(self._graph.outputs, len(nodes))
        return [max((last.get(index, -1) for index in node.outputs), default=-1) for node in nodes]

    def _stripes(self, begin: int, end: int, peak_bytes: int) -> Iterator[Found]:
        output = self._graph.tensors[self._graph.nodes[end - 1].outputs[0]]
        width = output.type.shape[2]
        halves = Stripes(begin, end, (width // 2,))
        is_small = output.type.size_bytes + output.type.row_bytes < peak_bytes
        if not is_small or stage_problem(self._graph, halves) or self._extra(halves) > self._most_macs:
            return
        self._work -= sum(self._steps.steps[begin:end])
        stage = _Stage.of(self._graph, self._steps, int(self._live[begin]), begin, end)
        best = peak_bytes
        for count in range(2, min(MOST_STRIPES, width) + 1):
            stripes = stage.balanced([width * part // count for part in range(1, count)])
            extra = self._extra(stripes)
            if extra > self._most_macs:
                break
            peak = stage.peak(stripes.columns)
            if peak < best:
                best = peak
                yield Found((stripes,), peak, extra)

    def _extra(self, stripes: Stripes) -> int:
        """Returns how many multiply-accumulates are computed a second time."""
        views = self._graph.views[stripes.begin : stripes.end]
        total = 0
        for made in _parts(stripes, views[-1].output.type.shape[2]):
            needed = needed_columns(self._graph, stripes, made)
            for view in views:
                first, last = needed.get(view.output.index, (0, 0))
                total += view.op.macs(view) * (last - first) // view.output.type.shape[2]
        return total - sum(view.op.macs(view) for view in views)


def _parts(stripes: Stripes, width: int) -> Iterator[Columns]:
    return pairwise((0, *stripes.columns, width))


@dataclass(frozen=True, slots=True)
class _Stage:
    """The bytes that live while a stage's nodes alternate by the row.

    Attributes:
        graph: the graph.
        begin, end: its nodes.
        images: the images that it makes, the last one included.
        columns: the bytes of one column of each of them at each step: `[images, steps]`.
        before: the bytes of all else at each step of the last stripe: `[steps]`.
        most_before: the bytes of all else at each step of other stripes.
    """

    graph: Graph
    begin: int
    end: int
    images: tuple[int, ...]
    columns: Ints
    before: Ints
    most_before: int

    @staticmethod
    def of(graph: Graph, steps: RowSteps, live_bytes: int, begin: int, end: int) -> "_Stage":
        """Returns the stage of nodes before which so many bytes live."""
        order = np.asarray(pulled(steps, begin, end), np.int64)
        places = {node: np.flatnonzero(order == node) for node in range(begin, end)}
        made = [graph.nodes[node].outputs[0] for node in range(begin, end)]
        columns = []
        dying = np.zeros(len(order) + 1, np.int64)
        for number in sorted({number for node in places for number in steps.touched[node]}):
            each = steps.slices[number]
            if each.maker in places:
                change, start = np.zeros(len(order) + 1, np.int64), places[each.maker][each.made]
                np.add.at(change, start, each.size_bytes)
                if each.maker != end - 1:
                    np.subtract.at(change, _last_places(each, places, start) + 1, each.size_bytes)
                index = graph.nodes[each.maker].outputs[0]
                columns.append((each.maker, np.cumsum(change)[:-1] // graph.tensors[index].type.shape[2]))
            else:
                stop = _last_places(each, places, np.full(len(each.made), -1, np.int64))
                goes = (stop >= 0) & (steps.last_readers[number] < end) & (not each.is_kept)
                np.subtract.at(dying, stop[goes] + 1, each.size_bytes[goes])
        most = live_bytes + max(steps.scratch[begin:end])
        by_node = np.array([column for _, column in sorted(columns, key=lambda each: each[0])])
        return _Stage(graph, begin, end, tuple(made), by_node, most + np.cumsum(dying)[:-1], most)

    @property
    def width(self) -> int:
        """Columns of its output."""
        return self.graph.tensors[self.images[-1]].type.shape[2]

    def peaks(self, columns: Sequence[int]) -> list[int]:
        """Returns the most bytes that live at once in each stripe, of stripes that begin at these columns after the first."""
        stripes = Stripes(self.begin, self.end, tuple(columns))
        found, done = [], 0
        for made in _parts(stripes, self.width):
            needed = needed_columns(self.graph, stripes, made)
            widths = np.array([needed[index][1] - needed[index][0] if index in needed else 0 for index in self.images])
            own = widths @ self.columns
            others = self.before if made[1] == self.width else self.most_before
            found.append(int((own + others).max()) + done)
            done += int(self.columns[-1][-1]) * (made[1] - made[0])
        return found

    def peak(self, columns: Sequence[int]) -> int:
        """Returns the most bytes that live at once; joining the stripes takes a row more than the output."""
        output = self.graph.tensors[self.images[-1]].type
        return max(*self.peaks(columns), output.size_bytes + output.row_bytes)

    def balanced(self, columns: list[int]) -> Stripes:
        """Returns the stripes after moves of columns from the one with the largest peak to the one with the smallest."""
        best, peaks = columns, self.peaks(columns)
        for _ in range(_MOST_MOVES):
            widths = np.diff([0, *best, self.width])
            worst, least = int(np.argmax(peaks)), int(np.argmin(peaks))
            if widths[worst] < 2:
                break
            widths[worst] -= 1
            widths[least] += 1
            tried = list(accumulate(widths.tolist()))[:-1]
            new = self.peaks(tried)
            if max(new) >= max(peaks):
                break
            best, peaks = tried, new
        return Stripes(self.begin, self.end, tuple(best))


def _last_places(each: Slices, places: Mapping[int, Ints], otherwise: Ints) -> Ints:
    """Returns for each slice the last place at which one of these nodes reads it; as it is given where none does."""
    last = otherwise
    for reader, uses in zip(each.readers, each.last_uses, strict=True):
        if reader in places:
            last = np.maximum(last, np.where(uses >= 0, places[reader][uses], -1))
    return last
