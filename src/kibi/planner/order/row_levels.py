"""The bytes that live while an order of row steps runs."""

from collections.abc import Sequence

import numpy as np

from kibi.planner.order.row_steps import Ints, RowSteps, Slices, parted


def live_levels(steps: RowSteps, order: Sequence[int], *, is_scratch_held: bool = True) -> Ints:
    """The bytes of slices and scratch that live during each step of an order, given as each step's node.

    Args:
        steps: the row steps of a graph.
        order: an order of them.
        is_scratch_held: true if scratch lives from its node's first step to its last, shared by nodes that interleave, as
            plans hold it; else it counts in its node's own steps only, but for accumulators.
    """
    places = _places(steps.steps, order)
    change = np.zeros(len(order) + 1, np.int64)
    for each in steps.slices:
        start, end = lives(each, places, len(order))
        np.add.at(change, start, each.size_bytes)
        np.subtract.at(change, end, each.size_bytes)
    shared = np.zeros(len(steps.steps), np.int64)
    spans: list[tuple[int, int, int]] = []
    for node, size in enumerate(steps.scratch):
        span = (int(places[node][0]), int(places[node][-1]) + 1, size)
        if size and steps.accumulates[node]:
            _count(change, [span])
        elif size:
            shared[node] = size
            spans.append(span)
    if is_scratch_held:
        _count(change, _groups(spans))
        return np.cumsum(change)[:-1]
    return np.cumsum(change)[:-1] + shared[np.asarray(order, np.int64)]


def _count(change: Ints, spans: Sequence[tuple[int, int, int]]) -> None:
    """Count spans (first place, end, bytes) in how the bytes change from place to place."""
    for start, end, size in spans:
        change[start] += size
        change[end] -= size


def _groups(spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Spans (first place, end, bytes) that overlap joined, with the largest of their bytes: such nodes share scratch."""
    groups: list[tuple[int, int, int]] = []
    for start, end, size in sorted(spans):
        if groups and start < groups[-1][1]:
            begin, until, largest = groups[-1]
            groups[-1] = (begin, max(until, end), max(largest, size))
        else:
            groups.append((start, end, size))
    return groups


def lives(each: Slices, places: Sequence[Ints], count: int) -> tuple[Ints, Ints]:
    """From which to which place, half-open, each slice of a tensor lives; `places` are those of each node's steps."""
    start = places[each.maker][each.made] if each.maker >= 0 else np.zeros(len(each.made), np.int64)
    if each.is_kept:
        return start, np.full(len(start), count, np.int64)
    last = start
    for reader, uses in zip(each.readers, each.last_uses, strict=True):
        last = np.maximum(last, np.where(uses >= 0, places[reader][uses], -1))
    return start, last + 1


def _places(steps: Sequence[int], order: Sequence[int]) -> list[Ints]:
    """Returns for each node the places of its steps in an order."""
    nodes = np.asarray(order, np.int64)
    by_node = np.argsort(nodes, kind="stable")
    return parted(by_node, steps)
