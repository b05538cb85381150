"""Assignment to regions as a problem: what must be assigned, what it costs where, and what fits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd

import numpy as np
from numpy.typing import NDArray

from kibi.planner.placement.items import PairRule
from kibi.planner.placement.placing import Placement, Status, place
from kibi.planner.plan import Buffer
from kibi.planner.regions.file import Region

Halves = NDArray[np.int64]
"""Bytes, counted in halves: where two buffers share bytes, each carries half of what they share."""
_MOST_CELLS = 1 << 22
_PLACE_SECONDS = 0.05
"""About how long one placement may search; an amount of work, as `place` says."""
_MOST_SEARCHES = 80
"""So many placements may search; all others take what greedy orders give."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that goes to one region as a whole: a tensor or a scratch with all its buffers, or a constant.

    Attributes:
        buffers: positions of its buffers; empty for a constant.
        weight: index of the constant's tensor; None for buffers.
        size_bytes: the most bytes of it that live at once; of a constant, with what aligns the next one.
        accessed_bytes: bytes of it that one inference reads and writes.
    """

    buffers: tuple[int, ...]
    weight: int | None
    size_bytes: int
    accessed_bytes: int


@dataclass(frozen=True)
class RegionProblem:
    """Units to be assigned to regions at the least cost.

    Attributes:
        regions: where to.
        units: what.
        packed: all buffers, placed in one region.
        rules: pairs of buffers that may share bytes.
        alignment_bytes: regions start at multiples of it; so do constants in them.
    """

    regions: tuple[Region, ...]
    units: tuple[Unit, ...]
    packed: Placement
    rules: tuple[PairRule, ...]
    alignment_bytes: int

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All buffers."""
        return self.packed.buffers

    @cached_property
    def prices(self) -> tuple[int, ...]:
        """The price of a byte in each region, as whole numbers without a common factor."""
        millionths = [region.cost_millionths for region in self.regions]
        divisor = reduce(gcd, millionths) or 1
        return tuple(each // divisor for each in millionths)

    @cached_property
    def price_unit(self) -> float:
        """The meaning of a price of 1 in the unit of the regions' costs."""
        return (reduce(gcd, (region.cost_millionths for region in self.regions)) or 1) / 1_000_000

    @cached_property
    def allowed(self) -> tuple[tuple[int, ...], ...]:
        """Lists for each unit the regions that may hold it and are not too small for it alone, cheapest first."""
        order = sorted(range(len(self.regions)), key=lambda number: (self.prices[number], number))
        return tuple(tuple(number for number in order if self._may_hold(number, unit)) for unit in self.units)

    def _may_hold(self, number: int, unit: Unit) -> bool:
        region = self.regions[number]
        is_meant = region.holds_buffers if unit.weight is None else region.holds_weights
        return is_meant and unit.size_bytes <= region.size_bytes

    def cost(self, assigned: Sequence[int]) -> int:
        """The cost of an assignment, in prices."""
        return sum(unit.accessed_bytes * self.prices[at] for unit, at in zip(self.units, assigned, strict=True))

    @cached_property
    def profiles(self) -> Halves:
        """Returns the bytes that each unit takes at least at the moments when buffers begin to live: `[units, moments]`.

        At no moment do units in a region take less together than the sum of their profiles, whatever they share. Where
        there are too many moments, only the fullest are looked at.
        """
        steps = max((buffer.end for buffer in self.buffers), default=1)
        moments = np.unique([buffer.start for buffer in self.buffers] or [0])
        live = np.zeros(steps + 1, np.int64)
        for buffer in self.buffers:
            live[buffer.start] += buffer.size_bytes
            live[buffer.end] -= buffer.size_bytes
        levels = np.cumsum(live)[moments]
        kept = max(1, _MOST_CELLS // max(1, len(self.units)))
        moments = np.sort(moments[np.argsort(-levels, kind="stable")[:kept]])
        profiles = np.zeros((len(self.units), len(moments)), np.int64)
        owner = {position: number for number, unit in enumerate(self.units) for position in unit.buffers}
        for number, unit in enumerate(self.units):
            if unit.weight is not None:
                profiles[number] += 2 * unit.size_bytes
        for position, buffer in enumerate(self.buffers):
            profiles[owner[position]] += 2 * buffer.size_bytes * _alive(buffer, moments)
        for rule in self.rules:
            first, second = self.buffers[rule.first], self.buffers[rule.second]
            room = second.size_bytes - rule.minimum_distance_bytes
            shared = max(0, min(first.size_bytes, second.size_bytes, room))
            both = _alive(first, moments) & _alive(second, moments)
            profiles[owner[rule.first]] -= shared * both
            profiles[owner[rule.second]] -= shared * both
        return profiles

    @cached_property
    def shared_later(self) -> Halves:
        """By how much units that are added may lower what a region takes: never above 0, `[moments]`."""
        lowered: Halves = np.minimum(self.profiles, 0).sum(axis=0)
        return lowered

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """Halves of bytes in each region."""
        return tuple(2 * region.size_bytes for region in self.regions)


@dataclass(slots=True)
class Fits:
    """The facts about what fits where, remembered. Sets of units are numbers whose bit `k` is for unit `k`.

    Attributes:
        problem: whose units.
        placements: how many placements have been tried.
        searches: how many of them needed more than greedy orders.
    """

    problem: RegionProblem
    _known: dict[tuple[int, int], tuple[Status, Placement | None]]
    placements: int = 0
    searches: int = 0

    @staticmethod
    def of(problem: RegionProblem) -> "Fits":
        """Nothing is known yet."""
        return Fits(problem, {})

    def status(self, region: int, members: int) -> Status:
        """True if these units fit a region: INFEASIBLE where it is proven that they do not."""
        return self.look(region, members)[0]

    def holds(self, region: int, members: int) -> bool:
        """True if a placement of these units in a region was found."""
        return self.status(region, members) in (Status.OPTIMAL, Status.FEASIBLE)

    def look(self, region: int, members: int) -> tuple[Status, Placement | None]:
        """The status, and the placement of the buffers among the units if it was searched."""
        key = (self.room(region, members), buffers_only(self.problem, members))
        if key[0] < 0:
            return Status.INFEASIBLE, None
        if key not in self._known:
            self._known[key] = self._search(*key)
        return self._known[key]

    def room(self, region: int, members: int) -> int:
        """The bytes that a region has for buffers when the constants among the units are in it; negative: none."""
        problem = self.problem
        weights = [unit.size_bytes for unit in chosen(problem, members) if unit.weight is not None]
        left = problem.regions[region].size_bytes - sum(weights)
        return left // problem.alignment_bytes * problem.alignment_bytes if weights else left

    def _search(self, room: int, members: int) -> tuple[Status, Placement | None]:
        problem = self.problem
        numbers = bits(members)
        if not numbers:
            return Status.OPTIMAL, None
        count = sum(len(problem.units[number].buffers) for number in numbers)
        if count == len(problem.buffers) and problem.packed.peak_bytes <= room:
            return problem.packed.status, problem.packed
        if int(problem.profiles[numbers].sum(axis=0).max()) > 2 * room:
            return Status.INFEASIBLE, None
        self.placements += 1
        placement = place_units(problem, members, room, seconds=0)
        if placement.status is Status.UNDECIDED and self.searches < _MOST_SEARCHES:
            self.searches += 1
            placement = place_units(problem, members, room, seconds=_PLACE_SECONDS)
        return placement.status, placement


def place_units(problem: RegionProblem, members: int, capacity: int | None, *, seconds: float) -> Placement:
    """A placement of the buffers of some units, in the order of the buffers."""
    positions = sorted(position for unit in chosen(problem, members) for position in unit.buffers)
    number = {position: place_ for place_, position in enumerate(positions)}
    rules = [
        replace(rule, first=number[rule.first], second=number[rule.second])
        for rule in problem.rules
        if rule.first in number and rule.second in number
    ]
    buffers = [problem.buffers[position] for position in positions]
    return place(buffers, rules=rules, capacity=capacity, time_limit_seconds=seconds)


def members_of(assigned: Sequence[int], region: int) -> int:
    """The units that are assigned to a region, as a set."""
    return sum(1 << number for number, at in enumerate(assigned) if at == region)


def bits(members: int) -> list[int]:
    """The units of a set, ascending."""
    return [number for number in range(members.bit_length()) if members >> number & 1]


def chosen(problem: RegionProblem, members: int) -> list[Unit]:
    """The units of a set."""
    return [problem.units[number] for number in bits(members)]


def buffers_only(problem: RegionProblem, members: int) -> int:
    """A set without its constants."""
    return sum(1 << number for number in bits(members) if problem.units[number].weight is None)


def _alive(buffer: Buffer, moments: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (buffer.start <= moments) & (moments < buffer.end)
