"""Where to cut: dynamic programming over the ends of stretches.

The best order of the nodes before a cut does not depend on what follows it, because there only finished tensors live. So the
smallest peak up to each node is the least, over the first node of the last stretch, of what that stretch needs and what is
needed before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kibi.planner.order.row_steps import RowSteps
from kibi.planner.order.row_stretches import StretchPeaks, live_at_cuts, pulled

_STEP_WORK = 300_000
"""Row steps in the orders of all longest stretches."""
_PEAK_WORK = 15_000
"""How many stretches are weighed at most."""


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
    count = len(steps.steps)
    live = live_at_cuts(steps)
    reach = _reach(steps)
    orders: list[list[int]] = [[]]
    costs: list[dict[int, int]] = [{}]
    best = [floor]
    for end in range(1, count + 1):
        low = max(0, end - reach)
        orders.append(pulled(steps, low, end, eager=eager))
        peaks = StretchPeaks.of(steps, low, end, orders[end], int(live[end]))
        found: dict[int, int] = {}
        least = -1
        for begin in range(end - 1, low - 1, -1):
            peaks.extend(begin)
            if least < 0 or best[begin] < least:
                found[begin] = peaks.peak()
                whole = max(best[begin], found[begin])
                least = whole if least < 0 else min(least, whole)
            if least <= floor:
                break
        costs.append(found)
        best.append(least)
    cuts = _most_cuts(costs, best[count])
    order = [node for begin, end in pairwise([*cuts, count]) for node in orders[end] if node >= begin]
    return Stretches(tuple(cuts), tuple(order), best[count])


def _reach(steps: RowSteps) -> int:
    """How many nodes a stretch may have, that the work is bounded."""
    count = len(steps.steps)
    reach = max(2, min(count, 2 * _PEAK_WORK // max(count, 1)))
    while reach > 2 and sum(_longest(steps.steps, reach)) > _STEP_WORK:
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
