"""Orders by rows: the smallest peak that is found, and a bound that no order is below.

Nodes stand in the file's order or in the best order of whole operators. For each, cuts and stretches between them are found
by dynamic programming (`row_cuts`, `row_stretches`); exact search and local search go on where a bound from minimum cuts
is not met (`row_bound`, `row_search`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kibi.ir import Graph
from kibi.planner.order.orders import file_order
from kibi.planner.order.row_bound import RowBounds, row_bound
from kibi.planner.order.row_cuts import CutSearch
from kibi.planner.order.row_levels import live_levels
from kibi.planner.order.row_search import best_order, better_order, settled_order
from kibi.planner.order.row_steps import RowSteps, row_steps, runs_of
from kibi.planner.order.topological import TopologicalOrder, smallest_peak_order
from kibi.planner.plan import Run

_MOST_WEIGHED = 8_000
"""Stretches between cuts after which no further way of looking for cuts is begun; models that we know take fewer in all."""


@dataclass(frozen=True, slots=True)
class RowOrder:
    """An order by rows.

    Attributes:
        runs: the row steps.
        cuts: the first node of each stretch that was found between cuts; none where the order was improved across them.
        peak_bytes: the most bytes of rows and scratch that live at once in this order.
        lower_bound_bytes: no order of row steps needs less, even if scratch lived in its own node's steps only; rows that are
            made in the place of others (`in_place_rules`) aside, which neither figure knows of.
    """

    runs: tuple[Run, ...]
    cuts: tuple[int, ...]
    peak_bytes: int
    lower_bound_bytes: int


def row_order(graph: Graph) -> RowOrder:
    """The order by rows with the smallest peak that is found; of equal ones the one with the fewest runs.

    The amount of work is limited, so that the same graph gets the same order on every machine.
    """
    return row_orders(graph)[0]


def row_orders(graph: Graph) -> tuple[RowOrder, ...]:
    """Different orders by rows, the one with the smallest peak first; others may be easier to place."""
    return OrderSearch(graph).by_row()


@dataclass(frozen=True)
class OrderSearch:
    """The search for orders of a graph, which remembers what it found: several plans ask it.

    Attributes:
        graph: a verified graph.
        effort: how many times the usual work may be done.
    """

    graph: Graph
    effort: int = 1
    _begun: dict[tuple[int, ...], CutSearch] = field(default_factory=dict, init=False, repr=False, compare=False)
    _tried: set[tuple[tuple[int, ...], bool]] = field(default_factory=set, init=False, repr=False, compare=False)

    @cached_property
    def whole(self) -> TopologicalOrder:
        """The best order of operators that each run to completion."""
        return smallest_peak_order(self.graph, effort=self.effort)

    def by_row(self) -> tuple[RowOrder, ...]:
        """Orders as of `row_orders`; where the first one that is found meets the bound, it is the only one."""
        if not self.graph.nodes:
            return (RowOrder((), (), 0, 0),)
        steps, effort = self._steps, self.effort
        first = self._cut_order(self._own, 0, is_eager=True)
        bound = self._bounds.best(first.nodes)
        found = {first.nodes: first}
        if first.peak_bytes > bound:
            found |= {order.nodes: order for order in self._cut_orders(bound)}
            best = min(found.values(), key=_rank)
            bound = self._bounds.best(best.nodes, bound)
            exact, bound = best_order(steps, best.nodes, bound, effort)
            for start in dict.fromkeys((best.nodes, exact)):
                for nodes in (start, better_order(steps, start, bound, effort)):
                    found.setdefault(nodes, _Candidate.of(steps, nodes))
        ranked = sorted(found.values(), key=_rank)
        return tuple(RowOrder(each.runs, each.cuts, each.peak_bytes, bound) for each in ranked)

    def settled(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """An order of row steps with no higher peak than another and fewer bytes near it, or that one."""
        nodes = tuple(run.node for run in runs for _ in range(run.steps))
        made = settled_order(self._steps, nodes, self.effort)
        before, after = (int(live_levels(self._steps, each).max()) for each in (nodes, made))
        return runs_of(made) if made != nodes and after <= before else tuple(runs)

    def first(self) -> RowOrder:
        """The order from cuts in the file's order of nodes, without a bound: the quickest to find."""
        found = self._cut_order(self._own, 0, is_eager=True)
        return RowOrder(found.runs, found.cuts, found.peak_bytes, 0)

    def within(self, peak_bytes: int) -> RowOrder | None:
        """The order from cuts with the fewest runs among those that are found with a peak of at most so many bytes."""
        found = [order for order in self._cut_orders(peak_bytes) if order.peak_bytes <= peak_bytes]
        best = min(found, key=lambda order: len(order.runs), default=None)
        bound = 0 if best is None else self._bounds.best(best.nodes)
        return None if best is None else RowOrder(best.runs, best.cuts, best.peak_bytes, bound)

    @cached_property
    def _steps(self) -> RowSteps:
        return row_steps(self.graph)

    @cached_property
    def _bounds(self) -> RowBounds:
        return RowBounds(self._steps, self.effort)

    @property
    def _own(self) -> tuple[int, ...]:
        return tuple(range(len(self.graph.nodes)))

    def _cut_orders(self, floor: int) -> "list[_Candidate]":
        """Returns orders from cuts in the file's order of nodes and in the best one of operators, until the work is done."""
        orders = dict.fromkeys((self._own, self.whole.nodes))
        ways = [(nodes, is_eager) for nodes in orders for is_eager in (True, False)]
        found = {}
        # Once the file's order has been tried, the other one promises more than a second way in the same.
        for way in (ways[0], *ways[2:], ways[1]):
            weighed = sum(search.weighed for search in self._begun.values())
            if way in self._tried or weighed < self.effort * _MOST_WEIGHED:
                found[way] = self._cut_order(way[0], floor, is_eager=way[1])
        return [found[way] for way in ways if way in found]

    def _cut_order(self, nodes: tuple[int, ...], floor: int, *, is_eager: bool) -> "_Candidate":
        """The best cuts in an order of nodes."""
        if nodes not in self._begun:
            self._begun[nodes] = CutSearch(self._steps.in_order(nodes), self.effort)
        self._tried.add((nodes, is_eager))
        found = self._begun[nodes].best(floor, eager=is_eager)
        order, cuts = [nodes[place] for place in found.order], tuple(nodes[cut] for cut in found.cuts)
        return _Candidate.of(self._steps, order, cuts)


def whole_order(graph: Graph) -> RowOrder:
    """The file's order, each operator run to completion, rows dying one by one all the same."""
    steps = row_steps(graph)
    nodes = [node for node, count in enumerate(steps.steps) for _ in range(count)]
    peak = int(live_levels(steps, nodes).max())
    return RowOrder(file_order(graph), tuple(range(len(steps.steps))), peak, row_bound(steps, nodes))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An order as each step's node, with what it is judged by."""

    nodes: tuple[int, ...]
    runs: tuple[Run, ...]
    cuts: tuple[int, ...]
    peak_bytes: int

    @staticmethod
    def of(steps: RowSteps, nodes: Sequence[int], cuts: tuple[int, ...] = ()) -> "_Candidate":
        return _Candidate(tuple(nodes), runs_of(nodes), cuts, int(live_levels(steps, nodes).max()))


def _rank(order: _Candidate) -> tuple[int, int]:
    return order.peak_bytes, len(order.runs)
