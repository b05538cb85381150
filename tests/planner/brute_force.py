"""Placement by trying everything: slow, and too simple to be wrong."""

from collections.abc import Sequence

from kibi.planner.placement.items import Item, PairRule


def used(item: Item, moment: int) -> range:
    """The bytes of the item that are in use at a moment, counted from its offset."""
    if not item.start <= moment < item.end:
        return range(0)
    for gap in item.gaps:
        if gap.start <= moment < gap.end:
            return range(*(gap.window or (0, 0)))
    return range(item.size_bytes)


def collide(one: Item, at: int, other: Item, other_at: int) -> bool:
    """Whether two placed items use a byte at the same moment."""
    if at >= other_at + other.size_bytes or other_at >= at + one.size_bytes:
        return False
    for moment in range(max(one.start, other.start), min(one.end, other.end)):
        mine, its = used(one, moment), used(other, moment)
        if mine and its and at + mine.start < other_at + its.stop and other_at + its.start < at + mine.stop:
            return True
    return False


def is_right(items: Sequence[Item], offsets: Sequence[int], rules: Sequence[PairRule] = ()) -> bool:
    """Whether offsets respect everything."""
    return all(_agrees(items, offsets[: index + 1], rules) for index in range(len(items)))


def optimum(items: Sequence[Item], rules: Sequence[PairRule] = ()) -> int | None:
    """The lowest peak of all; None if fixed offsets are in one another's way."""
    highest = sum(item.size_bytes + item.alignment for item in items) + max(
        (item.offset or 0 for item in items), default=0
    )
    return next((peak for peak in range(highest + 1) if _fits(items, rules, peak, [])), None)


def _agrees(items: Sequence[Item], offsets: Sequence[int], rules: Sequence[PairRule]) -> bool:
    """Whether the last of the items that have offsets so far lies well, and agrees with those before it."""
    index = len(offsets) - 1
    item, at = items[index], offsets[index]
    if at < 0 or at % item.alignment or (item.offset is not None and at != item.offset):
        return False
    leave = {
        (rule.first, rule.second)
        for rule in rules
        if max(rule.first, rule.second) == index
        and offsets[rule.first] - offsets[rule.second] >= rule.minimum_distance_bytes
    }
    return not any(
        collide(item, at, items[other], offsets[other])
        for other in range(index)
        if (index, other) not in leave and (other, index) not in leave
    )


def _fits(items: Sequence[Item], rules: Sequence[PairRule], peak: int, offsets: list[int]) -> bool:
    placed = len(offsets)
    if placed == len(items):
        return True
    for at in range(0, peak - items[placed].size_bytes + 1, items[placed].alignment):
        offsets.append(at)
        if _agrees(items, offsets, rules) and _fits(items, rules, peak, offsets):
            return True
        offsets.pop()
    return False
