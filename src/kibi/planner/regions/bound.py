"""A lower bound of the cost of any assignment to regions: capacities become prices (Lagrangian relaxation).

For each region and moment a price is paid for each byte that is taken there, and refunded for the capacity. With prices that
are not negative no assignment that fits costs more so than it does, and the cheapest one is found unit by unit. Prices are
raised where units exceed a capacity, and lowered where they do not (subgradient ascent).
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from kibi.planner.regions.problem import RegionProblem

_ROUNDS = 200
_WORK = 400_000_000
"""Products that are formed at most."""
_PATIENCE = 8
_MARGIN = 1e-9
"""Sums of floats are trusted to this part."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A bound, taken apart.

    Attributes:
        refund: what is refunded for all capacities.
        reduced: the cost of each unit in each region, what it takes there included; infinite where it may not be:
            `[units, regions]`.
        slack: by how much sums of these may be wrong.
    """

    refund: float
    reduced: NDArray[np.float64]
    slack: float

    @property
    def bound(self) -> int:
        """No assignment that fits has a lower cost."""
        return max(0, ceil(float(self.reduced.min(axis=1).sum()) - self.refund - self.slack))


def relax(problem: RegionProblem, known: int | None) -> Relaxation:
    """The best bound that a number of rounds gives.

    Args:
        problem: each unit has at least one region that may hold it.
        known: the cost of an assignment that fits, if one is known.
    """
    costs = _costs(problem)
    profiles = problem.profiles.astype(np.float64)
    capacities = np.array(problem.capacities, np.float64)
    goal = float(known) if known is not None else float(np.where(np.isfinite(costs), costs, 0).max(axis=1).sum())
    prices = np.zeros((len(problem.regions), profiles.shape[1]))
    best = _relaxation(costs, profiles, capacities, prices)
    scale, idle = 1.0, 0
    for _ in range(min(_ROUNDS, _WORK // max(1, profiles.size * len(problem.regions)))):
        reduced = costs + profiles @ prices.T
        at = reduced.argmin(axis=1)
        excess = (
            np.stack([profiles[at == number].sum(axis=0) for number in range(len(capacities))]) - capacities[:, None]
        )
        excess[(prices == 0) & (excess < 0)] = 0
        value = float(reduced.min(axis=1).sum() - (prices.sum(axis=1) * capacities).sum())
        norm = float((excess**2).sum())
        if norm == 0 or value >= goal:
            break
        prices = np.maximum(0, prices + scale * (goal - value) / norm * excess)
        found = _relaxation(costs, profiles, capacities, prices)
        if found.bound > best.bound:
            best, idle = found, 0
        else:
            idle += 1
        if idle == _PATIENCE:
            scale, idle = scale / 2, 0
    return best


def unrelaxed(problem: RegionProblem) -> Relaxation:
    """The bound without prices for capacities: each unit where it costs least."""
    costs = _costs(problem)
    none = np.zeros((len(problem.regions), problem.profiles.shape[1]))
    return _relaxation(costs, problem.profiles.astype(np.float64), np.array(problem.capacities, np.float64), none)


def _costs(problem: RegionProblem) -> NDArray[np.float64]:
    """The cost of each unit in each region, infinite where it may not be."""
    costs = np.full((len(problem.units), len(problem.regions)), np.inf)
    for number, (unit, allowed) in enumerate(zip(problem.units, problem.allowed, strict=True)):
        for at in allowed:
            costs[number, at] = unit.accessed_bytes * problem.prices[at]
    return costs


def _relaxation(
    costs: NDArray[np.float64],
    profiles: NDArray[np.float64],
    capacities: NDArray[np.float64],
    prices: NDArray[np.float64],
) -> Relaxation:
    reduced = costs + profiles @ prices.T
    refund = float((prices.sum(axis=1) * capacities).sum())
    size = float(np.where(np.isfinite(reduced), np.abs(reduced), 0).max(axis=1, initial=0).sum()) + refund
    return Relaxation(refund, reduced, _MARGIN * size)
