"""Greedy placement: item after item, each at the lowest offset that is free throughout its life.

The native code does the same faster. This is for small problems, so that they need no compiler.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kibi.planner.placement.problem import Bytes, PlacementProblem


def first_fit(problem: PlacementProblem, order: Sequence[int]) -> Bytes | None:
    """The offset of each item, placed in that order; None if a fixed one is in the way of another."""
    offsets = np.zeros(problem.items, np.int64)
    rules = _rules(problem)
    together = _together(problem)
    placed: list[int] = []
    for index in order:
        near = sorted((each for each in placed if together[index, each]), key=lambda each: int(offsets[each]))
        blocked = []
        for other in near:
            above = rules.get((other, index), int(problem.sizes[other]))
            below = rules.get((index, other), int(problem.sizes[index]))
            blocked.append((int(offsets[other]) - below, int(offsets[other]) + above))
        offset = _lowest(int(problem.lowest[index]), int(problem.alignments[index]), sorted(blocked))
        if offset > problem.highest[index]:
            return None
        offsets[index] = offset
        placed.append(index)
    return offsets


def _lowest(offset: int, alignment: int, blocked: Sequence[tuple[int, int]]) -> int:
    """The least multiple of the alignment from `offset` on that is strictly within none of the ranges."""
    for low, high in blocked:  # ascending by their low ends, so that one pass is enough
        if low < offset < high:
            offset = high + -high % alignment
    return offset


def _rules(problem: PlacementProblem) -> dict[tuple[int, int], int]:
    starts = problem.rule_start.tolist()
    return {
        (below, int(problem.rule_above[k])): int(problem.rule_distances[k])
        for below in range(problem.items)
        for k in range(starts[below], starts[below + 1])
    }


def _together(problem: PlacementProblem) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Returns which items share a section: `[items, items]`."""
    lives = np.zeros((problem.items, problem.sections), np.int32)
    starts = problem.piece_start.tolist()
    for index in range(problem.items):
        for k in range(starts[index], starts[index + 1]):
            lives[index, problem.first[k] : problem.last[k]] = 1
    shared: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (lives @ lives.T) > 0
    return shared


def orders(problem: PlacementProblem) -> Iterator[tuple[int, ...]]:
    """Orders worth trying, the most often successful first; ties go to the item that comes first.

    Fixed items always come first.
    """
    sizes, spans = problem.sizes, problem.spans
    first, last = problem.hull
    live = problem.live_bytes
    crowds = np.zeros(problem.items, np.int64)
    np.maximum.at(crowds, problem.owner, _greatest(live, problem.first, problem.last))
    is_free = problem.lowest != problem.highest
    areas = sizes.astype(np.float64) * spans
    for keys in (
        (-sizes, -spans),
        (-areas, -sizes),
        (-spans, -sizes),
        (-crowds, -sizes),
        (-crowds, -spans, -sizes),
        (first, -sizes),
        (first, -last),
        (-last, -sizes),
    ):
        yield tuple(np.lexsort((*keys[::-1], is_free)).tolist())


def _greatest(
    values: Bytes, first: np.ndarray[tuple[int], np.dtype[np.int32]], last: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> Bytes:
    """The greatest of the values from `first` to before `last`, for many such ranges."""
    # Tables of the greatest among 1, 2, 4, … neighbours; two overlapping ones cover any range.
    tables = [values]
    while (half := 1 << (len(tables) - 1)) * 2 <= len(values):
        tables.append(np.maximum(tables[-1][:-half], tables[-1][half:]))
    found = np.empty(len(first), np.int64)
    level = np.frexp((last - first).astype(np.float64))[1] - 1
    for number, table in enumerate(tables):
        here = level == number
        found[here] = np.maximum(table[first[here]], table[last[here] - (1 << number)])
    return found
