"""Folds orders into groups that repeat: a cascade runs the same steps of the same nodes in each iteration."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kibi.errors import InternalError
from kibi.planner import Run

_LONGEST_PERIOD = 512
"""The longest iteration in steps. The search time grows with it; cascades of networks with five strides of two have about 200."""
_MOST_STRETCHES, _MOST_STARTS = 12, 16
"""The number of repeating stretches that each search tries, and of places within each where an iteration may begin."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Neighbouring steps of one node; each iteration of the group runs later ones.

    Attributes:
        node: index in the graph's nodes.
        first: the first step in the group's first iteration. Steps below 0 or after the node's last are left out: so a cascade
            fills and drains.
        steps: number of steps in each iteration.
        further: number of steps by which `first` grows with each iteration; 0 if there is only one.
    """

    node: int
    first: int
    steps: int
    further: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Entries that run one after another, repeated for `turns` iterations."""

    entries: tuple[Entry, ...]
    turns: int


def fold(runs: Sequence[Run], steps: Sequence[int]) -> tuple[Group, ...]:
    """Returns the order as groups: takes the repetition that saves the most entries, then continues left and right of it.

    Args:
        runs: an order in which each node's steps ascend from 0 without a gap.
        steps: the number of steps of each node.
    """
    story = _Story(runs, steps)
    open_parts, found = [(0, len(story.nodes))], []
    while open_parts:
        begin, end = open_parts.pop()
        best = story.best(begin, end)
        if best is not None:
            found.append(best)
            open_parts += [(begin, best.begin), (best.end, end)]
        elif begin < end:
            found.append(_Found(begin, end, Group(story.entries(begin, end), 1)))
    groups = tuple(each.group for each in sorted(found, key=lambda each: each.begin))
    if list(unfold(groups, steps)) != [(run.node, run.first_step + k) for run in runs for k in range(run.steps)]:
        raise InternalError("an order changed when it was folded")
    return groups


def unfold(groups: Sequence[Group], steps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields every step in order, as (node, its number among the node's steps), like the generated driver."""
    for group in groups:
        for turn in range(group.turns):
            for entry in group.entries:
                first = entry.first + turn * entry.further
                for step in range(max(first, 0), min(first + entry.steps, steps[entry.node])):
                    yield entry.node, step


@dataclass(frozen=True, slots=True)
class _Found:
    """A group, and the half-open range of the order's steps that it replaces."""

    begin: int
    end: int
    group: Group


class _Story:
    """The order step by step, with the queries of the search."""

    def __init__(self, runs: Sequence[Run], steps: Sequence[int]) -> None:
        rows = [run.steps for run in runs]
        self.steps = steps
        self.nodes = np.repeat([run.node for run in runs], rows)
        self.numbers = [run.first_step + k for run in runs for k in range(run.steps)]
        self.is_start = np.append(True, self.nodes[1:] != self.nodes[:-1])

    def entries(self, begin: int, end: int) -> tuple[Entry, ...]:
        """Returns a stretch of the order as entries, without repetition."""
        starts = [begin, *(begin + 1 + np.flatnonzero(self.is_start[begin + 1 : end])).tolist()]
        return tuple(
            Entry(int(self.nodes[at]), self.numbers[at], following - at)
            for at, following in zip(starts, [*starts[1:], end], strict=True)
        )

    def best(self, begin: int, end: int) -> _Found | None:
        """Returns the group within a stretch that saves the most entries; among equal ones, the first found."""
        best, most = None, 0
        for start, period in self._blocks(begin, end):
            found = self._extended(start, period, begin, end)
            mark = 1  # the entry with the number of iterations
            saved = len(self.entries(found.begin, found.end)) - len(found.group.entries) - mark
            if found.group.turns > 1 and saved > most:
                best, most = found, saved
            if best is not None and (best.begin, best.end) == (begin, end):
                break
        return best

    def _blocks(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields starts and lengths, in steps, of blocks that may repeat; those with the longest repetition first."""
        ranked = sorted(self._periodic(begin, end), key=lambda found: found[0] - found[1])
        for first, _, period in ranked[:_MOST_STRETCHES]:
            inside = first + 1 + np.flatnonzero(self.is_start[first + 1 : first + period])
            starts = [first, *inside.tolist()]
            starts.sort(key=lambda start: int(self.nodes[start]))  # most iterations begin with the first node
            yield from ((start, period) for start in starts[:_MOST_STARTS] if start + period <= end)

    def _periodic(self, begin: int, end: int) -> list[tuple[int, int, int]]:
        """Returns the stretches (first, last, period) in which the sequence of nodes repeats at least once."""
        known: list[tuple[int, int, int]] = []
        for period in range(2, min(_LONGEST_PERIOD, (end - begin) // 2) + 1):
            equal = self.nodes[begin : end - period] == self.nodes[begin + period : end]
            borders = begin + np.flatnonzero(np.diff(np.concatenate(([False], equal, [False]))))
            for first, last in zip(borders[::2].tolist(), (borders[1::2] + period).tolist(), strict=True):
                if last - first < 2 * period or not self.is_start[first + 1 : first + period].any():
                    continue
                if not any(period % each == 0 and low <= first and last <= high for low, high, each in known):
                    known.append((first, last, period))
        return known

    def _extended(self, start: int, period: int, begin: int, end: int) -> _Found:
        """Returns the group with the given block as one iteration, extended before and after as long as the order repeats."""
        entries = self.entries(start, start + period)
        total: Counter[int] = Counter()
        for entry in entries:
            total[entry.node] += entry.steps
        moving = tuple(replace(entry, further=total[entry.node]) for entry in entries)
        first, last, low, high = 0, 1, start, start + period
        while (size := self._turn_steps(moving, first - 1)) and self._is_turn(
            moving, first - 1, low - size, begin, low
        ):
            first, low = first - 1, low - size
        while (size := self._turn_steps(moving, last)) and self._is_turn(moving, last, high, high, end):
            last, high = last + 1, high + size
        shifted = tuple(replace(entry, first=entry.first + first * entry.further) for entry in moving)
        return _Found(low, high, Group(shifted, last - first))

    def _span(self, entry: Entry, turn: int) -> range:
        """Returns the steps of an entry in an iteration."""
        first = entry.first + turn * entry.further
        return range(max(first, 0), min(first + entry.steps, self.steps[entry.node]))

    def _turn_steps(self, entries: Sequence[Entry], turn: int) -> int:
        return sum(len(self._span(entry, turn)) for entry in entries)

    def _is_turn(self, entries: Sequence[Entry], turn: int, at: int, begin: int, end: int) -> bool:
        """True if the order has this iteration from place `at` on, between `begin` and `end`."""
        if at < begin:
            return False
        for entry in entries:
            span = self._span(entry, turn)
            if not span:
                continue
            following = at + len(span)
            if following > end or self.numbers[at] != span.start or (self.nodes[at:following] != entry.node).any():
                return False
            at = following
        return True
