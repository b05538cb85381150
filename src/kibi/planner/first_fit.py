"""Greedy placement: buffer after buffer, each at the lowest offset that is free throughout its lifetime."""

from collections.abc import Iterator, Sequence

import numpy as np

from kibi.planner.sections import Instance


def first_fit(instance: Instance, order: Sequence[int]) -> tuple[int, ...]:
    """The offset of each buffer, placed in that order."""
    count = len(instance.sizes)
    # Of the buffers placed so far: sections and bytes.
    first, last = np.empty(count, np.int64), np.empty(count, np.int64)
    bottom, top = np.empty(count, np.int64), np.empty(count, np.int64)
    offsets = [0] * count
    for placed, index in enumerate(order):
        size, alignment = instance.sizes[index], instance.alignments[index]
        begin, end = instance.first[index], instance.last[index]
        together = np.flatnonzero((first[:placed] < end) & (last[:placed] > begin))
        ranked = together[np.argsort(bottom[together], kind="stable")]
        # The gap above each neighbour, and the one at the bottom: from the highest top so far to the next bottom.
        floors = np.maximum.accumulate(np.concatenate(([0], top[ranked])))
        floors += -floors % alignment
        fits = floors[:-1] + size <= bottom[ranked]
        offset = int(floors[np.argmax(fits)] if fits.any() else floors[-1])
        offsets[index] = offset
        first[placed], last[placed], bottom[placed], top[placed] = begin, end, offset, offset + size
    return tuple(offsets)


def orders(instance: Instance) -> Iterator[tuple[int, ...]]:
    """Orders worth trying, the most often successful first; ties go to the buffer that comes first."""
    sizes = np.array(instance.sizes, np.int64)
    first, last = np.array(instance.first, np.int64), np.array(instance.last, np.int64)
    spans = last - first
    live = instance.live_bytes
    crowds = np.array([live[begin:end].max() for begin, end in zip(first, last, strict=True)], np.int64)
    for keys in (
        (-sizes, -spans),
        (-sizes * spans, -sizes),
        (-spans, -sizes),
        (-crowds, -sizes),
        (-crowds, -spans, -sizes),
        (first, -sizes),
        (first, -last),
        (-last, -sizes),
    ):
        yield tuple(int(index) for index in np.lexsort(keys[::-1]))
