"""A bound on the peak of every order by rows: the fewest bytes that can live beside a row step.

What a step reads and makes must live while it runs. More is known from minimum cuts: whatever has run before a step, the
rows between what has run and what has not are there (see `least_context`). They are looked for at the steps where a known
order needs the most, for the others cannot raise the bound.
"""

from collections.abc import Sequence
from math import isqrt

import numpy as np

from kibi.planner.order.min_cut_bound import Context, least_context
from kibi.planner.order.order_search import Stretch
from kibi.planner.order.row_levels import live_levels
from kibi.planner.order.row_precedence import row_precedence
from kibi.planner.order.row_steps import RowSteps

_MOST_STEPS = 2500
"""Row steps of the nodes around a step whose minimum cut is looked for; leaving nodes out can only lower the bound."""
_CUT_WORK = 40_000
"""Row steps in the networks of all minimum cuts."""
_FLOW_WORK = 1 << 23
"""Edges that all their flows look at."""


def row_bound(steps: RowSteps, order: Sequence[int], floor: int = 0, effort: int = 1) -> int:
    """Bytes that every order of a graph's row steps needs at its peak, held scratch aside.

    Args:
        steps: the row steps.
        order: an order of them, as each step's node; the better it is, the less there is to look at.
        floor: a bound that is known.
        effort: how many times the usual work may be done.
    """
    return RowBounds(steps, effort).best(order, floor)


def _direct_bound(steps: RowSteps) -> int:
    """The most that one step reads, makes and has as scratch; at least what the caller gives or takes."""
    needs = [np.full(count, size, np.int64) for count, size in zip(steps.steps, steps.scratch, strict=True)]
    given = taken = 0
    for each in steps.slices:
        taken += int(each.size_bytes.sum()) if each.is_kept else 0
        given += int(each.size_bytes.sum()) if each.maker < 0 else 0
        if each.maker >= 0:
            np.add.at(needs[each.maker], each.made, each.size_bytes)
        for reader, uses in zip(each.readers, each.last_uses, strict=True):
            np.add.at(needs[reader], uses[uses >= 0], each.size_bytes[uses >= 0])
    return max(given, taken, *(int(each.max()) for each in needs))


def _numbers(steps: RowSteps, order: Sequence[int]) -> list[int]:
    """Each step's number among its node's."""
    done, numbers = [0] * len(steps.steps), []
    for node in order:
        numbers.append(done[node])
        done[node] += 1
    return numbers


class RowBounds:
    """Bounds from several orders of the same row steps: what was found at a step for one order is known for the others."""

    def __init__(self, steps: RowSteps, effort: int = 1) -> None:
        """Begin; `effort` is how many times the usual work may be done for each order."""
        self.steps = steps
        self._effort = effort
        self._most_steps = isqrt(effort * _MOST_STEPS**2)  # the sets of steps before each take memory in their square
        self._known: dict[tuple[int, int], Stretch] = {}
        self._contexts: dict[tuple[int, int], tuple[Context, int]] = {}

    def best(self, order: Sequence[int], floor: int = 0) -> int:
        """The bound; arguments as of `row_bound`."""
        bound = max(floor, _direct_bound(self.steps))
        costs = live_levels(self.steps, order, is_scratch_held=False)
        numbers = _numbers(self.steps, order)
        work = flow_work = 0
        for place in np.argsort(-costs, kind="stable").tolist():
            # What is known counts as if it was found again: so a bound does not depend on what was asked for before.
            if costs[place] <= bound or work > self._effort * _CUT_WORK or flow_work > self._effort * _FLOW_WORK:
                break
            node = order[place]
            if self.steps.steps[node] <= self._most_steps:
                found, steps = self._context(node, numbers[place])
                work, flow_work = work + steps, flow_work + found.work
                bound = max(bound, found.least_bytes)
        return bound

    def _context(self, node: int, step: int) -> tuple[Context, int]:
        """The fewest bytes that can live while a step runs, by the nodes around it; and how many steps these have."""
        if (node, step) not in self._contexts:
            begin, end = self._around(node)
            if (begin, end) not in self._known:
                part = self.steps if end - begin == len(self.steps.steps) else self.steps.only(range(begin, end))
                problem = row_precedence(part)
                self._known[begin, end] = Stretch(problem, 0, problem.everything, problem.first_bytes)
            number = sum(self.steps.steps[begin:node]) + step
            found = least_context(self._known[begin, end], number, self._effort)
            self._contexts[node, step] = found, sum(self.steps.steps[begin:end])
        return self._contexts[node, step]

    def _around(self, node: int) -> tuple[int, int]:
        """The nodes around a node that together have few enough steps."""
        begin, end, count = node, node + 1, self.steps.steps[node]
        total = len(self.steps.steps)
        grows = True
        while grows:
            grows = False
            for first, until in ((begin - 1, end), (begin, end + 1)):
                added = sum(self.steps.steps[max(first, 0) : begin]) + sum(self.steps.steps[end:until])
                if first >= 0 and until <= total and count + added <= self._most_steps:
                    begin, end, count, grows = first, until, count + added, True
                    break
        return begin, end
