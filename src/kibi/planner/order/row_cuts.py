"""The choice of cuts: dynamic programming over the ends of stretches.

The best order of the nodes before a cut does not depend on what follows it, because there only finished tensors live. So the
smallest peak up to each node is the least, over the first node of the last stretch, of what that stretch needs and what is
needed before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from kibi.planner.order.row_steps import RowSteps
from kibi.planner.order.row_stretches import StretchPeaks, drivers, live_at_cuts, pulled

_STEP_WORK = 300_000
"""Row steps in the orders of all longest stretches."""
_PEAK_WORK = 6_400
"""How many stretches are weighed at most in one order of nodes and one way: all of up to 112 nodes."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """An order by rows as stretches between cuts.

    Attributes:
        cuts: the first node of each stretch.
        order: the order, as each step's node.
        peak_bytes: the most bytes that live at once, as the search counts them.
    """

    cuts: tuple[int, ...]
    order: tuple[int, ...]
    peak_bytes: int


def best_cuts(steps: RowSteps, floor: int, *, eager: bool = True) -> Stretches:
    """The cuts with the smallest peak, in the order of nodes; of equal ones those with the most cuts.

    Args:
        steps: the row steps of a graph.
        floor: peaks up to this one are all the same; at least it is needed anyway.
        eager: as for `pulled`.
    """
    return CutSearch(steps).best(floor, eager=eager)


class CutSearch:
    """The search for cuts in one order of nodes, which remembers the orders of stretches and what they need.

    Attributes:
        weighed: how many stretches have been weighed.
    """

    def __init__(self, steps: RowSteps, effort: int = 1) -> None:
        """Begin; `effort` is how many times the usual work may be done."""
        self._steps = steps
        self._live = live_at_cuts(steps)
        self._reach = _reach(steps, effort)
        self._ends: dict[tuple[int, bool], _End] = {}
        self.weighed = 0

    def best(self, floor: int, *, eager: bool = True) -> Stretches:
        """The best cuts; arguments as of `best_cuts`."""
        count = len(self._steps.steps)
        ends: list[_End] = []
        costs: list[dict[int, int]] = [{}]
        best = [floor]
        for end in range(1, count + 1):
            ends.append(self._end(end, eager))
            found: dict[int, int] = {}
            least = -1
            for begin in range(end - 1, ends[-1].low - 1, -1):
                if least < 0 or best[begin] < least:
                    self.weighed += begin not in ends[-1].known
                    found[begin] = ends[-1].peak(begin)
                    whole = max(best[begin], found[begin])
                    least = whole if least < 0 else min(least, whole)
                if least <= floor:
                    break
            costs.append(found)
            best.append(least)
        cuts = _most_cuts(costs, best[count])
        order = [node for begin, end in pairwise([*cuts, count]) for node in ends[end - 1].order if node >= begin]
        return Stretches(tuple(cuts), tuple(order), best[count])

    def peaks(self, end: int) -> dict[int, int]:
        """Returns for the first node of each stretch with an end that is not too long the most bytes that live at once in it."""
        found = self._end(end, eager=True)
        return {begin: found.peak(begin) for begin in range(end - 1, found.low - 1, -1)}

    def _end(self, end: int, eager: bool) -> "_End":
        """The known facts about stretches with an end; where one node alone asks for rows, eager or not is the same."""
        if (end, eager) not in self._ends:
            low = max(0, end - self._reach)
            is_same = (end, not eager) in self._ends and len(drivers(self._steps, low, end)) == 1
            if is_same:
                self._ends[end, eager] = self._ends[end, not eager]
                return self._ends[end, eager]
            order = pulled(self._steps, low, end, eager=eager)
            self._ends[end, eager] = _End(self._steps, low, end, order, int(self._live[end]))
        return self._ends[end, eager]


class _End:
    """The stretches with one end: an order of the longest, and what each of them needs where that was asked for.

    Attributes:
        low: the first node of the longest.
        order: its order, as each step's node.
        known: for the first node of a stretch, what it needs.
    """

    def __init__(self, steps: RowSteps, low: int, end: int, order: list[int], live: int) -> None:
        self.low = low
        self.order = order
        self._begun = partial(StretchPeaks.of, steps, low, end, order, live)
        self._reached = end
        self._peaks: StretchPeaks | None = None
        self.known: dict[int, int] = {}

    def peak(self, begin: int) -> int:
        """The most bytes that live at once in the stretch from a node on; asked for from the end down it costs the least."""
        if begin not in self.known:
            if self._peaks is None or self._reached <= begin:
                self._peaks = self._begun()
                self._reached = self._peaks.end
            for node in range(self._reached - 1, begin - 1, -1):
                self._peaks.extend(node)
            self._reached = begin
            self.known[begin] = self._peaks.peak()
        return self.known[begin]


def _reach(steps: RowSteps, effort: int) -> int:
    """Returns how many nodes a stretch may have, so that the work is bounded."""
    count = len(steps.steps)
    reach = max(2, min(count, effort * 2 * _PEAK_WORK // max(count, 1)))
    while reach > 2 and sum(_longest(steps.steps, reach)) > effort * _STEP_WORK:
        reach = max(2, reach * 3 // 4)
    return reach


def _longest(counts: Sequence[int], reach: int) -> list[int]:
    """Steps of the longest stretch with each end."""
    total = [0]
    for count in counts:
        total.append(total[-1] + count)
    return [total[end] - total[max(0, end - reach)] for end in range(1, len(total))]


def _most_cuts(costs: Sequence[dict[int, int]], peak: int) -> list[int]:
    """The first nodes of as many stretches as possible that need no more than the peak."""
    most: list[tuple[int, int]] = [(0, 0)]
    for found in costs[1:]:
        choices = [(most[begin][0] + 1, begin) for begin, cost in found.items() if cost <= peak and most[begin][0] >= 0]
        most.append(max(choices, default=(-1, 0)))
    cuts, end = [], len(most) - 1
    while end:
        end = most[end][1]
        cuts.append(end)
    return cuts[::-1]
