"""Reads windows ahead: starts the transfer of each window while steps before its first use compute, where RAM allows.

One transfer runs at a time. So the transfer of a window can start after the one before it was waited for, and its window's
life begins there. In the time between, the bytes that live are those of the order plus the window alone: how early one
transfer starts says nothing about the others.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Graph, early_exits
from kibi.ops.control.fetch_weights import STATUS_BYTES, StartWeights, WaitWeights
from kibi.planner.compute_time import node_seconds
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order.row_steps import runs_of
from kibi.planner.plan import Buffer, Plan, Run, SlowWeights
from kibi.planner.windows import places
from kibi.selection import LoweredGraph
from kibi.targets import Target

_EXTRA_SHARE = 0.1
"""Without a limit of RAM, the share of an inference's time that may be added by transfers that start later than they could."""
_WORTH_A_CUT = 0.05
"""A run is divided for an earlier start if that hides a further share of the transfer that is larger."""
_SHARES = (1.0, 0.96, 0.88)
"""Of the bytes that are allowed, what may live at once: placement may need a little more."""

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Transfers:
    """An order of row steps in which FETCH_WEIGHTS fills each window when it is needed, and the time that it takes.

    Attributes:
        runs: the order.
        fetched: the steps of FETCH_WEIGHTS, ascending.
        sizes: the bytes of the window's row that each of them fills.
        levels: the bytes that live during each step.
        seconds: the time that each step computes.
        earliest: for each of `fetched`, the first step before which its transfer may start.
        bandwidth: the bytes that are read in a second.
    """

    runs: tuple[Run, ...]
    fetched: _Ints
    sizes: _Ints
    levels: _Ints
    seconds: _Floats
    earliest: _Ints
    bandwidth: int

    @staticmethod
    def of(
        graph: Graph, runs: Sequence[Run], levels: Sequence[int] | _Ints, seconds: Sequence[float], bandwidth: int
    ) -> "Transfers":
        """The transfers of an order.

        Args:
            graph: with FETCH_WEIGHTS before each node with weights.
            runs: the order.
            levels: the bytes that live during each step.
            seconds: the time that each node computes.
            bandwidth: the bytes that are read in a second.
        """
        views = graph.views
        nodes = _nodes(runs)
        fetches, sizes = np.zeros(len(views), np.bool_), np.zeros(len(views), np.int64)
        for number, view in enumerate(views):
            if view.op.fetches:
                fetches[number], sizes[number] = True, view.output.type.row_bytes
        fetched = np.flatnonzero(fetches[nodes])
        each = np.array([time / view.steps for time, view in zip(seconds, views, strict=True)], np.float64)
        return Transfers(
            tuple(runs), fetched, sizes[nodes[fetched]], np.asarray(levels, np.int64), each[nodes],
            _earliest(graph, nodes, fetched), bandwidth,
        )  # fmt: skip

    @cached_property
    def _computed(self) -> _Floats:
        """The time that the steps before each step compute, and all steps."""
        return np.concatenate([[0.0], np.cumsum(self.seconds)])

    @cached_property
    def _boundaries(self) -> _Ints:
        """The first step of each run."""
        return np.cumsum([0, *(run.steps for run in self.runs)])[:-1]

    @cached_property
    def _transfer_seconds(self) -> _Floats:
        return self.sizes / self.bandwidth

    def starts(self, limit_bytes: float = np.inf) -> _Ints:
        """Returns the step before which each transfer starts: as early as so many bytes allow; its own step where that is too late.

        A start within a run divides the run, which takes code: it comes at the run's end unless that hides much less.
        """
        found = self.fetched.copy()
        for number, (first, until) in enumerate(zip(self.earliest.tolist(), self.fetched.tolist(), strict=True)):
            most = limit_bytes - int(self.sizes[number]) - STATUS_BYTES
            wrong = np.flatnonzero(self.levels[first:until] > most)
            first += int(wrong[-1]) + 1 if len(wrong) else 0  # noqa: PLW2901 - the first step that RAM allows
            at = int(np.searchsorted(self._boundaries, first))
            boundary = min(int(self._boundaries[at]), until) if at < len(self._boundaries) else until
            gain = self._hidden(number, first) - self._hidden(number, boundary)
            chosen = first if gain > _WORTH_A_CUT * self._transfer_seconds[number] else boundary
            found[number] = chosen if self._hidden(number, chosen) > 0 else until
        return found

    def _hidden(self, number: int, start: int) -> float:
        """The time of a transfer that passes while steps compute, if it starts before a step."""
        computed = self._computed[self.fetched[number]] - self._computed[start]
        return float(min(self._transfer_seconds[number], computed))

    def hidden_seconds(self, starts: _Ints) -> float:
        """Returns the time of all transfers that passes while steps compute."""
        computed = self._computed[self.fetched] - self._computed[starts]
        return float(np.minimum(self._transfer_seconds, computed).sum())

    def inference_seconds(self, starts: _Ints) -> float:
        """Returns the time of an inference: that of its steps and that of its transfers, without what passes at once."""
        return float(self._computed[-1] + self._transfer_seconds.sum()) - self.hidden_seconds(starts)

    def least_bytes(self, most_seconds: float) -> int:
        """Returns the fewest bytes with which an inference takes at most that time; all that help, where none are enough."""
        needed = [self.levels.max(initial=0)]
        for first, until, size in zip(self.earliest, self.fetched, self.sizes, strict=True):
            needed.extend(np.maximum.accumulate(self.levels[first:until][::-1]) + size + STATUS_BYTES)
        limits = np.unique(np.array(needed, np.int64))
        low, high = 0, len(limits) - 1
        while low < high:
            middle = (low + high) // 2
            if self.inference_seconds(self.starts(int(limits[middle]))) <= most_seconds:
                high = middle
            else:
                low = middle + 1
        return int(limits[low])

    def most_seconds(self) -> float:
        """Returns the time that an inference may take without a limit of RAM."""
        return (1 + _EXTRA_SHARE) * self.inference_seconds(self.starts())

    def order(self, starts: _Ints, numbers: "AheadNumbers") -> tuple[Run, ...]:
        """Returns the order with START_WEIGHTS before these steps, and WAIT_WEIGHTS in the place of FETCH_WEIGHTS."""
        nodes = _nodes(self.runs)
        made = np.array([numbers.of[node] for node in nodes.tolist()], np.int64)
        starting = [numbers.starting[node] for node in nodes[self.fetched].tolist()]
        return runs_of(np.insert(made, starts, starting).tolist())


