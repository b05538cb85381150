"""Items that fit one another exactly become boxes: the fewer there are, the better they are placed by search.

Two items of one lifetime may be stacked. Of two items of one size, one may take over the bytes of the other, if its life begins
when the other one's ends. A packing without a free byte consists of such pairs, pairs of pairs, and so on. Which items belong
together is guessed from sizes and lifetimes alone, the smallest first. Where no stack fits another one as a whole, a part of one
may.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TypeAlias

import numpy as np

from kibi.planner.placement.items import Item
from kibi.planner.placement.problem import Bytes, PlacementProblem

_MOST_PARTS = 12
"""Items in a stack, parts of which are compared with others."""
_MOST_STACKS = 2000
"""Stacks of which parts are compared."""
_MOST_FITTING = 16
"""Stacks of one size among which the best one is looked for."""
_MOST_COMPARED = 4_000_000
"""Parts of stacks that are compared with others, in all."""

_Life: TypeAlias = tuple[int, int]
_Part: TypeAlias = tuple[_Life, list[int]]


def can_be_boxed(problem: PlacementProblem) -> bool:
    """True if items are whole all their life, anywhere in memory, apart from one another, and aligned wherever they are stacked."""
    is_free = bool((problem.lowest == 0).all()) and bool((problem.highest > problem.lowest).all())
    is_plain = len(problem.first) == problem.items and not len(problem.rule_above)
    return is_free and is_plain and not np.any(problem.sizes % problem.alignments.max(initial=1))


@dataclass(slots=True)
class Boxes:
    """The boxes of a problem; those of one lifetime are one stack.

    Attributes:
        sizes: bytes of each box; the first ones are the problem's items.
        sides: the boxes of the first and of the second half of a box's life, each stacked; None for an item.
        stacks: by lifetime, in sections.
    """

    sizes: list[int]
    sides: list[tuple[list[int], list[int]] | None]
    stacks: dict[_Life, list[int]] = field(default_factory=dict)
    _totals: dict[_Life, int] = field(default_factory=dict)
    _begins: defaultdict[tuple[int, int], dict[_Life, None]] = field(default_factory=lambda: defaultdict(dict))
    _ends: defaultdict[tuple[int, int], dict[_Life, None]] = field(default_factory=lambda: defaultdict(dict))
    _heap: list[tuple[int, _Life]] = field(default_factory=list)
    _compared: int = 0

    @staticmethod
    def of(problem: PlacementProblem) -> "Boxes":
        """The boxes of a problem that `can_be_boxed`."""
        made = Boxes(problem.sizes.tolist(), [None] * problem.items)
        for item, life in enumerate(zip(problem.first.tolist(), problem.last.tolist(), strict=True)):
            made._change(life, [item], [])
        made._join_stacks()
        while made._join_parts():
            made._join_stacks()
        return made

    def items(self, alignment: int) -> list[Item]:
        """The stacks, as items to place."""
        return [Item(*life, self._totals[life], alignment) for life in self.stacks]

    def expanded(self, offsets: Sequence[int], items: int) -> Bytes:
        """Returns the offset of each of so many items, from those of the stacks."""
        found = np.zeros(len(self.sizes), np.int64)
        todo = list(zip(offsets, self.stacks.values(), strict=True))
        while todo:
            offset, stack = todo.pop()
            for box in stack:
                found[box] = offset
                todo += [(offset, side) for side in self.sides[box] or ()]
                offset += self.sizes[box]
        return found[:items]

    def _change(self, life: _Life, more: Sequence[int], less: Sequence[int]) -> None:
        """Adds boxes to a stack, and takes some away."""
        before = self._totals.pop(life, 0)
        self._begins[life[0], before].pop(life, None)
        self._ends[life[1], before].pop(life, None)
        stack = self.stacks.pop(life, [])
        if less:
            stack = [] if len(less) == len(stack) else [box for box in stack if box not in less]
        stack += more
        if stack:
            total = before + sum(self.sizes[box] for box in more) - sum(self.sizes[box] for box in less)
            self.stacks[life], self._totals[life] = stack, total
            self._begins[life[0], total][life] = None
            self._ends[life[1], total][life] = None
            heappush(self._heap, (self._area(life), life))

    def _area(self, life: _Life) -> int:
        return self._totals[life] * (life[1] - life[0])

    def _join(self, first: _Part, second: _Part) -> None:
        """Makes a box of two parts of stacks, as large as one another, the second of which takes over the bytes of the first."""
        (begin, _), (_, end) = first[0], second[0]
        for life, part in (first, second):
            self._change(life, (), part)
        self.sizes.append(sum(self.sizes[box] for box in first[1]))
        self.sides.append((first[1], second[1]))
        self._change((begin, end), (len(self.sizes) - 1,), ())

    def _join_stacks(self) -> None:
        """Joins stacks of one size as long as there are some, the smallest first; those that several others fit come last."""
        later: dict[_Life, None] = {}
        while self._heap or later:
            is_last = not self._heap
            if is_last:
                self._heap = [(self._area(life), life) for life in later if life in self.stacks]
                heapify(self._heap)
                later = dict.fromkeys(life for _, life in self._heap)
                if not self._heap:
                    return
            area, life = heappop(self._heap)
            if is_last:
                self._heap.clear()
                later.pop(life, None)
            if life not in self.stacks or area != self._area(life):
                continue
            pairs = list(islice(self._fitting(life), _MOST_FITTING))
            if len(pairs) > 1 and not is_last:
                later[life] = None
            elif pairs:
                first, second = min(pairs, key=lambda pair: (pair[1][1] - pair[0][0], pair))
                self._join((first, self.stacks[first]), (second, self.stacks[second]))

    def _fitting(self, life: _Life) -> Iterator[tuple[_Life, _Life]]:
        """The stacks that are as large and live right before or after, in pairs."""
        total = self._totals[life]
        yield from ((other, life) for other in self._ends.get((life[0], total), ()))
        yield from ((life, other) for other in self._begins.get((life[1], total), ()))

    def _join_parts(self) -> bool:
        """Joins the smallest parts of two stacks that fit each other; False if there are none."""
        if len(self.stacks) > _MOST_STACKS or self._compared > _MOST_COMPARED:
            return False
        ending: dict[tuple[int, int], list[_Part]] = {}
        for life in self.stacks:
            for part, size in self._parts(life):
                ending.setdefault((life[1], size), []).append((life, part))
        found: tuple[tuple[int, int, _Life, _Life], _Part, _Part] | None = None
        for life in self.stacks:
            for part, size in self._parts(life):
                others = ending.get((life[0], size), ())
                self._compared += 1 + len(others)
                for other, of_other in others:
                    split = (len(part) < len(self.stacks[life])) + (len(of_other) < len(self.stacks[other]))
                    rank = (split, size * (life[1] - other[0]), other, life)
                    if found is None or rank < found[0]:
                        found = rank, (other, of_other), (life, part)
        if found is not None:
            self._join(*found[1:])
        return found is not None

    def _parts(self, life: _Life) -> Iterator[tuple[list[int], int]]:
        """A stack, each box of it, all but one, and each two; with their bytes."""
        stack, total = self.stacks[life], self._totals[life]
        yield list(stack), total
        if 1 < len(stack) <= _MOST_PARTS:
            for place, box in enumerate(stack):
                yield [box], self.sizes[box]
                yield [each for each in stack if each != box], total - self.sizes[box]
                yield from (([other, box], self.sizes[other] + self.sizes[box]) for other in stack[:place])
