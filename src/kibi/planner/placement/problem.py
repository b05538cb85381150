"""Placement problems as flat arrays, with time reduced to the moments that matter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibi.planner.placement.items import MOST_BYTES, Item, PairRule

Counts = NDArray[np.int32]
Bytes = NDArray[np.int64]


class Piece(NamedTuple):
    """A part of an item's life.

    Attributes:
        start, end: the moments, half-open.
        low, high: which of its bytes are in use, half-open, counted from its offset.
        weight: bytes that count as its own in lower bounds.
    """

    start: int
    end: int
    low: int
    high: int
    weight: int


@dataclass(frozen=True)
class PlacementProblem:
    """Items to place, as the native code wants them. All items have at least one byte and one piece.

    A section is a set of pieces that live together and that is part of no larger such set. Two pieces live together at
    some moment if and only if they share a section, so moments can be forgotten.

    Attributes:
        sizes, alignments: of each item, in bytes: `[items]`.
        lowest, highest: the least and the greatest offset of each item; equal for fixed ones: `[items]`.
        piece_start: the pieces of item i are those from `piece_start[i]` to before `piece_start[i + 1]`: `[items + 1]`.
        first, last: the sections of each piece, half-open, never empty: `[pieces]`.
        weights: bytes of each piece in lower bounds: `[pieces]`.
        low, high: which of the item's bytes are in use in each piece, half-open, counted from its offset: `[pieces]`.
        sections: number of sections.
        rule_start: the rules of item i are those from `rule_start[i]` to before `rule_start[i + 1]`: `[items + 1]`.
        rule_above, rule_distances: an item, and by how much its offset must exceed that of item i if it is above;
            between two items without a rule it is the size of the lower one: `[rules]`.
        is_exact: true if the distances say exactly what is allowed; else they forbid a little more.
    """

    sizes: Bytes
    alignments: Bytes
    lowest: Bytes
    highest: Bytes
    piece_start: Counts
    first: Counts
    last: Counts
    weights: Bytes
    low: Bytes
    high: Bytes
    sections: int
    rule_start: Counts
    rule_above: Counts
    rule_distances: Bytes
    is_exact: bool

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.sizes)

    @cached_property
    def live_bytes(self) -> Bytes:
        """Bytes of each section: `[sections]`."""
        return self.summed(self.weights)

    def summed(self, weights: NDArray[np.int64]) -> Bytes:
        """Returns for each section the sum of its pieces' weights: `[sections]`."""
        change = np.zeros(self.sections + 1, np.int64)
        np.add.at(change, self.first, weights)
        np.subtract.at(change, self.last, weights)
        return np.cumsum(change)[:-1]

    @cached_property
    def spans(self) -> Bytes:
        """Number of sections of each item: `[items]`."""
        return np.add.reduceat((self.last - self.first).astype(np.int64), self.piece_start[:-1])

    @cached_property
    def owner(self) -> Counts:
        """The item of each piece: `[pieces]`."""
        return np.repeat(np.arange(self.items, dtype=np.int32), np.diff(self.piece_start))

    @cached_property
    def hull(self) -> tuple[Counts, Counts]:
        """The first section of each item, and one after its last: `[items]` each."""
        return self.first[self.piece_start[:-1]], self.last[self.piece_start[1:] - 1]

    @cached_property
    def granularity_bytes(self) -> int:
        """Every peak worth looking at is a multiple of it: pushed down, items are at sums of sizes."""
        fixed = self.lowest[self.lowest == self.highest]
        return int(np.gcd.reduce(np.concatenate((self.sizes, fixed, self.rule_distances)), initial=0)) or 1

    @cached_property
    def neighbours(self) -> float:
        """The number of other items that an item lives together with, on average, by the hulls of their lives."""
        first, last = self.hull
        begun = np.searchsorted(np.sort(first), last)
        ended = np.searchsorted(np.sort(last), first, side="right")
        return float((begun - ended).mean()) - 1 if self.items else 0.0

    @property
    def is_aligned_anyway(self) -> bool:
        """True if alignments follow from the granularity."""
        return not np.any(self.granularity_bytes % self.alignments)

    @cached_property
    def lower_bound_bytes(self) -> int:
        """No placement has a lower peak.

        At least the bytes of the fullest section, and the end of each fixed item, up to the granularity. Besides, items
        that are all aligned to `a` start at multiples of `a`, so from one to the next above it there is a multiple of `a`
        bytes.
        """
        bound = max(int(self.live_bytes.max(initial=0)), int((self.lowest + self.sizes).max(initial=0)))
        if self.is_aligned_anyway:
            return bound + -bound % self.granularity_bytes
        if len(self.rule_above):
            return bound
        owner = self.owner
        for alignment in np.unique(self.alignments[self.alignments > 1]):
            counts = (self.alignments[owner] % alignment == 0) & (self.weights == self.sizes[owner])
            slack = -self.sizes[owner] % alignment
            rounded = self.summed(np.where(counts, self.weights + slack, 0))
            largest = np.zeros(self.sections, np.int64)
            for value in np.unique(slack[counts]):  # ascending
                present = self.summed((counts & (slack == value)).astype(np.int64)) > 0
                largest[present] = value
            bound = max(bound, int((rounded - largest).max(initial=0)))
        return bound

    @cached_property
    def unshared_bytes(self) -> int:
        """Bytes of the fullest section where no rule is made use of: a peak that can often be had."""
        return int(self.summed(self.high - self.low).max(initial=0))

    def peak_bytes(self, offsets: NDArray[np.int64]) -> int:
        """One after the last byte that these offsets use."""
        return int((offsets + self.sizes).max(initial=0))

    @staticmethod
    def of(items: Sequence[Item], rules: Sequence[PairRule] = ()) -> "PlacementProblem":
        """The problem of checked items that have at least one byte each."""
        pieces = [tuple(_pieces(item)) for item in items]
        distances, is_exact = _window_distances(items, pieces)
        distances |= _rule_distances(items, rules)
        pieces = _discounted(items, pieces, rules)
        count = [len(each) for each in pieces]
        flat = [piece for each in pieces for piece in each]
        first, last, sections = _sections(
            np.array([piece.start for piece in flat], np.int64), np.array([piece.end for piece in flat], np.int64)
        )
        keys = sorted(distances)
        fixed = [item.offset for item in items]
        return PlacementProblem(
            sizes=np.array([item.size_bytes for item in items], np.int64),
            alignments=np.array([item.alignment for item in items], np.int64),
            lowest=np.array([offset or 0 for offset in fixed], np.int64),
            highest=np.array([MOST_BYTES if offset is None else offset for offset in fixed], np.int64),
            piece_start=np.cumsum([0, *count], dtype=np.int32),
            first=first,
            last=last,
            weights=np.array([piece.weight for piece in flat], np.int64),
            low=np.array([piece.low for piece in flat], np.int64),
            high=np.array([piece.high for piece in flat], np.int64),
            sections=sections,
            rule_start=np.searchsorted([below for below, _ in keys], np.arange(len(items) + 1)).astype(np.int32),
            rule_above=np.array([above for _, above in keys], np.int32),
            rule_distances=np.array([distances[key] for key in keys], np.int64),
            is_exact=is_exact,
        )


