"""Orders of row steps in which fewer bytes live near the peak: rows are easier to place then, and scratch finds more room.

Many orders have the same peak. Each step moves to the place at which the fewest bytes live near the peak: a step that leaves
less than it finds runs earlier, one that leaves more is put off. The work is limited by counts, so that the same graph gets
the same order on every machine.
"""

from collections.abc import Sequence

from kibi.planner.order.precedence import Precedence

_NEAR = 0.93
"""What lives above this part of the peak counts, by its square: a step at the peak is worse than two farther from it."""
_WORK = 60_000
"""How many steps are weighed that another one may pass."""
_FARTHEST = 64
"""The most steps that one passes in a move."""


def settled(problem: Precedence, order: Sequence[int], effort: int = 1) -> tuple[int, ...]:
    """Returns an order with no higher peak and fewer bytes near it, or the same one.

    Args:
        problem: the steps, as `row_precedence` numbers them.
        order: an order of them.
        effort: how many times the usual work may be done.
    """
    settling, moved = _Settling(problem, order), True
    while moved:
        moved = False
        for step in tuple(settling.order):
            for way in (-1, 1):
                moved = settling.move(settling.order.index(step), way) or moved
                if settling.weighed > effort * _WORK:
                    return tuple(settling.order)
    return tuple(settling.order)


class _Settling:
    """An order whose steps move.

    Attributes:
        order: the steps.
        weighed: how many steps have been weighed.
    """

    def __init__(self, problem: Precedence, order: Sequence[int]) -> None:
        self.order = list(order)
        self.weighed = 0
        self._problem = problem
        # Before each place, and after the last one.
        self._done = [0] * (len(self.order) + 1)
        self._live = [problem.first_bytes] * (len(self.order) + 1)
        self._count_from(0, len(self.order) + 1)
        self._most = max(map(self._level, range(len(self.order))), default=0)
        self._floor = int(self._most * _NEAR)

    def move(self, place: int, way: int) -> bool:
        """Moves the step at a place to that of another one where the fewest bytes live near the peak then; True if it does.

        Args:
            place: of the step.
            way: -1 before the steps that it passes, 1 after them.
        """
        step, problem = self.order[place], self._problem
        fixed = problem.before[step] if way < 0 else problem.after[step]
        change, best, target = -self._cost(self._level(place)), 0, place
        for other in range(place + way, place + way * (_FARTHEST + 1), way):
            if not 0 <= other < len(self.order):
                break
            self.weighed += 1
            if fixed >> self.order[other] & 1:
                break
            level = self._level(other) - way * self._left(step, other)
            if level > self._most:
                break
            change += self._cost(level) - self._cost(self._level(other))
            own = problem.need_bytes[step]
            own += self._live[other] if way < 0 else self._live[other + 1] - self._left(step, other + 1)
            if own <= self._most and change + self._cost(own) < best:
                best, target = change + self._cost(own), other
        self.order.insert(target, self.order.pop(place))
        self._count_from(min(place, target), max(place, target) + 1)
        return target != place

    def _level(self, place: int) -> int:
        """The bytes that live while the step at a place runs."""
        return self._live[place] + self._problem.need_bytes[self.order[place]]

    def _cost(self, level: int) -> int:
        return max(0, level - self._floor) ** 2

    def _left(self, step: int, place: int) -> int:
        """The bytes that a step leaves, less those that it frees, if it and all steps before a place have run."""
        others = ~(self._done[place] | 1 << step)
        return self._problem.kept_bytes[step] - sum(
            size for size, users in self._problem.reads[step] if not users & others
        )

    def _count_from(self, begin: int, end: int) -> None:
        """Brings what has run, and what lives, before the places from `begin` up to `end` up to date."""
        for place in range(max(begin, 1), end):
            step, done = self.order[place - 1], self._done[place - 1]
            _, self._live[place] = self._problem.run(done, self._live[place - 1], step)
            self._done[place] = done | 1 << step
