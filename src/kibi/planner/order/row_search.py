"""Better orders of row steps near the peak, where cuts and pulling leave something: local search.

At the peak's step, what need not have run before it is put off, as its minimum cut says; and the steps around it are put into
their best order by exact search. What counts is the true peak, held scratch included, then for how long it lasts. The work
is limited by counts, so that the same graph gets the same order on every machine.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import isqrt

import numpy as np

from kibi.planner.order.min_cut_bound import least_context
from kibi.planner.order.order_search import Stretch, search
from kibi.planner.order.row_levels import live_levels
from kibi.planner.order.row_precedence import row_precedence
from kibi.planner.order.row_steps import RowSteps
from kibi.planner.order.settling import settled

_MOST_STEPS = 2500
"""Graphs with more row steps are left as they are."""
_WINDOWS = (12, 24, 48, 96)
_WINDOW_STATES = 1_000
_EXACT_WORK = 300_000
"""States of the exact search of a whole graph, times its row steps."""
_WORK = 300_000
"""Row steps that are looked at: in minimum cuts, in orders that are weighed; and states of exact searches, times ten."""


def best_order(steps: RowSteps, order: Sequence[int], bound: int, effort: int = 1) -> tuple[tuple[int, ...], int]:
    """Exact search where the graph is small enough: an order, and a bound that no order is below, held scratch aside.

    Args:
        steps: the row steps of a graph.
        order: an order of them, as each step's node; it is what comes back where the search finds nothing better.
        bound: a bound that is known.
        effort: how many times the usual work may be done.
    """
    known = int(live_levels(steps, order, is_scratch_held=False).max())
    if len(order) > _most_steps(effort) or known <= bound:
        return tuple(order), bound
    neighbours = _Neighbours(steps, bound, effort)
    found = search(neighbours.whole, bound, known, effort * _EXACT_WORK // len(order))
    if found.nodes is None:
        return tuple(order), max(bound, found.bound_bytes)
    return tuple(neighbours.node_of[number] for number in found.nodes), found.bound_bytes


def better_order(steps: RowSteps, order: Sequence[int], bound: int, effort: int = 1) -> tuple[int, ...]:
    """An order with a smaller peak, or the same one.

    Args:
        steps: the row steps of a graph.
        order: an order of them, as each step's node.
        bound: no order has a smaller peak; one that meets it ends the search.
        effort: how many times the usual work may be done.
    """
    if len(order) > _most_steps(effort) or int(live_levels(steps, order).max()) <= bound:
        return tuple(order)
    neighbours = _Neighbours(steps, bound, effort)
    rank = _rank(steps, order)
    best = tuple(order)
    while rank[0] > bound:
        for other in neighbours.of(best):
            other_rank = _rank(steps, other)
            if other_rank < rank:
                best, rank = other, other_rank
                break
        else:
            break
    return best


def settled_order(steps: RowSteps, order: Sequence[int], effort: int = 1) -> tuple[int, ...]:
    """An order with fewer bytes near the peak, scratch in its own steps only; arguments as of `better_order`."""
    if len(order) > _most_steps(effort):
        return tuple(order)
    neighbours = _Neighbours(steps, 0, effort)
    found = settled(neighbours.whole.problem, neighbours.numbers(order), effort)
    return tuple(neighbours.node_of[number] for number in found)


def _most_steps(effort: int) -> int:
    """Row steps of the largest graph that is searched: the sets of steps before each take memory in their square."""
    return isqrt(effort * _MOST_STEPS**2)


def _rank(steps: RowSteps, order: Sequence[int]) -> tuple[int, int, int]:
    """Orders are better with a smaller peak, then with fewer steps at it, then with less that lives without held scratch."""
    levels = live_levels(steps, order)
    peak = int(levels.max())
    return peak, int((levels == peak).sum()), int(live_levels(steps, order, is_scratch_held=False).max())


class _Neighbours:
    """Orders that differ from one around its peak."""

    def __init__(self, steps: RowSteps, bound: int, effort: int) -> None:
        self.steps = steps
        self.effort = effort
        self.bound = bound
        problem = row_precedence(steps)
        self.whole = Stretch(problem, 0, problem.everything, problem.first_bytes)
        self.first = [0, *accumulate(steps.steps)]
        self.node_of = [node for node, count in enumerate(steps.steps) for _ in range(count)]
        self.work = 0

    def of(self, order: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Ever larger changes, until none is left or the work is done."""
        numbers = self.numbers(order)
        levels = live_levels(self.steps, order)
        top = np.flatnonzero(levels == levels.max())
        for place in dict.fromkeys((int(top[0]), int(top[-1]))):
            for changed in self._changes(numbers, place, int(levels[place])):
                self.work += 2 * len(order)
                yield tuple(self.node_of[number] for number in changed)
                if self.work > self.effort * _WORK:
                    return

    def _changes(self, numbers: Sequence[int], place: int, peak: int) -> Iterator[Sequence[int]]:
        self.work += len(numbers)
        context = least_context(self.whole, numbers[place], self.effort).before
        early = [number for number in numbers if context >> number & 1]
        late = [number for number in numbers if not context >> number & 1 and number != numbers[place]]
        yield [*early, numbers[place], *late]
        states = self.effort * _WINDOW_STATES
        for length in _WINDOWS:
            for lead in (length // 2, length // 6, 5 * length // 6):
                begin = max(0, place - lead)
                window = numbers[begin : begin + length]
                found = search(self.whole.within(numbers[:begin], window), self.bound, peak, states)
                self.work += 10 * states if found.nodes is None else 10 * length
                if found.nodes is not None:
                    yield [*numbers[:begin], *found.nodes, *numbers[begin + length :]]
                if self.work > self.effort * _WORK:
                    return

    def numbers(self, order: Sequence[int]) -> list[int]:
        """An order as numbers of steps."""
        following = list(self.first)
        numbers = []
        for node in order:
            numbers.append(following[node])
            following[node] += 1
        return numbers
