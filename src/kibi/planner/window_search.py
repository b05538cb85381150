"""Chooses windows for weights in slow memory: into how many parts layers fall, and how often the weights of each are fetched.

Fetching each weight once needs windows that live as long as their layers run. Where the rows of layers alternate, several
windows live at once; a layer whose weights are fetched again for each visit needs its window only then. So there is a choice
between RAM and bytes fetched. The order by rows weighs the rest: windows are tensors like any other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from kibi.errors import InternalError
from kibi.ir import Graph
from kibi.planner.channel_parts import divided, most_parts
from kibi.planner.compute_time import node_seconds
from kibi.planner.lifetimes import lifetimes
from kibi.planner.limits import why_whole
from kibi.planner.order.orders import completed
from kibi.planner.order.row_order import OrderSearch
from kibi.planner.plan import Plan, Run, SlowWeights
from kibi.planner.read_ahead import Transfers, levels_of
from kibi.planner.subgraphs import with_subgraphs
from kibi.planner.weights_option import ReadWeights
from kibi.planner.windows import window_bytes, with_windows
from kibi.selection import Goal, LoweredGraph, select
from kibi.targets import Target

_CYCLES_PER_MAC = 3
"""An estimate of what a core takes for a multiply-accumulate, all included, to weigh fetches against the other work."""
_CLOCK_HZ = 100_000_000
"""The clock of a target that names none."""
_EXTRA_SHARE = 0.1
"""Without a limit of RAM, the share of an inference's time that may be added by fetching weights again."""
_LEAST_WINDOW = 256
"""Windows of so few bytes are not divided."""
_SHRINK = 0.6
"""The largest window of one try, as a share of that of the try before."""
_PATIENCE = 2
"""Tries that save nothing after which windows are made no smaller."""
_CLOSE = 1.01
"""Of peaks so close together the one with fewer parts is taken."""
_ENOUGH = 1.5
"""Where a limit of RAM is met with so many times the bytes of all weights, nothing else is tried."""
_MOST_REFINED = 12
"""How many layers, or groups of them, are tried with other numbers of fetches."""
_MOST_SIZES = 6
"""How many sizes of the largest window are tried."""


