"""The search for an assignment to regions: greedy orders, exchanges, then branch and bound, with proof where it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kibi.planner.regions.bound import relax
from kibi.planner.regions.branches import Branches
from kibi.planner.regions.problem import Fits, RegionProblem, members_of

_SHARES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5)
"""Greedy orders fill regions up to these parts of their capacities, until one can be placed."""
_MOST_BRANCHED_UNITS = 3_000
_PLACEMENTS = 600
_TRIES = 2_000
_NEIGHBOURS = 150
"""Units that exchanges look at on each side."""

_Change = tuple[tuple[int, int], ...]
"""Units, and the regions to which they move."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The result of the search.

    Attributes:
        regions: the region of each unit; None where none was found.
        bound: no assignment that fits has a lower cost.
        is_proven: true if the search ended by itself: the cost is the least, or there is no assignment that fits.
    """

    regions: tuple[int, ...] | None
    bound: int
    is_proven: bool


def search(problem: RegionProblem, fits: Fits) -> Assignment:
    """The assignment of the least cost, or the best one that a limited amount of work finds.

    Args:
        problem: what to assign.
        fits: what is known of the problem's placements; it learns more.
    """
    if not all(problem.allowed):
        return Assignment(None, 0, is_proven=True)
    best = greedy(problem, fits)
    if best is None:
        numbers = range(len(problem.regions))
        best = next((each for at in numbers if (each := filled_last(problem, fits, at)) is not None), None)
    if best is not None:
        best = exchanged(problem, fits, best)
    relaxation = relax(problem, None if best is None else problem.cost(best))
    if best is not None and problem.cost(best) <= relaxation.bound:
        return Assignment(best, problem.cost(best), is_proven=True)
    if len(problem.units) > _MOST_BRANCHED_UNITS:
        return Assignment(best, relaxation.bound, is_proven=False)
    branches = Branches(problem, fits, relaxation, best)
    branches.run()
    found = branches.best
    bound = max(relaxation.bound, branches.first_bound)
    if found is None:
        return Assignment(None, bound, is_proven=branches.is_complete and branches.open_bound is None)
    if not branches.is_complete:
        found = exchanged(problem, fits, found)
    cost = problem.cost(found)
    bound = min(cost, max(bound, branches.lower_bound(cost)) if branches.is_complete else bound)
    return Assignment(found, bound, is_proven=bound == cost)


def filled_last(problem: RegionProblem, fits: Fits, region: int) -> tuple[int, ...] | None:
    """An assignment in which a region takes what finds no room in all others, whatever it costs."""
    regions = tuple(replace(each, cost=float(number == region)) for number, each in enumerate(problem.regions))
    return greedy(replace(problem, regions=regions), fits, spared=region)


def greedy(problem: RegionProblem, fits: Fits, *, spared: int | None = None) -> tuple[int, ...] | None:
    """The cheapest of some orders in which each unit takes the cheapest region that still has room.

    Args:
        problem: what to assign; each unit has at least one region that may hold it.
        fits: what is known of its placements; costs do not matter for that.
        spared: a region that is always filled up to its capacity.
    """
    gains = [
        unit.accessed_bytes * (problem.prices[allowed[-1]] - problem.prices[allowed[0]])
        for unit, allowed in zip(problem.units, problem.allowed, strict=True)
    ]
    sizes = [unit.size_bytes for unit in problem.units]
    numbers = range(len(problem.units))
    orders = (
        sorted(numbers, key=lambda number: (-gains[number] / max(1, sizes[number]), number)),
        sorted(numbers, key=lambda number: (-gains[number], number)),
        sorted(numbers, key=lambda number: (-sizes[number], number)),
        sorted(numbers, key=lambda number: (len(problem.allowed[number]), -sizes[number], number)),
        sorted(numbers, key=lambda number: (problem.units[number].weight is not None, -sizes[number], number)),
    )
    together = [each for at in range(len(problem.regions)) if (each := _together(problem, orders[0], at)) is not None]
    whole = [each for each in together if is_placed(problem, fits, each)]
    for share in _SHARES:
        found = [each for order in orders if (each := _filled(problem, order, share, spared)) is not None]
        placed = [each for each in found if is_placed(problem, fits, each)]
        if placed:
            return min([*placed, *whole], key=problem.cost)
    return min(whole, key=problem.cost, default=None)


def _together(problem: RegionProblem, order: Sequence[int], region: int) -> tuple[int, ...] | None:
    """All buffers in one region, constants in the cheapest that has room beside them; None where they find no room."""
    room = [each.size_bytes for each in problem.regions]
    room[region] -= -(-problem.packed.peak_bytes // problem.alignment_bytes) * problem.alignment_bytes
    assigned = [region] * len(problem.units)
    for number in order:
        unit, allowed = problem.units[number], problem.allowed[number]
        if unit.weight is None:
            if region not in allowed:
                return None
            continue
        at = next((each for each in allowed if unit.size_bytes <= room[each]), None)
        if at is None:
            return None
        assigned[number] = at
        room[at] -= unit.size_bytes
    return tuple(assigned)


def _filled(problem: RegionProblem, order: Sequence[int], share: float, spared: int | None) -> tuple[int, ...] | None:
    """Each unit in the cheapest region that has room for its profile; None where one finds no room."""
    levels = np.zeros((len(problem.regions), problem.profiles.shape[1]), np.int64)
    assigned = [0] * len(problem.units)
    for number in order:
        for at in problem.allowed[number]:
            level = levels[at] + problem.profiles[number]
            if int(level.max()) <= (1.0 if at == spared else share) * problem.capacities[at]:
                levels[at], assigned[number] = level, at
                break
        else:
            return None
    return tuple(assigned)


def is_placed(problem: RegionProblem, fits: Fits, assigned: Sequence[int]) -> bool:
    """True if a placement was found for every region."""
    return all(fits.holds(at, members_of(assigned, at)) for at in range(len(problem.regions)))


def exchanged(problem: RegionProblem, fits: Fits, assigned: tuple[int, ...]) -> tuple[int, ...]:
    """A cheaper assignment by moving units to cheaper regions, alone or while another makes room; or the same one."""
    tries, placements = _TRIES, fits.placements + _PLACEMENTS
    while tries > 0 and fits.placements < placements:
        for change in _changes(problem, assigned):
            tries -= 1
            other = list(assigned)
            touched = set()
            for number, at in change:
                touched |= {assigned[number], at}
                other[number] = at
            if all(fits.holds(at, members_of(other, at)) for at in sorted(touched)):
                assigned = tuple(other)
                break
            if tries <= 0 or fits.placements >= placements:
                return assigned
        else:
            return assigned
    return assigned


def _changes(problem: RegionProblem, assigned: Sequence[int]) -> Iterator[_Change]:
    """Yields the changes that would be cheaper, the greatest gain first."""
    moves: list[tuple[int, int, int]] = []  # gain, unit, region
    for number, allowed in enumerate(problem.allowed):
        now, accessed = problem.prices[assigned[number]], problem.units[number].accessed_bytes
        moves += [((now - problem.prices[at]) * accessed, number, at) for at in allowed if at != assigned[number]]
    moves.sort(key=lambda move: (-move[0], move[1:]))
    gaining = [move for move in moves if move[0] > 0][:_NEIGHBOURS]
    losing = [move for move in moves if move[0] <= 0][:_NEIGHBOURS]
    found: list[tuple[int, _Change]] = [(gain, ((number, at),)) for gain, number, at in gaining]
    for gain, number, at in gaining:
        for loss, other, to in losing:
            if gain + loss > 0 and other != number and assigned[other] == at:
                found.append((gain + loss, ((number, at), (other, to))))
    found.sort(key=lambda each: (-each[0], each[1]))
    yield from (change for _, change in found)
