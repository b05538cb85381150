"""The order of attack: greedy orders, exact search at the lower bound, then at capacities between bound and best.

Searches are cut off by the amount of work, not by the clock, so that the same problem gets the same answer on every
machine. Their success is a matter of luck with the strategy: most problems that can be solved at all are easy for some
of them. So there are rounds, each of many short searches, and each with twice the patience of the one before.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from kibi.planner.first_fit import orders
from kibi.planner.placement_native import Ending, ItemRule, Native, SectionRule, Strategy
from kibi.planner.placement_problem import Bytes, Problem

_WORK_PER_SECOND = 150_000_000
"""How much the search gets through on a small desktop core."""
_PATIENCE = 1.5
"""How many times the work of placing all items once a search may take at first."""
_LOOKING = 4
"""How many times that a search may take that looks at the consequences of each choice."""
_MOST_ITEMS = 6000
"""Searches of larger problems would not end, and nest too deeply."""
_MOST_GREEDY = 2_000_000_000
"""Items times items over which only the first few greedy orders are tried."""
_NOISE = 0.3
_STRATEGIES = (
    Strategy(SectionRule.LOWEST_TIGHTEST, ItemRule.LONGEST),
    Strategy(SectionRule.FEWEST_CANDIDATES, ItemRule.LARGEST),
    Strategy(SectionRule.FEWEST_CANDIDATES, ItemRule.LONGEST),
    Strategy(SectionRule.LOWEST_TIGHTEST, ItemRule.AREA),
    Strategy(SectionRule.FEWEST_CANDIDATES, ItemRule.LONG_AREA),
    Strategy(SectionRule.SLACK_FEWEST, ItemRule.LONGEST),
    Strategy(SectionRule.FEWEST_CANDIDATES, ItemRule.LARGE_AREA),
    Strategy(SectionRule.LOWEST_FEWEST, ItemRule.LOOK),
    Strategy(SectionRule.FEWEST_CANDIDATES, ItemRule.LOOK_STRICT),
    Strategy(SectionRule.CONFLICT_SLACK, ItemRule.LONG_AREA),
    Strategy(SectionRule.FEWEST_CANDIDATES, ItemRule.LOWEST),
    Strategy(SectionRule.LOWEST_TIGHTEST, ItemRule.LOOK_STRICT),
    Strategy(SectionRule.CONFLICT_FEWEST, ItemRule.LARGEST),
)


@dataclass(slots=True)
class Progress:
    """What is known so far.

    Attributes:
        offsets: the best placement, or None.
        peak_bytes: its peak; beyond all offsets if there is none.
        lower_bound_bytes: no placement has a lower peak.
    """

    offsets: Bytes | None
    peak_bytes: int
    lower_bound_bytes: int

    def keep(self, offsets: Bytes, peak_bytes: int) -> None:
        """Remember a placement if it is the best."""
        if peak_bytes < self.peak_bytes:
            self.offsets, self.peak_bytes = offsets, peak_bytes

    def is_done(self, capacity: int | None) -> bool:
        """Whether there is nothing left to find out: optimal; fits the capacity; nothing fits the capacity."""
        if self.offsets is None or self.lower_bound_bytes >= self.peak_bytes:
            return self.offsets is not None
        return capacity is not None and (self.peak_bytes <= capacity or self.lower_bound_bytes > capacity)


def greedy(problem: Problem, native: Native, progress: Progress, capacity: int | None) -> None:
    """Try greedy orders until one is good enough."""
    few = problem.items * problem.items > _MOST_GREEDY
    for tried, order in enumerate(orders(problem)):
        if progress.is_done(capacity) or (few and tried >= 4):
            return
        offsets = native.first_fit(order)
        if offsets is not None:
            progress.keep(offsets, problem.peak_bytes(offsets))


def refine(
    problem: Problem,
    native: Native,
    progress: Progress,
    *,
    capacity: int | None,
    seconds: float,
    go_on: Callable[[], bool],
) -> None:
    """Search for better placements, and for proofs that there are none, for about that many seconds."""
    if problem.items > _MOST_ITEMS:
        return
    left = int(seconds * _WORK_PER_SECOND)
    for number in count(1):
        patience, noise = _PATIENCE * _luby(number), _NOISE if number > 1 else 0.0
        target = _Target(problem, progress, capacity)
        while (at := target.bytes) is not None:
            for strategy in _STRATEGIES:
                how = replace(strategy, noise=noise, seed=number)
                limit = min(left, _limit(problem, how, patience))
                ending, offsets, work = native.search(how, at, limit, go_on)
                left -= work
                if ending == Ending.FOUND:
                    progress.keep(offsets, problem.peak_bytes(offsets))
                elif ending == Ending.IMPOSSIBLE and problem.is_exact:
                    progress.lower_bound_bytes = at + target.step
                if left <= 0 or not go_on() or progress.is_done(capacity):
                    return
                if ending in (Ending.FOUND, Ending.IMPOSSIBLE):
                    break
            else:
                target.give_up(at)


def _luby(number: int) -> int:
    """The sequence 1 1 2 1 1 2 4 …, from 1 on, which is within a constant factor of the best one for any search by luck.

    Luby, Sinclair, Zuckerman: Optimal speedup of Las Vegas algorithms, 1993.
    """
    while (number + 1) & number:
        number -= (1 << (number.bit_length() - 1)) - 1
    return (number + 1) // 2


def _limit(problem: Problem, strategy: Strategy, patience: float) -> int:
    work = int(int(problem.spans.sum()) * problem.items * patience)
    return work * (_LOOKING if strategy.item_rule >= ItemRule.LOOK_STRICT else 1)


class _Target:
    """The capacity to search at, in one round: the lower bound, then half way between what failed and what is known."""

    def __init__(self, problem: Problem, progress: Progress, capacity: int | None) -> None:
        self.step = problem.granularity_bytes if problem.is_aligned_anyway else 1
        self._progress = progress
        self._capacity = capacity
        self._failed = -1

    @property
    def bytes(self) -> int | None:
        """The capacity to search at next; None: the round is over."""
        progress = self._progress
        if self._capacity is not None:
            return self._capacity if self._failed < 0 else None
        lowest = max(progress.lower_bound_bytes, self._failed + self.step)
        lowest += -lowest % self.step
        highest = progress.peak_bytes - 1
        highest -= highest % self.step
        if highest < lowest:
            return None
        if self._failed < progress.lower_bound_bytes:
            return lowest
        return lowest + (highest - lowest) // 2 // self.step * self.step

    def give_up(self, at: int) -> None:
        """Nothing was found at that capacity, with this round's patience."""
        self._failed = at
