"""Placement problems upside down.

Exact search builds from the ground upwards, so an item that dies from below, as a model input does whose first rows die
first, had better hang from the ceiling: upside down, it stands on the ground and dies from above.
"""

from collections.abc import Callable
from dataclasses import replace
from math import lcm

import numpy as np

from kibi.planner.placement.native import Native
from kibi.planner.placement.problem import Bytes, PlacementProblem
from kibi.planner.placement.strategy import Ending, Strategy

_LAST_RESORT = 8
"""The part of the work that the search for what is between two aligned ceilings may take."""


class Mirror:
    """A problem upside down, in the native code's hands."""

    def __init__(self, problem: PlacementProblem, upright: Native) -> None:
        """Takes over a problem for which `is_better_mirrored`, and the same the other way up."""
        self._problem = problem
        self._upright = upright
        self._native = Native(mirrored(problem))
        self._unit = lcm(*np.unique(problem.alignments).tolist())

    def search(self, how: Strategy, capacity: int, limit: int, go_on: Callable[[], bool]) -> tuple[Ending, Bytes, int]:
        """Searches as `Native.search` does; what is between the last aligned ceiling and the capacity, the other way up."""
        ceiling = capacity - capacity % self._unit
        if ceiling == 0:
            return self._upright.search(how, capacity, limit, go_on)
        ending, offsets, work = self._native.search(how, ceiling, limit, go_on)
        if ending is Ending.IMPOSSIBLE and ceiling < capacity:
            # As a last resort, on top of the work that counts: it seldom finds anything in larger problems.
            ending, offsets, _ = self._upright.search(how, capacity, limit // _LAST_RESORT, go_on)
            return ending, offsets, work
        return ending, ceiling - offsets - self._problem.sizes, work


def is_better_mirrored(problem: PlacementProblem) -> bool:
    """True if items die from below rather than from above, nothing is fixed, and aligned offsets remain so."""
    is_free = problem.lowest != problem.highest
    from_below = sum(problem.low.tolist()) > sum((problem.sizes[problem.owner] - problem.high).tolist())
    return from_below and bool(is_free.all()) and not np.any(problem.sizes % problem.alignments)


def mirrored(problem: PlacementProblem) -> PlacementProblem:
    """The same problem with addresses counted downwards from a ceiling: the offset of a byte there is that of its end here.

    Where here an item must be at least `d` above another, that one's end must there be at least `d` above its own end.
    """
    below = np.repeat(np.arange(problem.items), np.diff(problem.rule_start))
    above = problem.rule_above
    keys = below * problem.items + above
    reverse = np.searchsorted(keys, above * np.int64(problem.items) + below)
    return replace(
        problem,
        low=problem.sizes[problem.owner] - problem.high,
        high=problem.sizes[problem.owner] - problem.low,
        rule_distances=problem.rule_distances[reverse] + problem.sizes[below] - problem.sizes[above],
    )
