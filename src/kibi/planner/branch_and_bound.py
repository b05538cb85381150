"""Exact placement: depth-first search over placements whose buffers are placed from the bottom upwards.

Push every buffer of a best placement as far down as it goes, and list the buffers by (offset, index). Then each buffer
rests, up to its alignment, on those before it, so it is enough to search for such lists; and no buffer could move into
space below all that comes later. Both facts cut the search; after them its bound does.
"""

from collections.abc import Iterator

from kibi.planner.sections import Instance


def improve(
    instance: Instance, offsets: tuple[int, ...], target_bytes: int, node_limit: int
) -> tuple[tuple[int, ...], bool]:
    """Search for a placement with a lower peak.

    Args:
        instance: the buffers.
        offsets: a placement to improve on.
        target_bytes: stop at this peak.
        node_limit: stop after so many partial placements.

    Returns:
        The best placement known, and whether the search ended by itself: then no placement has a lower peak, or this
        one meets the target.
    """
    search = _Search(instance, offsets)
    frames = [search.choices()]
    undo: list[tuple[int, int, int, list[int]]] = []
    nodes = 0
    while frames:
        choice = next(frames[-1], None)
        if choice is None:
            frames.pop()
            if undo:
                search.take_back(*undo.pop())
            continue
        nodes += 1
        if nodes > node_limit:
            return search.best_offsets, False
        undo.append(search.put(*choice))
        if search.is_complete:
            search.keep()
            if search.best_bytes <= target_bytes:
                break
        frames.append(search.choices())
    return search.best_offsets, True


class _Search:
    """A partial placement, and the best complete one so far."""

    def __init__(self, instance: Instance, offsets: tuple[int, ...]) -> None:
        self.instance = instance
        self.best_offsets = offsets
        self.best_bytes = instance.peak_bytes(offsets)
        self.heights = [0] * instance.sections
        self.unplaced_bytes = [int(live) for live in instance.live_bytes]
        self.offsets = [-1] * len(offsets)
        self.lowest = (0, -1)
        """Offset and index of the last buffer placed: all that follow are behind it."""
        self.twin = _twins(instance)

    @property
    def is_complete(self) -> bool:
        return not any(self.unplaced_bytes)

    def keep(self) -> None:
        """Remember the complete placement. It is better than the one before: else its buffers were no choices."""
        self.best_offsets = tuple(self.offsets)
        self.best_bytes = self.instance.peak_bytes(self.offsets)

    def put(self, offset: int, index: int) -> tuple[int, int, int, list[int]]:
        """Place a buffer; returns what `take_back` needs."""
        begin, end, size = self.instance.first[index], self.instance.last[index], self.instance.sizes[index]
        undo = (index, *self.lowest, self.heights[begin:end])
        self.offsets[index] = offset
        self.lowest = (offset, index)
        self.heights[begin:end] = [offset + size] * (end - begin)
        for section in range(begin, end):
            self.unplaced_bytes[section] -= size
        return undo

    def take_back(self, index: int, lowest_offset: int, lowest_index: int, heights: list[int]) -> None:
        """Undo a placement."""
        begin, end, size = self.instance.first[index], self.instance.last[index], self.instance.sizes[index]
        self.offsets[index] = -1
        self.lowest = (lowest_offset, lowest_index)
        self.heights[begin:end] = heights
        for section in range(begin, end):
            self.unplaced_bytes[section] += size

    def choices(self) -> Iterator[tuple[int, int]]:
        """The buffers that may be placed next, as (offset, index), in the order in which to try them."""
        instance, heights = self.instance, self.heights
        unplaced = [index for index, offset in enumerate(self.offsets) if offset < 0]
        rest: list[tuple[int, int]] = []
        ceiling = self.best_bytes
        floors = [self.best_bytes] * instance.sections
        for index in unplaced:
            begin, end, alignment = instance.first[index], instance.last[index], instance.alignments[index]
            offset = max(heights[begin:end])
            offset += -offset % alignment
            # What comes later cannot be below what is placed now, or this buffer would have gone there before.
            ceiling = min(ceiling, offset + instance.sizes[index])
            rest.append((offset, index))
            floor = max(offset, self.lowest[0])
            for section in range(begin, end):
                floors[section] = min(floors[section], floor)
        for floor, unplaced_bytes in zip(floors, self.unplaced_bytes, strict=True):
            if unplaced_bytes and floor + unplaced_bytes >= self.best_bytes:
                return
        ranked = sorted((choice for choice in rest if self._may(*choice, ceiling)), key=self._rank)
        for offset, index in ranked:
            begin, end = instance.first[index], instance.last[index]
            # `best_bytes` may have fallen since the choices were listed.
            if offset + max(self.unplaced_bytes[begin:end]) < self.best_bytes:
                yield offset, index

    def _may(self, offset: int, index: int, ceiling: int) -> bool:
        if offset >= ceiling or (offset, index) < self.lowest:
            return False
        twin = self.twin[index]
        return twin is None or self.offsets[twin] >= 0

    def _rank(self, choice: tuple[int, int]) -> tuple[int, int, int]:
        offset, index = choice
        area = self.instance.sizes[index] * (self.instance.last[index] - self.instance.first[index])
        return offset, -area, index


def _twins(instance: Instance) -> tuple[int | None, ...]:
    """For each buffer the one before it of the same size, alignment and sections: it is placed first."""
    seen: dict[tuple[int, int, int, int], int] = {}
    twins: list[int | None] = []
    rows = zip(instance.sizes, instance.alignments, instance.first, instance.last, strict=True)
    for index, key in enumerate(rows):
        twins.append(seen.get(key))
        seen[key] = index
    return tuple(twins)