def _pieces(item: Item) -> Iterator[Piece]:
    """An item's life without its gaps, and the windows that are in use in them."""
    at, size = item.start, item.size_bytes
    for gap in item.gaps:
        if at < gap.start:
            yield Piece(at, gap.start, 0, size, size)
        if gap.window is not None and gap.window[0] < gap.window[1]:
            yield Piece(gap.start, gap.end, *gap.window, gap.window[1] - gap.window[0])
        at = gap.end
    if at < item.end:
        yield Piece(at, item.end, 0, size, size)


def _sections(start: Bytes, end: Bytes) -> tuple[Counts, Counts, int]:
    """The first section of each life, one after its last, and the number of sections."""
    count = len(start)
    moments = np.concatenate((end, start))
    is_start = np.arange(2 * count) >= count
    order = np.lexsort((is_start, moments))  # at equal moments ends come first: lives are half-open
    starts = is_start[order]
    # Where the live set is about to shrink after it grew, it is a largest one.
    is_largest = ~starts & np.concatenate(([False], starts[:-1]))
    section = np.empty(2 * count, np.int32)
    section[order] = np.cumsum(is_largest)
    return section[count:], section[:count], int(is_largest.sum())


def _window_distances(
    items: Sequence[Item], pieces: Sequence[tuple[Piece, ...]]
) -> tuple[dict[tuple[int, int], int], bool]:
    """Returns the distances between items one of which is in use in part; and True if they forbid no more than they must.

    At each moment, the bytes in use forbid a range of differences of offsets. The distances forbid the smallest range
    that holds all these, which is more than needed if they leave a hole.
    """
    distances: dict[tuple[int, int], int] = {}
    is_exact = True
    for one in (index for index, item in enumerate(items) if any(gap.window for gap in item.gaps)):
        starts, ends, lows, highs = np.array([(x.start, x.end, x.low, x.high) for x in pieces[one]], np.int64).T
        for other, its_pieces in enumerate(pieces):
            is_apart = its_pieces[-1].end <= starts[0] or ends[-1] <= its_pieces[0].start
            if is_apart or other == one or (other, one) in distances:
                continue
            met = [slice(*_meeting(starts, ends, its)) for its in its_pieces]
            least = np.concatenate([lows[part] - its.high for part, its in zip(met, its_pieces, strict=True)])
            most = np.concatenate([highs[part] - its.low for part, its in zip(met, its_pieces, strict=True)])
            if not len(least):
                continue
            order = np.lexsort((most, least))
            reach = np.maximum.accumulate(most[order])
            is_exact = is_exact and bool((least[order][1:] < reach[:-1]).all())
            distances[one, other], distances[other, one] = int(reach[-1]), -int(least.min())
    return distances, is_exact


