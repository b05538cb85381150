"""Sweeps through time: the ways in which a problem can be swept, from its beginning or from its end."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kibi.planner.placement.native import Native
from kibi.planner.placement.problem import Counts, PlacementProblem
from kibi.planner.placement.strategy import Sweep

_SCARCE = (900, 970)
"""From so many thousandths of the most live bytes on, room is scarce; so there are two opinions on what holes cost."""
_SURCHARGE = (30, 100)
_EDGE = 16
"""An item's bottom, or top, counts as gone when one in so many of its bytes are."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to sweep a problem.

    Attributes:
        native: the problem, forwards or backwards in time; offsets are the same.
        sweep: the way, of width 1.
    """

    native: Native
    sweep: Sweep


def ways(problem: PlacementProblem, native: Native) -> tuple[Way, ...]:
    """Ways to sweep, the most promising first: forwards and backwards in time, and different ones of each."""
    behind = backwards(problem)
    there = Native(behind)
    pairs = zip(_sweeps(problem), _sweeps(behind), strict=True)
    return tuple(way for forth, back in pairs for way in (Way(native, forth), Way(there, back)))


def backwards(problem: PlacementProblem) -> PlacementProblem:
    """The same problem with time turned round."""
    starts = problem.piece_start[problem.owner]
    ends = problem.piece_start[problem.owner + 1]
    turned = starts + ends - 1 - np.arange(len(problem.owner), dtype=np.int32)
    return replace(
        problem,
        first=(problem.sections - problem.last[turned]).astype(np.int32),
        last=(problem.sections - problem.first[turned]).astype(np.int32),
        weights=problem.weights[turned],
        low=problem.low[turned],
        high=problem.high[turned],
    )


def _sweeps(problem: PlacementProblem) -> Iterator[Sweep]:
    """Sweeps that differ in which of the items that start together comes first, and in what holes cost."""
    first, last = problem.hull
    is_free = problem.lowest != problem.highest
    sizes = problem.sizes[problem.owner]
    bottom_end = _end(problem, problem.low <= sizes // _EDGE)
    top_end = _end(problem, sizes - problem.high <= sizes // _EDGE)
    large = np.lexsort((-last, -problem.sizes, first, is_free)).astype(np.int32)
    lasting = np.lexsort((-problem.sizes, -last, first, is_free)).astype(np.int32)
    live = problem.live_bytes.tolist()
    most = max([1, *live])
    shares = np.array([each * 1000 // most for each in live], np.int64)
    costs = [1 + more * (shares >= scarce) for scarce, more in zip(_SCARCE, _SURCHARGE, strict=True)]
    even = np.full(problem.sections, 8, np.int64)
    for order, cost in ((large, costs[0]), (lasting, costs[1]), (large, costs[1]), (lasting, even)):
        yield Sweep(order, bottom_end, top_end, np.concatenate(([0], np.cumsum(cost))).astype(np.int64), width=1)


def _end(problem: PlacementProblem, is_used: NDArray[np.bool_]) -> Counts:
    """One after the last of those pieces of each item; the item's first section if there are none."""
    found = problem.hull[0].copy()
    np.maximum.at(found, problem.owner[is_used], problem.last[is_used])
    return found
