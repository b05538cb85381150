"""Items, which placement places: sizes with lifetimes, in the solver's own words, free of models and plans."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.errors import PlanError

MOST_BYTES = 1 << 60
"""No offset, time or sum of sizes is above it: what is computed of them fits 64 bits, in the native code, too."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A while within an item's lifetime in which its place is free, all of it or all but a window.

    Attributes:
        start, end: the moments, half-open; within the item's.
        window: the bytes of the item that stay in use, half-open, counted from its offset; None: none of them.
    """

    start: int
    end: int
    window: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """Something that needs memory for a while.

    Attributes:
        start, end: the moments in which it lives, half-open.
        size_bytes: its size.
        alignment: its offset is a multiple of it.
        offset: where it must be; None: anywhere.
        gaps: when it leaves its place to others; ascending, apart from one another.
    """

    start: int
    end: int
    size_bytes: int
    alignment: int = 1
    offset: int | None = None
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class PairRule:
    """Leave for two items to share bytes although both live.

    They may be apart, as any two may, or else such that the offset of `first` minus that of `second` is at least a
    distance. A distance of `second`'s size or more allows nothing.

    Attributes:
        first, second: their positions in the list of items.
        minimum_distance_bytes: the least difference of offsets; negative: `first` may begin before `second`.
    """

    first: int
    second: int
    minimum_distance_bytes: int


def check_items(items: Sequence[Item], rules: Sequence[PairRule] = ()) -> None:
    """Check that a problem makes sense.

    Raises:
        PlanError: a size or an offset is negative, an alignment is below 1, a lifetime is empty, an offset is not
            aligned, a gap is not within its item, or a rule names no two different items; or numbers are too large.
    """
    _check_sizes(items)
    for index, item in enumerate(items):
        if item.size_bytes < 0 or item.alignment < 1 or item.start >= item.end:
            raise PlanError(
                f"buffer {index} has {item.size_bytes} bytes, alignment {item.alignment}, and lives from step "
                f"{item.start} to {item.end}. Sizes must not be negative, alignments at least 1, lifetimes not empty."
            )
        if item.offset is not None and (item.offset < 0 or item.offset % item.alignment):
            raise PlanError(
                f"buffer {index} must be at offset {item.offset}, with alignment {item.alignment}. Fixed offsets must "
                "not be negative, and be multiples of the alignment."
            )
        _check_gaps(index, item)
    for number, rule in enumerate(rules):
        if rule.first == rule.second or not (0 <= rule.first < len(items) and 0 <= rule.second < len(items)):
            raise PlanError(
                f"rule {number} is for the buffers {rule.first} and {rule.second}, but there are {len(items)}. Name two "
                "different ones."
            )
    pairs = {frozenset((rule.first, rule.second)) for rule in rules}
    if len(pairs) < len(rules):
        raise PlanError("two rules are for the same pair of buffers. Give one rule for each pair.")


def _check_sizes(items: Sequence[Item]) -> None:
    """Check that no placement that leaves no room unused needs an offset that is too large for what computes it."""
    for index, item in enumerate(items):
        numbers = (item.start, item.end, item.size_bytes, item.alignment, item.offset or 0)
        if max(map(abs, numbers)) > MOST_BYTES:
            raise PlanError(f"buffer {index} has a number above {MOST_BYTES}. Correct it.")
    fixed = max((item.offset + item.size_bytes for item in items if item.offset is not None), default=0)
    total = fixed + sum(item.size_bytes + item.alignment - 1 for item in items)
    if total > MOST_BYTES:
        what = f"one above the other, with what aligns them, the buffers take {total} bytes; at most {MOST_BYTES} can be placed"
        raise PlanError(f"{what}. Give sizes in a larger unit.")


def _check_gaps(index: int, item: Item) -> None:
    free_from = item.start
    for gap in item.gaps:
        low, high = gap.window or (0, 0)
        if not (free_from <= gap.start < gap.end <= item.end and 0 <= low <= high <= item.size_bytes):
            raise PlanError(
                f"buffer {index}, which has {item.size_bytes} bytes and lives from {item.start} to {item.end}, has a gap "
                f"from {gap.start} to {gap.end} with window {gap.window}. Gaps must ascend and be within the lifetime, "
                "windows within the size."
            )
        free_from = gap.end
