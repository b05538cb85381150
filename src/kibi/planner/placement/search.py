"""The order of attack: greedy orders; exact search and sweeps at the lower bound; then between it and the best.

Searches are cut off by the amount of work, not by the clock, so that the same problem gets the same answer on every
machine. Their success is a matter of luck with the strategy: most problems that can be solved at all are easy for some
of them. So there are rounds, each of many short searches, and some with more patience than others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

from kibi.planner.order.better_orders import Greedy, better_orders
from kibi.planner.placement.boxes import Boxes, can_be_boxed
from kibi.planner.placement.first_fit import orders
from kibi.planner.placement.mirror import Mirror, is_better_mirrored
from kibi.planner.placement.native import Native
from kibi.planner.placement.problem import Bytes, PlacementProblem
from kibi.planner.placement.progress import Capacity, Progress, step_bytes
from kibi.planner.placement.strategy import Ending, ItemRule, SectionRule, Strategy
from kibi.planner.placement.sweep import ways

_WORK_PER_SECOND = 150_000_000
"""How much the search gets through on a small desktop core."""
_OVERHEAD = 5000
"""... and what it takes to start one."""
_PATIENCE = 1.5
"""How many times the work of placing all items once a search may take at first."""
_LOOKING = 4
"""How many times that a search may take that looks at the consequences of each choice."""
_MOST_ITEMS = 6000
"""Searches of larger problems would not end, and nest too deeply: better greedy orders are all there is."""
_MANY_ITEMS = 1000
"""From so many items on, better greedy orders are worth a share of the time."""
_SHARE = 0.2
_MUCH_FOR_AN_ORDER, _MOST_GREEDY = 80_000_000, 2_000_000_000
"""Work for one greedy order over which only the first few are tried; and for all, after which no further one is begun."""
_FEW_ORDERS = 4
_FEW_NEIGHBOURS = 1000
"""Where an item lives together with fewer others, the native code looks at these alone: FEW_NEIGHBOURS in first_fit.c."""
_FIRST_ROUNDS = ((0, 2, 64), (2, 5, 256), (5, None, 1024))
"""Which strategies, and the width of sweeps, before luck is tried: most problems are solved here."""
_COARSE = 0.01
"""In these rounds, capacities that differ by less than this share of the lower bound are not told apart."""
_ALL_EVERY, _WINNERS = 16, 2
"""Of so many rounds after them, one is for all strategies and for sweeps; the others for those that succeeded last."""
_MOST_BOXED, _BOXED_WORK = 200_000, 2000
"""Up to so many items, those that fit one another exactly are joined; what that is worth of the work, each."""
_FEWER, _BOXES_SHARE = 0.5, 0.25
"""Boxes are searched where they are fewer than the first share of the items, with the second share of the work."""
_NARROW = 2
"""Width of the sweeps that come before all else where there are many items."""
_WIDTH, _WIDEST = 64, 2048
"""Width of sweeps in the rounds after them, at first and at most."""
_MOST_STEPS = 1 << 20
"""Width times items, which takes memory, at most."""
_SWEEP_NOISE = 16
_LUCKY_WIDTH, _LUCKY_SHARE, _LUCKY_PARTS = 16, 0.5, 8
"""Width of the many narrow sweeps that luck is tried with last, what they may take on top of the search's work, and into how
many parts they divide the gap."""
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


def greedy(problem: PlacementProblem, native: Native, progress: Progress, capacity: int | None) -> list[Greedy]:
    """Try greedy orders until one is good enough.

    Returns:
        What they gave, the best first.
    """
    work = order_work(problem)
    tried: list[Greedy] = []
    for number, order in enumerate(orders(problem)):
        is_enough = number * work > _MOST_GREEDY or (number >= _FEW_ORDERS and work > _MUCH_FOR_AN_ORDER)
        if progress.is_done(capacity) or (tried and is_enough):
            break
        offsets = native.first_fit(order)
        if offsets is not None:
            peak_bytes = problem.peak_bytes(offsets)
            progress.keep(offsets, peak_bytes)
            tried.append(Greedy(order, offsets, peak_bytes))
    return sorted(tried, key=lambda each: each.peak_bytes)


def order_work(problem: PlacementProblem) -> int:
    """About how much work the native code has with one greedy order."""
    near = problem.neighbours
    return int(problem.items * (120 + (10 * near if near < _FEW_NEIGHBOURS else problem.items / 26)))


def refine(
    problem: PlacementProblem,
    native: Native,
    progress: Progress,
    starts: Sequence[Greedy],
    *,
    capacity: int | None,
    seconds: float,
    go_on: Callable[[], bool],
) -> None:
    """Search for better placements, and for proofs that there are none, for about that many seconds.

    Args:
        problem: what to place.
        native: the same, in the native code's hands.
        progress: what is known, brought up to date.
        starts: greedy orders and what they gave, the best first.
        capacity: stop when this is known to be met, or known not to be; None: find the least peak.
        seconds: turned into an amount of work.
        go_on: asked now and then; False ends the search.
    """
    search = _Search(problem, native, progress, capacity, go_on, int(seconds * _WORK_PER_SECOND))
    search.place_boxes(seconds)
    if problem.items > _MANY_ITEMS:
        search.first_round((), _NARROW)
    if problem.items > _MOST_ITEMS:
        search.improve_orders(starts, 1.0)
        return
    if capacity is None:
        for begin, end, width in _FIRST_ROUNDS:
            search.first_round(_STRATEGIES[begin:end], width)
    if problem.items > _MANY_ITEMS:
        search.improve_orders(starts, _SHARE)
    for number in count(1):
        if search.is_over:
            break
        search.full_round(number)
    if capacity is None:
        search.lucky_sweeps(int(seconds * _WORK_PER_SECOND * _LUCKY_SHARE))


class _Search:
    """A search, with the work that is left for it."""

    def __init__(
        self,
        problem: PlacementProblem,
        native: Native,
        progress: Progress,
        capacity: int | None,
        go_on: Callable[[], bool],
        left: int,
    ) -> None:
        self._problem = problem
        self._native = native
        self._progress = progress
        self._capacity = capacity
        self._go_on = go_on
        self._left = left
        self._winners: tuple[Strategy, ...] = ()
        self._ways = ways(problem, native)
        self._exact = Mirror(problem, native) if is_better_mirrored(problem) else native

    @property
    def is_over(self) -> bool:
        """True if there is nothing left to find out, or no work left to do it."""
        return self._left <= 0 or self._progress.is_done(self._capacity) or not self._go_on()

    def improve_orders(self, starts: Sequence[Greedy], share: float) -> None:
        """Look for better greedy orders, with a share of the work that is left."""
        problem = self._problem
        keep = self._left - int(self._left * share)
        turn = order_work(problem)
        for offsets in better_orders(problem, self._native.first_fit, starts):
            self._progress.keep(offsets, problem.peak_bytes(offsets))
            self._left -= turn
            if self._left <= keep or self.is_over:
                return

    def place_boxes(self, seconds: float) -> None:
        """Place boxes of items that fit one another exactly, where they are much fewer."""
        if self.is_over or self._problem.items > _MOST_BOXED or not can_be_boxed(self._problem):
            return
        boxes = Boxes.of(self._problem)
        self._left -= self._problem.items * _BOXED_WORK
        if len(boxes.stacks) > self._problem.items * _FEWER:
            return
        problem = PlacementProblem.of(boxes.items(int(self._problem.alignments.max())))
        native, progress = Native(problem), Progress(None, self._progress.peak_bytes, self._progress.lower_bound_bytes)
        starts = greedy(problem, native, progress, self._capacity)
        if not progress.is_done(self._capacity):
            share = seconds * _BOXES_SHARE
            refine(problem, native, progress, starts, capacity=self._capacity, seconds=share, go_on=self._go_on)
            self._left -= int(share * _WORK_PER_SECOND)
        if progress.offsets is not None:
            offsets = boxes.expanded(progress.offsets.tolist(), self._problem.items)
            self._progress.keep(offsets, self._problem.peak_bytes(offsets))

    def first_round(self, strategies: Sequence[Strategy], width: int) -> None:
        """Search at the lowest capacity, and sweep at a few."""
        target = Capacity(self._problem, self._progress, self._capacity, coarse=_COARSE)
        if (at := target.bytes) is not None and self._search_at(at, strategies, 1, 0):
            return
        while (at := target.bytes) is not None and not self.is_over:
            if not self._sweep_at(at, width, 0):
                target.give_up(at)

    def lucky_sweeps(self, work: int) -> None:
        """Many narrow sweeps at capacities all over the gap, on top of the work that the search may take.

        One in about a hundred finds something where exact search is stuck, at a hundredth of its cost.
        """
        self._left = work
        for seed in count(1):
            if self.is_over:
                break
            for part in range(1, _LUCKY_PARTS):
                gap = self._progress.peak_bytes - self._progress.lower_bound_bytes
                at = self._progress.peak_bytes - max(gap * part // _LUCKY_PARTS, 1)
                self._sweep_at(at - at % step_bytes(self._problem), _LUCKY_WIDTH, seed)

    def full_round(self, number: int) -> None:
        """Search and sweep at capacities half way between what failed and what is known, until these meet.

        Most rounds are for the strategies that found something last, above the lowest capacity.
        """
        luck = _luby(number)
        is_lean = bool(self._winners) and number % _ALL_EVERY != 1
        strategies = self._winners if is_lean else _STRATEGIES
        target = Capacity(self._problem, self._progress, self._capacity, is_above=is_lean)
        while (at := target.bytes) is not None and not self.is_over:
            found = self._search_at(at, strategies, luck, number)
            if not found and not is_lean:
                found = self._sweep_at(at, min(_WIDEST, _WIDTH * luck), number)
            if not found:
                target.give_up(at)

    def _sweep_at(self, at: int, width: int, seed: int) -> bool:
        """True if a sweep, in one of some ways, finds a placement within a capacity."""
        width = max(1, min(width, _MOST_STEPS // self._problem.items))
        for way in self._ways:
            if self.is_over:
                return False
            how = replace(way.sweep, width=width, noise=_SWEEP_NOISE, seed=seed)
            if self._learn(way.native.search(how, at, self._left, self._go_on), at) is Ending.FOUND:
                return True
        return False

    def _search_at(self, at: int, strategies: Sequence[Strategy], luck: int, seed: int) -> bool:
        """True if exact search, by some strategy, finds a placement within a capacity, or proves that none exists."""
        for strategy in strategies:
            if self.is_over:
                return False
            how = replace(strategy, noise=_NOISE if seed > 1 else 0.0, seed=seed)
            limit = min(self._left, _limit(self._problem, how, _PATIENCE * luck))
            ending = self._learn(self._exact.search(how, at, limit, self._go_on), at)
            if ending is Ending.IMPOSSIBLE:
                return self._problem.is_exact
            if ending is Ending.FOUND:
                self._winners = (strategy, *(each for each in self._winners if each != strategy))[:_WINNERS]
                return True
        return False

    def _learn(self, result: tuple[Ending, Bytes, int], at: int) -> Ending:
        """Take in the result of a search within a capacity."""
        ending, offsets, work = result
        self._left -= work + _OVERHEAD
        if ending is Ending.FOUND:
            self._progress.keep(offsets, self._problem.peak_bytes(offsets))
        elif ending is Ending.IMPOSSIBLE and self._problem.is_exact:
            self._progress.lower_bound_bytes = at + step_bytes(self._problem)
        return ending


def _luby(number: int) -> int:
    """The sequence 1 1 2 1 1 2 4 …, from 1 on, which is within a constant factor of the best one for any search by luck.

    Luby, Sinclair, Zuckerman: Optimal speedup of Las Vegas algorithms, 1993.
    """
    while (number + 1) & number:
        number -= (1 << (number.bit_length() - 1)) - 1
    return (number + 1) // 2


def _limit(problem: PlacementProblem, strategy: Strategy, patience: float) -> int:
    # Less than what it takes to start a search would be a saving of nothing.
    work = int(max(int(problem.spans.sum()) * problem.items, _OVERHEAD) * patience)
    return work * (_LOOKING if strategy.item_rule >= ItemRule.LOOK_STRICT else 1)
