"""Makes the payload of a delta: block by block, the commands that take the fewest bits that a search finds."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kibi.update.delta.changes import Changes, Costs, Floats, Ints, Unit, folded
from kibi.update.delta.coding import Encoder
from kibi.update.delta.commands import Pattern, Segment, Way, patterns_of, segments_of
from kibi.update.delta.form import MOST_PERIOD, Kind, Numbers
from kibi.update.delta.form import folded as folded_number
from kibi.update.delta.places import Places
from kibi.update.delta.units import units_of

Flags = NDArray[np.bool_]

_ROUNDS = 3
"""How often commands are chosen: each time with what the numbers take that were chosen before."""
_MOST_NUMBER = (1 << 32) - 2
"""That can be coded."""
_NEVER = 1e6
"""Bits of what cannot be."""
_SUMS = (Way.SUMS, Way.OTHER_SUMS)


def encode(old: bytes, new: bytes, block_bytes: int = 4096, *, in_place: bool = False) -> bytes:
    """Returns a payload from which `decode` and a device make the new file.

    Args:
        old: the older file, of a multiple of 4 bytes.
        new: the new file, of a multiple of 4 bytes.
        block_bytes: of the new file that each block of the payload makes: a power of two, at least 256.
        in_place: True if no block may use bytes of the older file before its own first byte, so that blocks which are made one
            after another can have their places in that file.

    Raises:
        ValueError: the new file has another number of bytes.
    """
    if len(new) % 4:
        raise ValueError(f"the new file has {len(new)} bytes: only files of a multiple of 4 bytes have deltas")
    if not new:
        return b""
    places = Places(old, in_place=in_place)
    blocks = [_Block(old, new[first : first + block_bytes], first, places) for first in range(0, len(new), block_bytes)]
    costs = Costs(())
    patterns: list[list[Pattern]] = []
    for turn in range(_ROUNDS):
        bits = [block.bits(costs) for block in blocks]
        if turn < _ROUNDS - 1 or not patterns:
            patterns = [patterns_of(each) for each in bits]
        chosen = segments_of(bits, patterns)
        costs = Costs([
            numbers for block, segments in zip(blocks, chosen, strict=True) for numbers in block.numbers(segments)
        ])  # fmt: skip
    return b"".join(block.encoded(segments) for block, segments in zip(blocks, chosen, strict=True))


class _Block:
    """A block of the new file.

    Args:
        old: the older file, of a multiple of 4 bytes.
        part: the block.
        first: its place in the new file.
        places: which bytes of the older file it may be made from.
    """

    def __init__(self, old: bytes, part: bytes, first: int, places: Places) -> None:
        before, count = np.frombuffer(old, np.uint8), len(part)
        base = np.zeros(count, np.uint8)
        is_there: Flags = np.zeros(count // 4, np.bool_)
        distances = np.zeros(count // 4, np.int64)
        least, most = places.of_block(first)
        for distance, begin, end in places.stretches(part, first):
            low = min(max(begin, least - first - distance), end)
            high = max(min(end, most - first - distance), low)
            base[low:high] = before[first + distance + low : first + distance + high]
            is_there[low // 4 : high // 4] = True
            distances[begin // 4 : end // 4] = distance
        self._changes = Changes(np.frombuffer(part, np.uint8), base, is_there, distances)
        self._units = units_of(self._changes)

    def bits(self, costs: Costs) -> Floats:
        """What each word takes if it is made one way or another: `[words, ways]`."""
        found = np.zeros((len(self._changes), len(Way)))
        for way in Way:
            parts, is_possible = self._parts(way)
            for of, values, classes in parts:
                is_possible &= (values <= _MOST_NUMBER).all(axis=1)
                found[:, way] += costs.of(of, np.minimum(values, _MOST_NUMBER), classes).sum(axis=1)
            found[~is_possible, way] = _NEVER
        return found

    def _parts(self, way: Way) -> tuple[list[tuple[Numbers, Ints, Ints]], Flags]:
        """The numbers of all words, `[words, numbers]` with their set and classes, and for which words they are right."""
        changes = self._changes
        is_there = changes.is_there.copy()
        whole = changes.of(4)
        if way is Way.SAME:
            return [], is_there & (whole[:, 0] == 0)
        if way is Way.RAW:
            return [(Numbers.REST, folded(changes.raw), np.ones_like(changes.raw))], np.ones_like(is_there)
        if way in _SUMS:
            first, second, fits = self._units[_SUMS.index(way)].parts(whole)
            return [
                (Numbers.WORD, folded(first), changes.classes(4)),
                (Numbers.REST, folded(second), np.zeros_like(second)),
            ], is_there & fits[:, 0]  # fmt: skip
        width = {Way.BYTES: 1, Way.HALVES: 2, Way.WORDS: 4}[way]
        of = Numbers.WORD if width == 4 else Numbers.SMALL
        return [(of, folded(changes.of(width)), changes.classes(width))], is_there

    def numbers(self, segments: Sequence[Segment]) -> Iterator[tuple[Numbers, Ints, Ints]]:
        """Yields the numbers of all words that segments make, with their set and classes."""
        ways = np.concatenate([np.resize(np.array(each.ways), each.end - each.first) for each in segments])
        for way in Way:
            of_way = ways == way
            for of, values, classes in self._parts(way)[0]:
                yield of, values[of_way], classes[of_way]

    def encoded(self, segments: Sequence[Segment]) -> bytes:
        """The bytes of the block."""
        to, distance, unit = Encoder(), 0, Unit(0, 0)
        words = {way: self._listed(way) for way in {way for each in segments for way in each.ways}}
        for segment in self._cut(segments):
            settings = []
            wanted = int(self._changes.distances[segment.first])
            if wanted != distance and set(segment.ways) != {Way.RAW}:
                settings.append(folded_number((wanted - distance) // 4) << 1)
                distance = wanted
            of_sums = next((self._units[_SUMS.index(way)] for way in segment.ways if way in _SUMS), unit)
            if of_sums != unit:
                unit = of_sums
                settings.append((unit.unit << 5 | unit.shift) << 1 | 1)
            if settings:
                to.number(Numbers.COMMAND, len(settings) - 1)
                for setting in settings:
                    to.number(Numbers.COMMAND, setting, 1)
            period = len(segment.ways)
            to.number(Numbers.COMMAND, (segment.end - segment.first) * MOST_PERIOD + period - 1)
            for way in segment.ways:
                to.number(Numbers.COMMAND, Kind.SUMS if way in _SUMS else way, 1)
            for word in range(segment.first, segment.end):
                for of, value, kind in words[segment.ways[(word - segment.first) % period]][word]:
                    to.number(of, value, kind)
        return to.end()

    def _cut(self, segments: Sequence[Segment]) -> Iterator[Segment]:
        """Segments, each of words at the same distance."""
        edges = np.flatnonzero(np.diff(self._changes.distances)) + 1
        for each in segments:
            cuts = [each.first, *edges[(edges > each.first) & (edges < each.end)].tolist(), each.end]
            yield from (each.cut(first, end) for first, end in pairwise(cuts))

    def _listed(self, way: Way) -> list[list[tuple[Numbers, int, int]]]:
        """The numbers of each word with their set and classes, in the order in which they are coded."""
        found: list[list[tuple[Numbers, int, int]]] = [[] for _ in range(len(self._changes))]
        for of, values, classes in self._parts(way)[0]:
            for word, (its, kinds) in enumerate(zip(values.tolist(), classes.tolist(), strict=True)):
                found[word] += [(of, value, kind) for value, kind in zip(its, kinds, strict=True)]
        return found
