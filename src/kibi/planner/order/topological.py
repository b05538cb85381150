"""The order of operators, each run to completion, whose peak of live bytes is the smallest.

The graph falls into stretches at the nodes before or after which all others come: every order passes there. A stretch is
settled by known orders and a bound from minimum cuts where they meet, else by exact search over closed sets, and where that
would take too long by the best order that beam and local search find, with the bound beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kibi.ir import Graph
from kibi.planner.order.local_search import improve
from kibi.planner.order.min_cut_bound import least_context
from kibi.planner.order.order_search import Stretch, greedy, search
from kibi.planner.order.precedence import Precedence, precedence

_NODE_STATES = 5_000_000
"""Where no limit is given: states of one stretch's search times its nodes; some seconds."""
_CUT_LIMIT = 100_000
"""Nodes in the networks of all minimum cuts of one stretch."""


@dataclass(frozen=True, slots=True)
class TopologicalOrder:
    """An order of operators.

    Attributes:
        nodes: indices in the graph's nodes, in the order in which they run.
        peak_bytes: the most bytes of whole tensors (and of scratch, where it counts) that live while a node runs.
        lower_bound_bytes: no order has a smaller peak.
        proven_optimal: true if the two are equal.
    """

    nodes: tuple[int, ...]
    peak_bytes: int
    lower_bound_bytes: int
    proven_optimal: bool


def smallest_peak_order(
    graph: Graph,
    *,
    scratch: bool = True,
    granule_bytes: int = 1,
    before: Sequence[tuple[int, int]] = (),
    state_limit: int | None = None,
    effort: int = 1,
) -> TopologicalOrder:
    """The order of operators with the smallest peak of live bytes, or the best one found, which it then says.

    While a node runs there live its inputs, its outputs, and all that is made and still to be read: model inputs from the
    beginning, model outputs to the end; constants take nothing. Deterministic; the graph's own order where none is better.

    Args:
        graph: a verified graph.
        scratch: true if kernels' scratch counts.
        granule_bytes: sizes of tensors and scratch are rounded up to a multiple of it.
        before: pairs of nodes of which the first runs before the second, though no tensor says so (state that is read,
            then written).
        state_limit: how many states the exact search of one stretch may make; None: fewer for larger ones.
        effort: how many times the usual work may be done.

    Raises:
        PlanError: a pair of `before` contradicts the graph's order of nodes.
    """
    problem = precedence(graph, scratch=scratch, granule_bytes=granule_bytes, before=before)
    if not graph.nodes:
        return TopologicalOrder((), 0, 0, proven_optimal=True)
    costs = problem.costs(range(problem.count), 0, problem.first_bytes)
    parts = [_Part.of(stretch, costs, effort) for stretch in _stretches(problem)]
    floor = max(part.bound for part in parts)
    # The stretch that needs most settles how much the others may take.
    for part in sorted(parts, key=lambda part: (-part.bound, part.stretch.begin)):
        if part.peak > floor:
            part.settle(floor, state_limit, effort)
            floor = max(floor, part.bound)
    peak = max(part.peak for part in parts)
    nodes = tuple(node for part in parts for node in (part.own if part.own_peak <= peak else part.order))
    return TopologicalOrder(nodes, peak, floor, proven_optimal=peak == floor)


def _stretches(problem: Precedence) -> Iterator[Stretch]:
    """Closed sets through which every order goes, one after another, as stretches between them."""
    begin, live = 0, problem.first_bytes
    for node in range(problem.count):
        behind = problem.descendants[node] | 1 << node
        if problem.ancestors[node] | behind != problem.everything:
            continue
        for end in (problem.ancestors[node], problem.ancestors[node] | 1 << node):
            if end != begin:
                yield Stretch(problem, begin, end, live)
                live = problem.live_after(begin, end, live)
                begin = end
    if begin != problem.everything:
        yield Stretch(problem, begin, problem.everything, live)


@dataclass(slots=True)
class _Part:
    """The known facts about a stretch.

    Attributes:
        own, own_peak: the graph's own order of its nodes, and its peak.
        order, peak: the best order so far.
        bound: no order of the stretch has a smaller peak, or none of the whole graph.
    """

    stretch: Stretch
    own: tuple[int, ...]
    own_peak: int
    order: tuple[int, ...]
    peak: int
    bound: int

    @staticmethod
    def of(stretch: Stretch, costs: Sequence[int], effort: int) -> "_Part":
        """A stretch with the best of some quick orders, and the bound."""
        own = stretch.nodes
        peak = max(costs[node] for node in own)
        part = _Part(stretch, own, peak, own, peak, peak)
        if len(own) > 1:
            part.try_order(greedy(stretch, sparing=False))
            part.try_order(greedy(stretch, sparing=True))
            part.bound = max(_bound(stretch, part.order, effort), stretch.live_after)
        return part

    def try_order(self, order: tuple[int, ...]) -> None:
        """Take an order where it is better."""
        peak = max(self.stretch.problem.costs(order, self.stretch.begin, self.stretch.live))
        if peak < self.peak:
            self.order, self.peak = order, peak

    def settle(self, floor: int, state_limit: int | None, effort: int) -> None:
        """Find the best order, or a better one; peaks up to `floor` are needed elsewhere anyway."""
        limit = effort * _NODE_STATES // len(self.own) if state_limit is None else state_limit
        found = search(self.stretch, floor, self.peak, limit)
        self.bound = max(self.bound, found.bound_bytes)
        if found.nodes is not None:
            self.try_order(found.nodes)
        elif found.bound_bytes < self.peak:
            self.try_order(improve(self.stretch, self.order, self.bound, effort))


def _bound(stretch: Stretch, order: tuple[int, ...], effort: int) -> int:
    """A bound on the peak of a stretch: the most that one of its nodes needs at the least.

    Nodes that an order serves with no more than the bound so far cannot raise it, and are left out.
    """
    costs = dict(zip(order, stretch.problem.costs(order, stretch.begin, stretch.live), strict=True))
    bound, work = 0, 0
    for node in sorted(order, key=lambda node: (-costs[node], node)):
        if costs[node] <= bound or work > effort * _CUT_LIMIT:
            break
        work += len(order)
        bound = max(bound, least_context(stretch, node, effort).least_bytes)
    return bound
