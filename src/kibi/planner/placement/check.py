"""A second opinion on placements: it shares no code with what makes them."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from kibi.errors import InternalError
from kibi.planner.placement.items import Item


def check_offsets(items: Sequence[Item], offsets: Sequence[int], peak_bytes: int) -> None:
    """Check that no two items ever use the same byte, and everything else that was asked for.

    Time is walked through, with the bytes in use in a sorted list: a stretch that comes into use must be between its
    neighbours.

    Args:
        items: what was placed; between them there are no rules.
        offsets: where each is placed, in bytes.
        peak_bytes: what is claimed to be one after the last byte in use.

    Raises:
        InternalError: the placement is wrong.
    """
    for index, (item, offset) in enumerate(zip(items, offsets, strict=True)):
        if offset < 0 or offset % item.alignment or (item.offset is not None and offset != item.offset):
            raise InternalError(f"buffer {index} is placed at {offset}, where it must not be")
    changes = sorted(_changes(items, offsets))
    highest = max((offsets[index] + items[index].size_bytes for *_, index in changes), default=0)
    if highest != peak_bytes:
        raise InternalError(f"the placement ends at {highest}, not at {peak_bytes}")
    in_use: list[tuple[int, int, int]] = []
    for _, is_start, low, high, index in changes:
        stretch = (low, high, index)
        at = bisect_left(in_use, stretch)
        if not is_start:
            in_use.pop(at)
            continue
        for low_, high_, other in in_use[max(0, at - 1) : at + 1]:
            if low < high_ and low_ < high:
                raise InternalError(f"buffers {other} and {index} are placed on the same bytes at the same time")
        insort(in_use, stretch)


def _changes(items: Sequence[Item], offsets: Sequence[int]) -> Iterator[tuple[int, bool, int, int, int]]:
    """Yields when stretches of bytes come into use and go out of it: (moment, whether they come, first, end, item)."""
    for index, (item, offset) in enumerate(zip(items, offsets, strict=True)):
        stretches = []
        at = item.start
        for gap in item.gaps:
            stretches.append((at, gap.start, 0, item.size_bytes))
            if gap.window is not None:
                stretches.append((gap.start, gap.end, *gap.window))
            at = gap.end
        stretches.append((at, item.end, 0, item.size_bytes))
        for start, end, low, high in stretches:
            if start < end and low < high:
                yield start, True, offset + low, offset + high, index
                yield end, False, offset + low, offset + high, index