@dataclass(frozen=True, slots=True)
class AheadNumbers:
    """The numbers of nodes where windows are read ahead, by those of the same graph with FETCH_WEIGHTS.

    Attributes:
        of: of each node; of FETCH_WEIGHTS it is WAIT_WEIGHTS.
        starting: the START_WEIGHTS of each FETCH_WEIGHTS.
    """

    of: dict[int, int]
    starting: dict[int, int]

    @staticmethod
    def for_loads(loads: Sequence[int]) -> "AheadNumbers":
        """The numbers for windows that are fetched so often."""
        numbers = {(each.kind, each.node): number for number, each in enumerate(places(loads, ahead=True))}
        blocking = dict(enumerate(places(loads)))
        of = {number: numbers[each.kind and WaitWeights, each.node] for number, each in blocking.items()}
        starting = {number: numbers[StartWeights, each.node] for number, each in blocking.items() if each.kind}
        return AheadNumbers(of, starting)


@dataclass(frozen=True, slots=True)
class Room:
    """The bytes of an order that is placed.

    Attributes:
        floor_bytes: tensors stay whole while the live bytes do not exceed it.
        enough_bytes: no smaller arena is looked for.
    """

    floor_bytes: int
    enough_bytes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a plan whose windows are read ahead.

    Attributes:
        ram_bytes: the most bytes of the arena; None: no limit.
        most_seconds: without a limit, the time that an inference may take; None: a tenth more than the least.
    """

    ram_bytes: int | None
    most_seconds: float | None


@dataclass(frozen=True, slots=True)
class Overlap:
    """How much of the transfers of an inference passes while its steps compute.

    Attributes:
        ahead: transfers that run while steps compute.
        hidden_seconds: the time of all transfers that passes meanwhile, if both are as fast as they can be.
    """

    ahead: int
    hidden_seconds: float

    @staticmethod
    def of(graph: Graph, plan: Plan, slow: SlowWeights, seconds: Sequence[float]) -> "Overlap":
        """Returns the overlap of a plan whose windows are read ahead; none where they are not.

        Args:
            graph: the plan's graph.
            plan: the plan.
            slow: how weights are fetched.
            seconds: the time that each node computes.
        """
        ahead, hidden, window, computed = 0, 0.0, 0, 0.0
        for run in plan.runs:
            view = graph.views[run.node]
            if view.op.starts:
                window, computed = view.output.type.row_bytes, 0.0
            elif view.op.waits:
                passed = min(window / slow.bandwidth, computed)
                ahead, hidden = ahead + (passed > 0), hidden + passed
            else:
                computed += seconds[run.node] * run.steps / view.steps
        return Overlap(ahead, hidden)


def planned_ahead(
    graph: LoweredGraph,
    ahead: LoweredGraph,
    blocking: Plan,
    slow: SlowWeights,
    target: Target,
    asked: Asked,
    place: Callable[[tuple[Run, ...], Room], Plan],
) -> Plan:
    """Returns the plan whose transfers start as early as the RAM has room for their windows.

    Args:
        graph: with FETCH_WEIGHTS.
        ahead: the same with START_WEIGHTS and WAIT_WEIGHTS.
        blocking: the plan of the first one, in which nothing is read ahead.
        slow: how weights are fetched.
        target: the processor, for the time that steps take.
        asked: what is asked of the plan.
        place: makes the plan of an order of the second one.
    """
    transfers = Transfers.of(graph, blocking.runs, blocking.live_bytes(), node_seconds(graph, target), slow.bandwidth)
    numbers = AheadNumbers.for_loads(slow.loads)
    if asked.ram_bytes is not None:
        limit, floor, most = asked.ram_bytes, 1.0, float("inf")
    else:
        most = max(asked.most_seconds or 0.0, transfers.most_seconds())
        limit, floor = max(blocking.arena_bytes, transfers.least_bytes(most)), 0.0
    tried: list[Plan] = []
    for share in _SHARES:
        starts = transfers.starts(limit * share)
        if (starts == transfers.fetched).all() or (tried and transfers.inference_seconds(starts) > most):
            break
        tried.append(place(transfers.order(starts, numbers), Room(int(limit * share * floor), limit)))
        if tried[-1].arena_bytes <= limit:
            return tried[-1]
    if asked.ram_bytes is None and tried:
        return min(tried, key=lambda made: made.arena_bytes)
    return _together(ahead, blocking, transfers.order(transfers.fetched, numbers), numbers)


def _together(graph: LoweredGraph, blocking: Plan, runs: tuple[Run, ...], numbers: AheadNumbers) -> Plan:
    """Returns the plan in which each transfer starts when it is waited for: each buffer is where it is without reading ahead.

    Args:
        graph: with START_WEIGHTS and WAIT_WEIGHTS.
        blocking: the plan with FETCH_WEIGHTS.
        runs: its order, with a start and a wait in the place of each fetch.
        numbers: the nodes of `graph`, by those of the plan.
    """
    places = {(each.tensor, each.first_row): each.offset for each in blocking.buffers if each.tensor is not None}
    parts = Counter(each.tensor for each in blocking.buffers if each.tensor is not None)
    before = {new: old for table in (numbers.of, numbers.starting) for old, new in table.items()}

    def offset(buffer: Buffer) -> int:
        if buffer.tensor is not None:
            return places.get((buffer.tensor, buffer.first_row), 0)  # an arrival has no bytes, and no place
        found = blocking.scratch_of(before[buffer.nodes[0]])
        return 0 if found is None else found.offset

    split = [tensor for tensor, count in parts.items() if count > 1]
    left = Counter(node for each in blocking.buffers for node in each.nodes)
    buffers = lifetimes(graph, runs, split=split, by_run=[new for new, old in before.items() if left[old] > 1])
    return replace(blocking, runs=runs, buffers=tuple(replace(each, offset=offset(each)) for each in buffers))


def levels_of(buffers: Sequence[Buffer], steps: int) -> _Ints:
    """Returns the bytes that live during each of so many steps, if no two buffers share bytes."""
    change = np.zeros(steps + 1, np.int64)
    np.add.at(change, [each.start for each in buffers], [each.size_bytes for each in buffers])
    np.subtract.at(change, [each.end for each in buffers], [each.size_bytes for each in buffers])
    return np.cumsum(change)[:-1]


def _earliest(graph: Graph, nodes: _Ints, fetched: _Ints) -> _Ints:
    """The first step before which each transfer may start: after the transfer before it, and after all that may end the inference.

    No transfer runs before the first row of a stream, either.

    Args:
        graph: with FETCH_WEIGHTS.
        nodes: the node of each step.
        fetched: the steps of FETCH_WEIGHTS, ascending.
    """
    if not len(fetched):
        return fetched
    first = int(any(view.op.receives for view in graph.views))
    after = np.concatenate([[first], fetched[:-1] + 1])
    ends = np.zeros(len(graph.nodes), np.bool_)
    ends[[*early_exits(graph), *graph.loops]] = True
    last_end = np.maximum.accumulate(np.where(ends[nodes], np.arange(len(nodes)), -1))
    found: _Ints = np.minimum(np.maximum(after, last_end[fetched] + 1), fetched)
    return found


def _nodes(runs: Sequence[Run]) -> _Ints:
    """The node of each step."""
    return np.repeat(np.array([run.node for run in runs], np.int64), np.array([run.steps for run in runs], np.int64))
