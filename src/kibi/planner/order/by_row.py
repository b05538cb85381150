"""Plans by the row: which tensors to hold row by row, and where."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from kibi.ir import Graph
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import Followed
from kibi.planner.order.row_order import OrderSearch
from kibi.planner.order.row_steps import Ints
from kibi.planner.placement.placing import Solution, Task
from kibi.planner.plan import Buffer, Plan, Run
from kibi.targets import Target

_SEARCH_SECONDS = 0.35
"""About how long placement may search; an amount of work, so that the plan does not depend on the machine."""
_MOST_LAYOUTS = 8
"""Layouts that greedy orders are tried on."""
_SMALL_GAP = 0.02
_SMALL_SHARE = 0.2
"""Where the arena is within the first of the bound, this share of the search is enough."""
_LEAVING_SHARE = 0.5
"""The share for placements in which scratch leaves its bytes to others between the runs of its node."""
_BY_RUN_SHARE = 0.57
"""The share where scratch gets a place for each run of its node afterwards, by a search of its own."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """An order with its buffers, not placed yet.

    Attributes:
        runs: the order.
        buffers: its buffers.
        leaving: the same where all scratch leaves its bytes to others between the runs of its node.
        has_whole_inputs: true if model inputs are held whole, though others gain by rows that die one by one.
        live_bytes: the most that live at once, where scratch leaves its bytes; only rows in place can make do with less.
    """

    runs: tuple[Run, ...]
    buffers: tuple[Buffer, ...]
    leaving: tuple[Buffer, ...]
    has_whole_inputs: bool
    live_bytes: int

    @property
    def leaves(self) -> bool:
        """True if some scratch would leave its bytes."""
        return self.leaving != self.buffers


@dataclass(frozen=True, slots=True)
class _Placed:
    """A layout, its buffers to be placed with the pairs that may share bytes, and the best offsets so far."""

    layout: _Layout
    task: Task
    solution: Solution

    @property
    def peak_bytes(self) -> int:
        """The arena."""
        return self.solution.peak_bytes

    @staticmethod
    def of(graph: Graph, layout: _Layout, effort: int) -> "_Placed":
        """A layout placed by greedy orders."""
        rules = in_place_rules(graph, layout.runs, layout.buffers, effort)
        task = Task.of(layout.buffers, rules)
        return _Placed(layout, task, task.solved(None, 0.0))

    def searched(self, seconds: float) -> "_Placed":
        """The same with the better placement that search may find in about that time."""
        found = self.task.solved(None, seconds)
        return replace(self, solution=found) if found.peak_bytes <= self.peak_bytes else self

    def left(self, graph: Graph, effort: int, seconds: float) -> "_Placed":
        """The placement that search finds from this one on, where scratch leaves its bytes between the runs of its node.

        It is the same where nothing is to be gained by that.
        """
        layout = self.layout
        if not layout.leaves:
            return self
        task = Task.of(layout.leaving, in_place_rules(graph, layout.runs, layout.leaving, effort))
        if task.items.problem.lower_bound_bytes >= self.peak_bytes:
            return self
        found = task.solved(None, seconds, self.task.placed(self.solution).buffers)
        return replace(self, task=task, solution=found)


def plan_by_row(
    graph: Graph,
    target: Target,
    *,
    runs: Sequence[Run] | None = None,
    floor: int = 0,
    enough: int = 0,
    orders: OrderSearch | None = None,
    effort: int = 1,
    by_run: bool = False,
) -> Plan:
    """A plan whose rows each have a place and a lifetime of their own, wherever that lowers the peak.

    Args:
        graph: a verified graph.
        target: the processor that it is for.
        runs: the order of row steps; None: of the best that are found the one with the smallest arena.
        floor: tensors stay whole while the live bytes do not exceed this number.
        enough: no smaller arena than this number of bytes is searched for.
        orders: what finds them; None: a search of its own.
        effort: how many times the usual work may be done.
        by_run: true if scratch gets a place for each run of its node afterwards: less is searched for here then.

    Raises:
        PlanError: the order is impossible, or there is nothing to order.
    """
    found = () if runs is not None else (orders or OrderSearch(graph, effort)).by_row()
    listed = [(tuple(runs), 0)] if runs is not None else [(order.runs, order.peak_bytes) for order in found]
    best = _best(graph, listed, floor, effort, enough, by_run=by_run)
    bound = max((order.lower_bound_bytes for order in found), default=0)
    placement = best.task.placed(best.solution)
    return placement.plan(graph.name, target.name, best.layout.runs, order_bound_bytes=bound)


def worth_splitting(graph: Graph, runs: Sequence[Run], floor: int = 0) -> frozenset[int]:
    """The tensors that must be held row by row for the smallest peak; all others may be one buffer.

    A buffer for each row costs a table of offsets in flash. Starting from rows everywhere, each tensor, the largest first,
    is joined again where the peak does not rise, or not above the floor.
    """
    return _worth_splitting(Followed.of(graph, runs), floor)


def _worth_splitting(followed: Followed, floor: int) -> frozenset[int]:
    graph = followed.graph
    everything = frozenset(tensor.index for tensor in graph.tensors if tensor.type.rows > 1)
    split = _by_tensor(followed.buffers(split=everything))
    whole = _by_tensor(followed.buffers())
    change = np.zeros(followed.steps + 1, np.int64)
    for buffers in split.values():
        _add(change, buffers, 1)
    peak = max(floor, int(np.cumsum(change)[:-1].max()))
    kept = set()
    candidates = [tensor for tensor in split if tensor is not None and split[tensor] != whole[tensor]]
    for tensor in sorted(candidates, key=lambda index: (-graph.tensors[index].type.size_bytes, index)):
        _add(change, split[tensor], -1)
        _add(change, whole[tensor], 1)
        if int(np.cumsum(change)[:-1].max()) > peak:
            kept.add(tensor)
            _add(change, whole[tensor], -1)
            _add(change, split[tensor], 1)
    return frozenset(kept)


def _layouts(graph: Graph, runs: tuple[Run, ...], floor: int) -> Iterator[_Layout]:
    """The buffers of an order: the fewest; and those with whole model inputs, which are easier to place."""
    followed = Followed.of(graph, runs)
    split = _worth_splitting(followed, floor)
    whole_inputs = split - set(graph.stored_inputs)
    for choice in dict.fromkeys((split, whole_inputs)):
        leaving = followed.buffers(split=choice, by_run=range(len(graph.nodes)))
        change = np.zeros(followed.steps + 1, np.int64)
        _add(change, leaving, 1)
        yield _Layout(runs, followed.buffers(split=choice), leaving, choice != split, int(np.cumsum(change)[:-1].max()))


def _greedy(graph: Graph, orders: Sequence[tuple[tuple[Run, ...], int]], floor: int, effort: int) -> list[_Placed]:
    """The layouts that may win, placed by greedy orders: all of the first order, and of the others those with less to hold.

    Args:
        graph: a verified graph.
        orders: the orders, each with the bytes that live at once at the least; these ascend.
        floor: as for `plan_by_row`.
        effort: how many times the usual work may be done.
    """
    found: list[_Placed] = []
    left = effort * _MOST_LAYOUTS
    for runs, peak_bytes in orders:
        if found and peak_bytes >= min(each.peak_bytes for each in found):
            break
        for layout in islice(_layouts(graph, runs, floor), left):
            left -= 1
            # Rows in place can make a whole input shrink as it is read: what lives at once says little then.
            if runs == orders[0][0] or layout.live_bytes < min(each.peak_bytes for each in found):
                found.append(_Placed.of(graph, layout, effort))
    return found


def _best(
    graph: Graph,
    orders: Sequence[tuple[tuple[Run, ...], int]],
    floor: int,
    effort: int,
    enough: int,
    *,
    by_run: bool,
) -> _Placed:
    """The layout with the smallest arena: search goes on for the best greedy placement of each kind; arguments as of `_greedy`.

    A placement of at most `enough` bytes is not searched on; `by_run` as for `plan_by_row`.
    """
    found = _greedy(graph, orders, floor, effort)
    best = min(found, key=lambda each: each.peak_bytes)
    if best.peak_bytes <= enough:
        return best
    for is_whole in (True, False):  # what is easier to place comes first, and may save the other search
        kind = [each for each in found if each.layout.has_whole_inputs is is_whole]
        for each in sorted(kind, key=lambda each: each.peak_bytes)[:1]:
            gap = best.peak_bytes - each.solution.lower_bound_bytes
            if gap > 0 and not each.solution.proven_optimal:
                share = 1.0 if gap > _SMALL_GAP * best.peak_bytes else _SMALL_SHARE
                share *= _BY_RUN_SHARE if by_run and each.layout.leaves else 1.0
                best = min(best, each.searched(effort * _SEARCH_SECONDS * share), key=lambda each: each.peak_bytes)
    return best if by_run else best.left(graph, effort, effort * _SEARCH_SECONDS * _LEAVING_SHARE)


def _by_tensor(buffers: Sequence[Buffer]) -> dict[int | None, list[Buffer]]:
    """The buffers of each tensor; all scratch under None."""
    found: dict[int | None, list[Buffer]] = {}
    for buffer in buffers:
        found.setdefault(buffer.tensor, []).append(buffer)
    return found


def _add(change: Ints, buffers: Sequence[Buffer], times: int) -> None:
    """Count buffers in how the bytes change from step to step."""
    for buffer in buffers:
        change[buffer.start] += times * buffer.size_bytes
        change[buffer.end] -= times * buffer.size_bytes
