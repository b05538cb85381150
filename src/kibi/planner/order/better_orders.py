"""Better greedy orders: what ended up too high is placed earlier the next time.

After "Squeaky wheel" optimization, Joslin and Clements 1999. Nothing beats it on problems that are too large for search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from kibi.planner.placement.problem import Bytes, PlacementProblem

_STARTS = 2
"""Number of orders that are improved, alternately."""
_LEAST, _MORE = 0.02, 0.2
"""An item that is too high moves forward by the first share of all items, and at random by up to the second one more."""


@dataclass(frozen=True, slots=True)
class Greedy:
    """A greedy placement.

    Attributes:
        order: the items in the order in which they were placed.
        offsets: where they ended up.
        peak_bytes: the peak.
    """

    order: tuple[int, ...]
    offsets: Bytes
    peak_bytes: int


def better_orders(
    problem: PlacementProblem, first_fit: Callable[[Sequence[int]], Bytes | None], starts: Sequence[Greedy]
) -> Iterator[Bytes]:
    """Placements of ever new orders, without end; they get better mostly, not always.

    Args:
        problem: what to place.
        first_fit: places items in an order.
        starts: where to start from, the best first.
    """
    wheels = [_turns(problem, first_fit, start, seed) for seed, start in enumerate(starts[:_STARTS])]
    for wheel in cycle(wheels):
        yield next(wheel)


def _turns(
    problem: PlacementProblem, first_fit: Callable[[Sequence[int]], Bytes | None], start: Greedy, seed: int
) -> Iterator[Bytes]:
    random = np.random.default_rng(seed)
    is_free = problem.lowest != problem.highest
    offsets, peak_bytes = start.offsets, start.peak_bytes
    rank = np.empty(problem.items)
    rank[list(start.order)] = np.arange(problem.items)
    while True:
        top = offsets + problem.sizes
        blame = np.where(top >= peak_bytes, 1.0, np.where(top > problem.lower_bound_bytes, 0.5, 0.0))
        rank -= problem.items * blame * (_LEAST + _MORE * random.random(problem.items))
        order = np.lexsort((rank, is_free))  # fixed items stay first
        rank[order] = np.arange(problem.items)
        placed = first_fit(order.tolist())
        if placed is not None:
            offsets, peak_bytes = placed, problem.peak_bytes(placed)
        yield offsets