def _meeting(starts: Bytes, ends: Bytes, piece: Piece) -> tuple[int, int]:
    """Returns the half-open range of an item's pieces, in order of time, that live together with a piece of another item."""
    return int(np.searchsorted(ends, piece.start, side="right")), int(np.searchsorted(starts, piece.end))


def _rule_distances(items: Sequence[Item], rules: Sequence[PairRule]) -> dict[tuple[int, int], int]:
    distances: dict[tuple[int, int], int] = {}
    for rule in rules:
        second_bytes = items[rule.second].size_bytes
        distances[rule.second, rule.first] = min(second_bytes, rule.minimum_distance_bytes)
        distances[rule.first, rule.second] = items[rule.first].size_bytes
    return distances


def _discounted(
    items: Sequence[Item], pieces: Sequence[tuple[Piece, ...]], rules: Sequence[PairRule]
) -> list[tuple[Piece, ...]]:
    """Pieces whose weights leave out what rules let the item share.

    Sets of bytes cover at least the sum of their sizes less what each two of them share, so weights reduced by all that
    pairs may share still bound what is needed.
    """
    shared: dict[int, list[tuple[int, int, int]]] = {}
    for rule in rules:
        first, second = items[rule.first], items[rule.second]
        most = min(first.size_bytes, second.size_bytes, second.size_bytes - rule.minimum_distance_bytes)
        if most > 0:
            shared.setdefault(rule.first, []).append((second.start, second.end, most))
    return [tuple(_cut(each, shared[index])) if index in shared else tuple(each) for index, each in enumerate(pieces)]


def _cut(pieces: Sequence[Piece], shared: Sequence[tuple[int, int, int]]) -> Iterator[Piece]:
    """The pieces, cut where one of the lives in (start, end, bytes) starts or ends, less their bytes meanwhile."""
    for piece in pieces:
        moments = {moment for start, end, _ in shared for moment in (start, end) if piece.start < moment < piece.end}
        cuts = [piece.start, *sorted(moments), piece.end]
        for start, end in pairwise(cuts):
            less = sum(most for from_, to, most in shared if from_ <= start and end <= to)
            yield Piece(start, end, piece.low, piece.high, max(0, piece.weight - less))
