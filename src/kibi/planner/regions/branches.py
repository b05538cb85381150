"""Branch and bound over assignments to regions: all that may be better than the best one, the most promising first."""

from collections.abc import Iterator
from math import ceil, isfinite

import numpy as np

from kibi.planner.placement.placing import Status
from kibi.planner.regions.bound import Relaxation, unrelaxed
from kibi.planner.regions.problem import Fits, Halves, RegionProblem, bits
from kibi.planner.regions.prospects import Prospects, prospects

_BRANCHES = 60_000
_PLACEMENTS = 600


class Branches:
    """Depth-first search through all assignments that may be better than the best one.

    Attributes:
        best: the best assignment.
        first_bound: no assignment that fits has a lower cost, as known before the search.
        is_complete: true if nothing was left out for want of work.
        open_bound: the least cost of what was left out because no placement was found nor excluded; None: nothing was.
    """

    def __init__(
        self, problem: RegionProblem, fits: Fits, relaxation: Relaxation, best: tuple[int, ...] | None
    ) -> None:
        self.problem, self.fits, self.best = problem, fits, best
        self.best_cost = None if best is None else problem.cost(best)
        self.is_complete = True
        self.open_bound: int | None = None
        self.work, self.placements = _BRANCHES, fits.placements + _PLACEMENTS
        has_weights = any(unit.weight is not None for unit in problem.units)
        # Where units compete only while they live, their states say all that prices for capacities would.
        self.relaxation = relaxation if has_weights else unrelaxed(problem)
        self.prospects = prospects(problem, self.relaxation.reduced)
        if self.prospects is None:
            self.relaxation = relaxation
        least = self.relaxation.reduced.min(axis=1)
        self.order = _order(problem, self.relaxation, self.prospects)
        self.rest = [float(least[list(self.order[depth:])].sum()) for depth in range(len(self.order) + 1)]
        self.assigned = [0] * len(problem.units)
        self.members = [0] * len(problem.regions)
        self.excluded: list[list[tuple[int, bool]]] = [[] for _ in problem.regions]
        first = self._bound(0, 0.0)
        self.first_bound = 0 if first is None else first

    def run(self) -> None:
        """Search until all is decided or the work is done."""
        levels = [np.zeros_like(self.problem.shared_later) for _ in self.problem.regions]
        spent = [0.0]
        stack = [iter(self._choices(0, 0.0, levels))]
        undo: list[tuple[int, int, Halves]] = []
        while stack:
            unit = self.order[len(stack) - 1]
            choice = self._next(stack[-1], unit)
            if self.work < 0 or self.fits.placements > self.placements:
                self.is_complete = False
                return
            if choice is not None:
                at, level = choice
                undo.append((at, self.members[at], levels[at]))
                self.members[at], levels[at], self.assigned[unit] = self.members[at] | 1 << unit, level, at
                spent.append(spent[-1] + float(self.relaxation.reduced[unit, at]))
                if len(stack) < len(self.order):
                    stack.append(iter(self._choices(len(stack), spent[-1], levels)))
                    continue
                self._arrive()
            else:
                stack.pop()
            if undo:
                spent.pop()
                at, self.members[at], levels[at] = undo.pop()

    def lower_bound(self, cost: int) -> int:
        """The least cost of all assignments that fit, after a complete search whose best has this cost."""
        return cost if self.open_bound is None else min(cost, self.open_bound)

    def _bound(self, depth: int, spent: float) -> int | None:
        """Returns the least cost of an assignment whose first units are assigned as they are now; None: none fits."""
        to_come = self.rest[depth]
        if self.prospects is not None and depth <= len(self.prospects.order):
            constants = self.rest[len(self.prospects.order)]
            to_come = self.prospects.to_come(depth, self.assigned) + constants
        value = spent + to_come - self.relaxation.refund - self.relaxation.slack
        return max(0, ceil(value)) if isfinite(value) else None

    def _next(self, choices: Iterator[tuple[int, int, Halves]], unit: int) -> tuple[int, Halves] | None:
        """The next choice for a unit that may lead to something better: its region, and what that takes then."""
        for bound, at, level in choices:
            self.work -= 1
            if self.best_cost is not None and bound >= self.best_cost:
                return None
            if not self._is_excluded(at, self.members[at] | 1 << unit, bound):
                return at, level
        return None

    def _choices(self, depth: int, spent: float, levels: list[Halves]) -> list[tuple[int, int, Halves]]:
        """The regions that the next unit may go to, the most promising first, with the bound and what each takes then."""
        unit = self.order[depth]
        found = []
        for at in self.problem.allowed[unit]:
            level = levels[at] + self.problem.profiles[unit]
            if int((level + self.problem.shared_later).max()) <= self.problem.capacities[at]:
                self.assigned[unit] = at
                bound = self._bound(depth + 1, spent + float(self.relaxation.reduced[unit, at]))
                if bound is not None:
                    found.append((bound, at, level))
        return sorted(found, key=lambda choice: choice[:2])

    def _is_excluded(self, at: int, members: int, bound: int) -> bool:
        """True if a region holds units that could not be placed there before."""
        for bad, is_proven in self.excluded[at]:
            if bad & members == bad:
                if not is_proven:
                    self._leave_open(bound)
                return True
        return False

    def _arrive(self) -> None:
        """All units are assigned, at a lower bound below the best cost: is it cheaper, and does it fit?"""
        cost = self.problem.cost(self.assigned)
        if self.best_cost is not None and cost >= self.best_cost:
            return
        for at, members in enumerate(self.members):
            if not self.fits.holds(at, members):
                if self.fits.status(at, members) is not Status.INFEASIBLE:
                    self._leave_open(cost)
                self._exclude(at, members)
                return
        self.best, self.best_cost = tuple(self.assigned), cost

    def _exclude(self, at: int, members: int) -> None:
        """Remember what could not be placed in a region, without the units that make no difference to that."""
        is_proven = self.fits.status(at, members) is Status.INFEASIBLE
        failures = (Status.INFEASIBLE,) if is_proven else (Status.INFEASIBLE, Status.UNDECIDED)
        for unit in bits(members):
            fewer = members & ~(1 << unit)
            if self.fits.status(at, fewer) in failures:
                members = fewer
        is_proven = self.fits.status(at, members) is Status.INFEASIBLE
        self.excluded[at].insert(0 if is_proven else len(self.excluded[at]), (members, is_proven))

    def _leave_open(self, bound: int) -> None:
        self.open_bound = bound if self.open_bound is None else min(self.open_bound, bound)


def _order(problem: RegionProblem, relaxation: Relaxation, known: Prospects | None) -> tuple[int, ...]:
    """The order in which units are assigned: as prospects want it; others with the greatest difference in cost first."""
    first = () if known is None else known.order
    spread = {
        number: float(np.ptp(relaxation.reduced[number, list(allowed)]))
        for number, allowed in enumerate(problem.allowed)
    }
    return (*first, *sorted(set(spread) - set(first), key=lambda number: (-spread[number], number)))