@dataclass(frozen=True, slots=True)
class _Try:
    """Windows, and the order by rows that was found for them.

    Attributes:
        parts, loads: as of `SlowWeights`.
        peak_bytes: the most bytes that live at once.
        runs: the order; empty where each operator runs to completion.
        transfers: the same order with the time that it takes; None where nothing is read ahead.
    """

    parts: tuple[int, ...]
    loads: tuple[int, ...]
    peak_bytes: int
    runs: tuple[Run, ...]
    transfers: Transfers | None = None

    def seconds(self, limit_bytes: int | None) -> float:
        """Returns the time of an inference whose transfers start as early as so many bytes allow; None: no limit."""
        if self.transfers is None:
            raise InternalError("nothing is read ahead")
        starts = self.transfers.starts() if limit_bytes is None else self.transfers.starts(limit_bytes)
        return self.transfers.inference_seconds(starts)

    def least_bytes(self, most_seconds: float) -> int:
        """Returns the bytes that live at once where an inference takes at most that time."""
        if self.transfers is None:
            raise InternalError("nothing is read ahead")
        return self.transfers.least_bytes(most_seconds)


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows that a search has found.

    Attributes:
        slow: the windows, filled when they are needed.
        ahead: True if they are to be read ahead.
        most_seconds: the time that an inference may take then; None: there is a limit of RAM instead.
    """

    slow: SlowWeights
    ahead: bool
    most_seconds: float | None


@dataclass(frozen=True)
class WindowSearch:
    """The search for a model's windows.

    Attributes:
        handed: the model, with its inputs and outputs handed over.
        target: the processor.
        goal: what its code is good at.
        weights: the function that reads weights, or two that read them ahead.
        bandwidth: the bytes that are read in a second.
        subgraphs: the plans of the graphs inside of operators.
        is_whole: True if each operator runs to completion.
    """

    handed: Graph
    target: Target
    goal: Goal
    weights: ReadWeights
    bandwidth: int
    subgraphs: Sequence[Plan] = ()
    is_whole: bool = False
    _lowered: dict[tuple[int, ...], LoweredGraph] = field(default_factory=dict, init=False, repr=False, compare=False)
    _known_sizes: dict[tuple[int, ...], tuple[int, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _tried: dict[tuple[tuple[int, ...], tuple[int, ...]], _Try] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def best(self, limit_bytes: int | None = None) -> Windows:
        """Returns the windows with the fewest bytes fetched whose order needs at most so many bytes.

        Without a limit, those with the smallest peak among those whose repeated fetches add at most a tenth to the time of an
        inference. Where the limit cannot be met, those with the smallest peak that is found.

        Where windows are read ahead, those with the shortest inference within the limit; without one, those with the smallest
        peak, early starts included, among those whose inference takes at most a tenth longer than the shortest.
        """
        found = [self._divided(limit_bytes, is_again=False)]
        if not self.is_whole and not self._meets(found[0], limit_bytes):
            found.append(self._more_fetches(found[0], limit_bytes))
            is_enough = self._meets(found[1], limit_bytes) and self._fetched(found[1]) <= _ENOUGH * self._fetched(
                found[0]
            )
            if not is_enough:
                found.append(self._fewer_fetches(self._divided(limit_bytes, is_again=True), limit_bytes))
        if not self.weights.ahead:
            return self._windows(min(found, key=lambda each: self._rank(each, limit_bytes)), None)
        return self._best_ahead(limit_bytes)

    def _windows(self, found: _Try, most_seconds: float | None) -> Windows:
        slow = SlowWeights(self.weights.function, self.bandwidth, found.parts, found.loads)
        return Windows(slow, self.weights.ahead, most_seconds)

    def _best_ahead(self, limit_bytes: int | None) -> Windows:
        """The best of the windows that were tried, and of smaller ones, where transfers start as early as RAM allows."""
        for parts in self._all_parts:
            self._try(parts, tuple(int(size > 0) for size in self._sizes(parts)))
        tried = list(self._tried.values())
        if limit_bytes is not None and not any(self._meets(each, limit_bytes) for each in tried):
            return self._windows(min(tried, key=lambda each: self._rank(each, limit_bytes)), None)
        if limit_bytes is not None:
            meeting = [each for each in tried if self._meets(each, limit_bytes)]
            return self._windows(_fewest_parts(meeting, lambda each: each.seconds(limit_bytes)), None)
        most = (1 + _EXTRA_SHARE) * min(each.seconds(None) for each in tried)
        quick = [each for each in tried if each.seconds(None) <= most]
        return self._windows(_fewest_parts(quick, lambda each: each.least_bytes(most)), most)

    def _meets(self, found: _Try, limit_bytes: int | None) -> bool:
        return limit_bytes is not None and found.peak_bytes <= limit_bytes

    def _rank(self, found: _Try, limit_bytes: int | None) -> tuple[int, ...]:
        """Ranks windows, the better ones lower."""
        if limit_bytes is None:
            return int(self._fetched(found) > self._allowed_bytes(found)), found.peak_bytes, self._fetched(found)
        fetched = self._fetched(found)
        return (0, fetched) if found.peak_bytes <= limit_bytes else (1, found.peak_bytes, fetched)

    def _divided(self, limit_bytes: int | None, *, is_again: bool) -> _Try:
        """Smaller and smaller windows until the limit is met, or nothing is saved; fetched once, or again for each step."""
        tries: list[_Try] = []
        for parts in self._all_parts:
            views, sizes = self._lowered_for(parts).views, self._sizes(parts)
            loads = tuple(
                (view.steps if is_again else 1) if size else 0 for view, size in zip(views, sizes, strict=True)
            )
            tries.append(self._try(parts, loads))
            best = min(tries, key=lambda each: each.peak_bytes)
            if self._meets(best, limit_bytes):
                return best
            if len(tries) - tries.index(best) > _PATIENCE:
                break
        return next(each for each in tries if each.peak_bytes <= best.peak_bytes * _CLOSE)

    @cached_property
    def _all_parts(self) -> tuple[tuple[int, ...], ...]:
        """Parts of layers for smaller and smaller windows; the first time none is divided."""
        calls = select(self.handed, self.target, self.goal).calls
        sizes, most = [window_bytes(call) for call in calls], [most_parts(view) for view in self.handed.views]
        window, found = float(max(sizes, default=0)), dict[tuple[int, ...], None]()
        while not found or (window >= _LEAST_WINDOW and len(found) < _MOST_SIZES):
            wanted = [max(1, -(-size // max(1, int(window)))) for size in sizes]
            found[tuple(map(min, wanted, most))] = None
            window *= _SHRINK
        return tuple(found)

    def _more_fetches(self, best: _Try, limit_bytes: int | None) -> _Try:
        """The same windows with further fetches of those that live while others do, the fewest further ones first."""
        graph, sizes = self._lowered_for(best.parts), self._sizes(best.parts)
        tried: set[tuple[int, int]] = set()
        while len(tried) < _MOST_REFINED and not self._meets(best, limit_bytes):
            choices = [
                (count - best.loads[node], -sizes[node], node, count)
                for node, count in _further_loads(graph, best)
                if (node, count) not in tried
            ]
            if not choices:
                break
            _, _, node, count = min(choices)
            tried.add((node, count))
            made = self._with(best, {node: count}, limit_bytes)
            best = made if made is not None and made.peak_bytes < best.peak_bytes else best
        return best

    def _fewer_fetches(self, best: _Try, limit_bytes: int | None) -> _Try:
        """The same windows with weights that are fetched once, the largest savings first: while the limit, or the time, allows."""
        sizes = self._sizes(best.parts)
        if limit_bytes is not None and not self._meets(best, limit_bytes):
            return best
        saved = {node: size * (load - 1) for node, (size, load) in enumerate(zip(sizes, best.loads, strict=True))}
        nodes = sorted((node for node in saved if saved[node] > 0), key=lambda node: -saved[node])
        if limit_bytes is None:
            too_many = self._fetched(best) - self._allowed_bytes(best)
            left = list(accumulate((saved[node] for node in nodes), initial=0))
            count = next((count for count, sum_ in enumerate(left) if sum_ >= too_many), len(nodes))
            return self._with(best, dict.fromkeys(nodes[:count], 1), None) or best
        waiting, looked = [nodes], 0
        while waiting and looked < _MOST_REFINED:
            group, looked = waiting.pop(0), looked + 1
            made = self._with(best, dict.fromkeys(group, 1), limit_bytes)
            if made is not None and self._meets(made, limit_bytes):
                best = made
            elif len(group) > 1:
                half = (len(group) + 1) // 2
                waiting += [group[:half], group[half:]]
        return best

    def _with(self, best: _Try, counts: dict[int, int], limit_bytes: int | None) -> _Try | None:
        """The same windows with other numbers of fetches; None where that takes too much time."""
        loads = tuple(counts.get(node, old) for node, old in enumerate(best.loads))
        fetched = sum(size * load for size, load in zip(self._sizes(best.parts), loads, strict=True))
        if limit_bytes is None and fetched > self._allowed_bytes(best):
            return None
        return self._try(best.parts, loads)

    def _fetched(self, found: _Try) -> int:
        return sum(size * load for size, load in zip(self._sizes(found.parts), found.loads, strict=True))

    def _allowed_bytes(self, found: _Try) -> float:
        """The bytes that may be fetched without a limit of RAM."""
        once_seconds = sum(self._sizes(found.parts)) / self.bandwidth
        compute_seconds = self.handed.macs * _CYCLES_PER_MAC / (self.target.clock_hz or _CLOCK_HZ)
        return (once_seconds + _EXTRA_SHARE * (once_seconds + compute_seconds)) * self.bandwidth

    def _sizes(self, parts: tuple[int, ...]) -> tuple[int, ...]:
        """The bytes of each node's window."""
        if parts not in self._known_sizes:
            self._known_sizes[parts] = tuple(window_bytes(call) for call in self._lowered_for(parts).calls)
        return self._known_sizes[parts]

    def _lowered_for(self, parts: tuple[int, ...]) -> LoweredGraph:
        if parts not in self._lowered:
            graph = select(divided(self.handed, parts), self.target, self.goal)
            self._lowered[parts] = with_subgraphs(graph, self.subgraphs)
        return self._lowered[parts]

    def _try(self, parts: tuple[int, ...], loads: tuple[int, ...]) -> _Try:
        key = parts, loads
        if key not in self._tried:
            graph = with_windows(self._lowered_for(parts), loads)
            orders = OrderSearch(graph)
            if self.is_whole or why_whole(graph):
                runs = completed(graph, orders.whole.nodes)
                self._tried[key] = _Try(parts, loads, orders.whole.peak_bytes, (), self._transfers(graph, runs))
            else:
                order = orders.first()
                self._tried[key] = _Try(parts, loads, order.peak_bytes, order.runs, self._transfers(graph, order.runs))
        return self._tried[key]

    def _transfers(self, graph: LoweredGraph, runs: tuple[Run, ...]) -> Transfers | None:
        """The transfers of an order; None where nothing is read ahead."""
        if not self.weights.ahead:
            return None
        rows = () if self.is_whole else [tensor.index for tensor in graph.tensors if tensor.type.rows > 1]
        levels = levels_of(lifetimes(graph, runs, split=rows), sum(run.steps for run in runs))
        return Transfers.of(graph, runs, levels, node_seconds(graph, self.target), self.bandwidth)


