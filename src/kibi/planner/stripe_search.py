"""The search for stages that are computed stripe by stripe: those with the least work, for smaller and smaller limits of bytes.

Between two cuts the nodes either alternate by the row, as in `row_cuts`, or are a stage. So dynamic programming over cuts finds,
for a limit of bytes, the stages that take the fewest further multiply-accumulates. At a cut after a stage its output is joined, or
it is there in stripes, which only a stage can read: each of them dies as soon as that stage has read it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kibi.ir import Graph
from kibi.planner.order.row_cuts import CutSearch
from kibi.planner.order.row_steps import row_steps
from kibi.planner.order.row_stretches import live_at_cuts
from kibi.planner.plan import Stripes
from kibi.planner.stripe_columns import bounds
from kibi.planner.stripe_stages import Levels, Stage, Work, stages_of
from kibi.planner.stripes import node_problem, stage_problem

_STEP_WORK = 600_000
"""Row steps in the orders of all stages that are weighed."""
_LEVEL_WORK = 1_000_000_000
"""Bytes of images at steps that are added up for all stripes that are weighed."""
_ROUNDS = 9
"""Limits of bytes that are tried."""
_AHEAD = 4
"""A stage without need of its own is tried where one is needed so many nodes later, which reads its stripes."""


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
    """Returns the stages that keep smaller and smaller limits of bytes, those with the least work first; the first has none.

    Args:
        graph: a lowered graph.
        most_macs: the most multiply-accumulates that may be computed a second time.
    """
    search = _Search(graph, most_macs)
    found = [Found((), search.plain_bytes, 0)]
    low, high = search.floor_bytes, search.plain_bytes
    for _ in range(_ROUNDS):
        tried = (low + high) // 2
        stages = search.within(tried)
        if stages is None:
            low = tried
        else:
            high = tried
            found.append(stages)
    return tuple(sorted(found, key=lambda each: (each.extra_macs, each.peak_bytes)))


@dataclass(frozen=True, slots=True)
class _Way:
    """The stages before a cut, and their work.

    Attributes:
        stages: ascending.
        extra_macs: the multiply-accumulates that are computed a second time.
    """

    stages: tuple[Stripes, ...]
    extra_macs: int

    @property
    def rank(self) -> tuple[int, int]:
        """What it is judged by; lower is better."""
        return self.extra_macs, sum(len(each.columns) for each in self.stages)


class _Search:
    """The search for stages of one graph.

    Attributes:
        plain_bytes: what the order without stages needs.
        floor_bytes: no limit up to this one can be kept.
    """

    def __init__(self, graph: Graph, most_macs: int) -> None:
        steps = row_steps(graph)
        self._graph = graph
        self._steps = steps
        self._most_macs = most_macs
        self._work = _STEP_WORK
        self._level_work = Work(_LEVEL_WORK)
        self._live = live_at_cuts(steps).tolist()
        self._can = [not node_problem(view) for view in graph.views]
        self._last_readers = _last_readers(graph)
        self._stages: dict[tuple[int, int, bool], tuple[Stage, ...]] = {}
        search = CutSearch(steps)
        self.plain_bytes = search.best(0).peak_bytes
        self._peaks = [search.peaks(end) for end in range(1, len(graph.nodes) + 1)]
        self.floor_bytes = max(self._live[0], self._live[-1])

    def within(self, most_bytes: int) -> Found | None:
        """Returns the stages with the least work in which no more bytes live at once; None where that is too much."""
        reach = self._reach(most_bytes)
        joined: list[_Way | None] = [_Way((), 0), *(None for _ in self._peaks)]
        tiled: list[_Way | None] = [None for _ in joined]
        for begin in range(len(self._peaks)):
            for end in range(begin + 1, len(joined)):
                way = joined[begin]
                if way is not None and self._peaks[end - 1].get(begin, most_bytes + 1) <= most_bytes:
                    joined[end] = _better(joined[end], way)
            for before, in_tiles in ((joined[begin], False), (tiled[begin], True)):
                for way in () if before is None else self._further(before, begin, most_bytes, reach[begin], in_tiles):
                    end = way.stages[-1].end
                    tiled[end] = _better(tiled[end], way)
                    row_bytes = self._graph.views[end - 1].output.type.row_bytes
                    if self._live[end] + row_bytes <= most_bytes:
                        joined[end] = _better(joined[end], way)
        found = joined[-1]
        return None if found is None else Found(found.stages, most_bytes, found.extra_macs)

    def _reach(self, most_bytes: int) -> list[int]:
        """Returns for each node up to before which one the nodes from it on need no stage."""
        count = len(self._peaks)
        found = list(range(count + 1))
        for begin in range(count - 1, -1, -1):
            ends = range(begin + 1, count + 1)
            fitting = [end for end in ends if self._peaks[end - 1].get(begin, most_bytes + 1) <= most_bytes]
            found[begin] = max((found[end] for end in fitting), default=begin)
        return found

    def _further(self, before: _Way, begin: int, most_bytes: int, reach: int, in_tiles: bool) -> Iterator[_Way]:
        """Yields ways with one stage more."""
        tiles = bounds(self._graph, before.stages[-1]) if in_tiles else ()
        read_until = 0
        for end in range(begin + 1, len(self._can) + 1):
            if not self._can[end - 1]:
                break
            if read_until < end and self._live[end] <= most_bytes and reach < min(end + _AHEAD, len(self._can)):
                for stage in self._known(begin, end, in_tiles):
                    made = stage.within(most_bytes, tiles)
                    if made is not None and before.extra_macs + made[1] <= self._most_macs:
                        yield _Way((*before.stages, made[0]), before.extra_macs + made[1])
            read_until = max(read_until, self._last_readers[end - 1])

    def _known(self, begin: int, end: int, in_tiles: bool) -> tuple[Stage, ...]:
        """Returns the stages of some nodes that two stripes do not make too much work; none where the search's work is done."""
        if (begin, end, in_tiles) not in self._stages:
            self._stages[begin, end, in_tiles] = tuple(self._made(begin, end, in_tiles))
        return self._stages[begin, end, in_tiles]

    def _made(self, begin: int, end: int, in_tiles: bool) -> Iterator[Stage]:
        width = self._graph.views[end - 1].output.type.shape[2]
        before = Stripes(0, begin, ()) if in_tiles else None
        problem = stage_problem(self._graph, Stripes(begin, end, (width // 2,), (), in_tiles), before)
        if problem or self._work <= 0:
            return
        self._work -= sum(self._steps.steps[begin:end])
        levels = Levels.of(self._graph, self._steps, self._live[begin], begin, end)
        for stage in stages_of(self._graph, levels, begin, end, self._level_work, in_tiles=in_tiles):
            if stage.most_extra() <= self._most_macs:
                yield stage


def _better(first: _Way | None, second: _Way) -> _Way:
    return second if first is None or second.rank < first.rank else first


def _last_readers(graph: Graph) -> list[int]:
    """The last node that reads what each node makes; the number of nodes where that is an output of the model."""
    last: Mapping[int, int] = {
        index: number for number, node in enumerate(graph.nodes) for index in node.inputs if index is not None
    } | dict.fromkeys(graph.outputs, len(graph.nodes))
    return [max((last.get(index, -1) for index in node.outputs), default=-1) for node in graph.nodes]
