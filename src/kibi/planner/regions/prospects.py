"""Prospects: the least cost of the units still to be assigned, given where those are that still live; dynamic programming.

Units are taken in the order in which they begin to live. What the later ones may do depends on the earlier ones only through
those that have not died, so each such state is looked at once. Where few units live at the same time, as in most models,
this is exact but for the placement within each region.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.planner.regions.problem import Halves, RegionProblem

_MOST_STATES = 40_000
_MOST_CELLS = 1 << 24
"""Of states that are known at once, times regions and moments."""
_State = tuple[int, tuple[int, ...]]
"""How many units are taken, and the regions of those of them that live."""
_Layer = dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]]
"""For each state, the costs of the next unit, and the states after it."""


@dataclass(frozen=True, slots=True)
class Prospects:
    """Least costs to come.

    Attributes:
        order: the units with buffers, in the order in which they are taken; constants come after them.
        alive: for each number of units taken, those of them that live when the next one begins.
        least: by number of units taken and the regions of those alive: the least cost of the others; infinite where they
            do not fit.
    """

    order: tuple[int, ...]
    alive: tuple[tuple[int, ...], ...]
    least: dict[_State, float]

    def to_come(self, depth: int, assigned: Sequence[int]) -> float:
        """The least cost of the units after the first `depth`, which are assigned."""
        return self.least.get((depth, tuple(assigned[unit] for unit in self.alive[depth])), np.inf)


def prospects(problem: RegionProblem, costs: NDArray[np.float64]) -> Prospects | None:
    """All least costs to come; None where there are too many states.

    Args:
        problem: what is assigned.
        costs: of each unit in each region: `[units, regions]`.
    """
    lives = {
        number: (
            min(problem.buffers[position].start for position in unit.buffers),
            max(problem.buffers[position].end for position in unit.buffers),
        )
        for number, unit in enumerate(problem.units)
        if unit.weight is None
    }
    order = sorted(lives, key=lambda number: (lives[number], number))
    alive = [
        tuple(unit for unit in order[:depth] if lives[unit][1] > lives[order[depth]][0]) for depth in range(len(order))
    ]
    alive.append(())
    layers = _layers(problem, costs, order, alive)
    return None if layers is None else Prospects(tuple(order), tuple(alive), _least(layers))


def _layers(
    problem: RegionProblem, costs: NDArray[np.float64], order: Sequence[int], alive: Sequence[tuple[int, ...]]
) -> list[_Layer] | None:
    """Returns for each number of units taken the states that can be reached, and where each leads; None: there are too many."""
    layers: list[_Layer] = []
    none: Halves = np.zeros((len(problem.regions), problem.profiles.shape[1]), np.int64)
    reached: dict[tuple[int, ...], Halves] = {(): none}
    left = _MOST_STATES
    for depth, unit in enumerate(order):
        left -= len(reached)
        if left < 0 or len(reached) * none.size > _MOST_CELLS:
            return None
        layer: _Layer = {}
        following: dict[tuple[int, ...], Halves] = {}
        for state, levels in reached.items():
            regions = dict(zip(alive[depth], state, strict=True))
            steps = []
            for at in problem.allowed[unit]:
                level = levels[at] + problem.profiles[unit]
                if int((level + problem.shared_later).max()) > problem.capacities[at]:
                    continue
                regions[unit] = at
                after = tuple(regions[each] for each in alive[depth + 1])
                steps.append((float(costs[unit, at]), after))
                if after not in following:
                    following[after] = levels.copy()
                    following[after][at] = level
            layer[state] = steps
        layers.append(layer)
        reached = following
    return layers


def _least(layers: Sequence[_Layer]) -> dict[_State, float]:
    """The least costs from each state on, from the last unit back to the first."""
    least: dict[_State, float] = {(len(layers), ()): 0.0}
    for depth in reversed(range(len(layers))):
        for state, steps in layers[depth].items():
            least[depth, state] = min((cost + least[depth + 1, after] for cost, after in steps), default=np.inf)
    return least
