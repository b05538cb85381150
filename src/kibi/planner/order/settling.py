"""Orders of row steps in which fewer bytes live near the peak: rows are easier to place then, and scratch finds more room.

Many orders have the same peak. Each step moves to the place at which the fewest bytes live near the peak: a step that leaves
less than it finds runs earlier, one that leaves more is put off. The work is limited by counts, so that the same graph gets
the same order on every machine.
"""

from collections.abc import Callable, Sequence

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
            for move in (settling.earlier, settling.later):
                moved = move(settling.order.index(step)) or moved
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
        self._done = [0] * len(self.order)
        self._live = [problem.first_bytes] * len(self.order)
        self._count_from(0, len(self.order))
        self._most = max(map(self._level, range(len(self.order))), default=0)
        self._floor = int(self._most * _NEAR)

    def earlier(self, place: int) -> bool:
        """Moves the step at a place before others where that is better; True if it does."""
        step, problem = self.order[place], self._problem
        kept, before = problem.kept_bytes[step], problem.before[step]

        def passed(other: int) -> int | None:
            if before >> self.order[other] & 1:
                return None
            return self._level(other) + kept - self._freed(step, self._done[other])

        def alone(other: int) -> int:
            return self._live[other] + problem.need_bytes[step]

        return self._move(place, range(place - 1, max(-1, place - 1 - _FARTHEST), -1), passed, alone)

    def later(self, place: int) -> bool:
        """Moves the step at a place after others where that is better; True if it does."""
        step, problem = self.order[place], self._problem
        kept, after = problem.kept_bytes[step], problem.after[step]

        def passed(other: int) -> int | None:
            if after >> self.order[other] & 1:
                return None
            return self._level(other) - kept + self._freed(step, self._done[other])

        def alone(other: int) -> int:
            done = self._done[other] | 1 << self.order[other]
            _, live = problem.run(self._done[other], self._live[other], self.order[other])
            return live - kept + self._freed(step, done) + problem.need_bytes[step]

        return self._move(place, range(place + 1, min(len(self.order), place + 1 + _FARTHEST)), passed, alone)

    def _move(
        self, place: int, others: range, passed: Callable[[int], int | None], alone: Callable[[int], int]
    ) -> bool:
        """Moves the step at a place to that of another one where the fewest bytes live near the peak then.

        Args:
            place: of the step.
            others: the places that it may pass, one after another.
            passed: the bytes that live while the step at a place runs once this one has passed it; None: it must not.
            alone: the bytes that live while this one runs once it has passed a place.
        """
        change, best, target = -self._cost(self._level(place)), 0, place
        for other in others:
            self.weighed += 1
            level = passed(other)
            if level is None or level > self._most:
                break
            change += self._cost(level) - self._cost(self._level(other))
            own = alone(other)
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

    def _freed(self, step: int, done: int) -> int:
        """The bytes that nobody reads any more once a set of steps, and this one, have run."""
        left = ~(done | 1 << step)
        return sum(size for size, users in self._problem.reads[step] if not users & left)

    def _count_from(self, begin: int, end: int) -> None:
        """Brings what has run, and what lives, before the places from `begin` up to `end` up to date."""
        for place in range(max(begin, 1), end):
            step, done = self.order[place - 1], self._done[place - 1]
            _, self._live[place] = self._problem.run(done, self._live[place - 1], step)
            self._done[place] = done | 1 << step