def _fewest_parts(tried: Sequence[_Try], cost: Callable[[_Try], float]) -> _Try:
    """Returns of those that cost next to the least the one with the fewest parts."""
    most = _CLOSE * min(map(cost, tried))
    return min((each for each in tried if cost(each) <= most), key=lambda each: (sum(each.parts), sum(each.loads)))


def _further_loads(graph: LoweredGraph, found: _Try) -> Iterator[tuple[int, int]]:
    """Yields nodes whose steps alternate with those of others, each with the next number of fetches that may shorten its window.

    Nodes are those of the graph without FETCH_WEIGHTS; a window that is fetched at each visit lives for the visit alone.
    """
    place, numbers = 0, []
    for loads in found.loads:
        place += bool(loads)
        numbers.append(place)
        place += 1
    visits: dict[int, int] = {}
    for run in found.runs:
        visits[run.node] = visits.get(run.node, 0) + 1
    for node, (view, loads) in enumerate(zip(graph.views, found.loads, strict=True)):
        if not loads or visits.get(numbers[node], 1) == 1:
            continue
        wanted = [count for count in range(loads + 1, view.steps + 1) if view.steps % count == 0]
        enough = [count for count in wanted if count >= visits[numbers[node]]]
        if wanted:
            yield node, (enough or wanted)[0 if enough else -1]


def fitting(search: WindowSearch, ram_bytes: int | None, shares: Sequence[float]) -> Iterator[Windows]:
    """Yields windows for plans that may fit, for smaller and smaller shares of the bytes: placement may need a little more."""
    if ram_bytes is None:
        yield search.best()
        return
    for share in shares:
        yield search.best(int(ram_bytes * share))
