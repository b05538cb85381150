"""Makes the payload of a delta: block by block, the commands that take the fewest bytes that a search finds."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kibi.update.delta.form import MOST_PERIOD, MOVES, UNLIMITED, WIDTHS, Command, folded, number_bytes
from kibi.update.delta.rice import Coding, Ints, coding

_PIECE = 32
"""Bytes of the pieces that a search begins with."""
_MATCH = 16
"""Bytes that must be equal for a place in the older file to be tried."""
_PLACES = 4
"""Places that are tried for a block."""
_MOVE_BITS = 32
"""About what it takes to go on at another place."""
_LEAST_SPAN = 3
"""Neighbours of which several are tried as one."""
_LEAST_TURNS = 3
"""So often a pattern repeats at least."""
_NEARLY = 1.25
"""So many times the bits of the best way, and a way is tried further."""
_MOST_PERIODS = 3
"""Of which patterns are tried."""
_MOST_SPAN_BYTES = 2560
"""Bytes of them at most."""
_HEAD_BITS = 16
"""What the first number of a command takes."""

Bytes = NDArray[np.uint8]


def encode(old: bytes, new: bytes, block_bytes: int = 4096) -> bytes:
    """Returns a payload from which `decode` and a device make the new file.

    Args:
        old: the older file.
        new: the new file.
        block_bytes: of the new file that each block of the payload makes, at least 256.
    """
    before, after = np.frombuffer(old, np.uint8), np.frombuffer(new, np.uint8)
    places = _Places(old)
    return b"".join(
        _block(before, after[first : first + block_bytes], first, places.of(new[first : first + block_bytes], first))
        for first in range(0, len(new), block_bytes)
    )


class _Places:
    """Where bytes are in the older file."""

    def __init__(self, old: bytes) -> None:
        self._size = len(old)
        self._first: dict[bytes, int] = {}
        for place in range(0, len(old) - _MATCH + 1, 4):
            self._first.setdefault(old[place : place + _MATCH], place)

    def of(self, part: bytes, first: int) -> list[int]:
        """Returns how far bytes may have moved, the same place first: distances from the new file's places to the older one's.

        Args:
            part: the bytes.
            first: their place in the new file.
        """
        votes: Counter[int] = Counter()
        for place in range(len(part) - _MATCH + 1):
            found = self._first.get(part[place : place + _MATCH])
            if found is not None:
                votes[found - first - place] += 1
        return list(dict.fromkeys([0, *(distance for distance, _ in votes.most_common(_PLACES))]))


def _block(old: Bytes, part: Bytes, first: int, distances: Sequence[int]) -> bytes:
    """The commands of a block."""
    made, place = bytearray(), first
    for distance, begin, end in _stretches(old, part, first, distances):
        at = first + begin + distance
        for segment in _segments(old, part[begin:end], at):
            moves = segment.place - place if segment.command is not Command.RAW else 0
            made += segment.encoded(moves)
            place += moves + len(segment.after)
    return bytes(made)


def _stretches(old: Bytes, part: Bytes, first: int, distances: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yields the distance of each stretch of a block, and its begin and end in the block: those that change least."""
    pieces = -(-len(part) // _PIECE)
    costs = np.array([_piece_bits(old, part, first + distance, pieces) for distance in distances])
    best, came = costs[:, 0].copy(), np.zeros((pieces, len(distances)), np.int64)
    for piece in range(1, pieces):
        cheapest = int(best.argmin())
        stays = best <= best[cheapest] + _MOVE_BITS
        came[piece] = np.where(stays, np.arange(len(distances)), cheapest)
        best = np.where(stays, best, best[cheapest] + _MOVE_BITS) + costs[:, piece]
    which, path = int(best.argmin()), list[int]()
    for piece in range(pieces - 1, -1, -1):
        path.append(which)
        which = int(came[piece, which])
    path.reverse()
    begin = 0
    for piece in range(1, pieces + 1):
        if piece == pieces or path[piece] != path[begin]:
            yield distances[path[begin]], begin * _PIECE, min(piece * _PIECE, len(part))
            begin = piece


def _piece_bits(old: Bytes, part: Bytes, at: int, pieces: int) -> NDArray[np.float64]:
    """About what each piece of a block takes, if it is made from bytes of the older file from a place on."""
    bits = np.full(pieces * _PIECE, 8.0)
    low, high = max(0, -at), min(len(part), len(old) - at)
    if low < high:
        change = part[low:high].astype(np.int16) - old[at + low : at + high]
        far = np.minimum(abs(change), 256 - abs(change))
        bits[low:high] = np.where(far == 0, 0.1, np.minimum(8, 2.5 + 2 * np.log2(np.maximum(far, 1))))
    bits[len(part) :] = 0
    found: NDArray[np.float64] = bits.reshape(pieces, _PIECE).sum(axis=1)
    return found


@dataclass(frozen=True, eq=False)
class _Segment:
    """A command: the bytes that it makes, those of the older file, and how.

    Attributes:
        before: bytes of the older file; empty where it does not have them.
        after: bytes of the new file.
        place: of the first one of `before`.
        has_patterns: True if patterns may be tried.
    """

    before: Bytes
    after: Bytes
    place: int
    has_patterns: bool = False

    def joined(self, other: "_Segment") -> "_Segment":
        """This and the one after it as one."""
        is_there = len(self.before) == len(self.after) and len(other.before) == len(other.after)
        before = np.concatenate([self.before, other.before]) if is_there else self.before[:0]
        return _Segment(before, np.concatenate([self.after, other.after]), self.place, self.has_patterns)

    @property
    def command(self) -> Command:
        """What makes the bytes best."""
        return self._best[0]

    @property
    def bits(self) -> int:
        """What the command takes, its head included."""
        return self._best[1]

    @cached_property
    def _best(self) -> tuple[Command, int, "_Pattern | None"]:
        size = len(self.after)
        if len(self.before) < size:
            return Command.RAW, _HEAD_BITS + 8 * size, None
        if (self.before == self.after).all():
            return Command.COPY, _HEAD_BITS, None
        found: list[tuple[int, Command, _Pattern | None]] = [(_HEAD_BITS + 8 * size, Command.RAW, None)]
        for width in WIDTHS:
            if size % width == 0:
                least = min(bits for bits, _, _ in found)
                its = coding(width, self._changes(width))
                if width == WIDTHS[-1] and its.bits < _NEARLY * least:
                    its = coding(width, self._changes(width), has_parts=True)
                plain = _Pattern((its,), 1, 0, size // width)
                found.append((_HEAD_BITS + plain.bits, Command.CHANGE, plain))
        if self.has_patterns and size % 4 == 0:
            found += [(_HEAD_BITS + each.bits, Command.PATTERN, each) for each in self._patterns()]
        bits, command, pattern = min(found, key=lambda each: each[0])
        return command, bits, pattern

    def _changes(self, width: int) -> Ints:
        kind = f"<u{width}"
        change = self.after.view(kind).astype(np.int64) - self.before.view(kind)
        half = 1 << 8 * width - 1
        centred: Ints = (change + half) % (2 * half) - half
        return centred

    def _patterns(self) -> "Iterator[_Pattern]":
        """Patterns of words that are one number, among words of smaller ones."""
        words = self._changes(4)
        count = len(words)
        for width in (1, 2):
            lanes = self._changes(width).reshape(count, -1)
            found = [_split(words, lanes, period) for period in _periods(lanes)]
            if not found:
                continue
            _, chosen = min(found, key=lambda each: each[0])
            period = len(chosen)
            is_number = chosen[np.arange(count) % period]
            mask = sum(1 << k for k in np.flatnonzero(chosen).tolist())
            codings = coding(width, lanes[~is_number].reshape(-1)), coding(4, words[is_number], has_parts=True)
            yield _Pattern(codings, period, mask, count)

    def encoded(self, moves: int) -> bytes:
        """The bytes of the command, whose place moves by so many bytes."""
        command, _, pattern = self._best
        head = number_bytes(len(self.after) << 3 | command | (MOVES if moves else 0))
        head += number_bytes(folded(moves)) if moves else b""
        if command is Command.RAW:
            return head + self.after.tobytes()
        return head if pattern is None else head + pattern.encoded(command)


def _periods(lanes: Ints) -> list[int]:
    """Returns after how many words the size of differences repeats most likely: a few periods.

    Args:
        lanes: `[words, lanes]`, the differences in each word.
    """
    sizes = np.log2(1 + abs(lanes)).max(axis=1)
    sizes -= sizes.mean()
    most = min(MOST_PERIOD, len(sizes) // _LEAST_TURNS)
    likeness = [float(sizes[:-period] @ sizes[period:]) / (len(sizes) - period) for period in range(2, most + 1)]
    return (2 + np.argsort(-np.array(likeness), kind="stable")[:_MOST_PERIODS]).tolist() if likeness else []


def _split(words: Ints, lanes: Ints, period: int) -> tuple[float, NDArray[np.bool_]]:
    """Returns which columns of a period are better one number a word, and about the bits that all take then.

    Args:
        words: `[words]`, the differences of 32-bit numbers.
        lanes: `[words, lanes]`, those of the smaller numbers in each.
        period: words of a row.
    """
    column = np.arange(len(words)) % period
    counts = np.bincount(column, minlength=period).astype(float)
    sizes = np.array([
        [np.bincount(column, (words != 0).astype(float), period), np.bincount(column, abs(words).astype(float), period)],
        [np.bincount(column, (lanes != 0).sum(axis=1), period), np.bincount(column, abs(lanes).sum(axis=1), period)],
    ])  # fmt: skip
    order = np.argsort(-sizes[1, 1] / np.maximum(sizes[1, 0], 1), kind="stable")
    one = np.cumsum(np.vstack([counts, *sizes[0]])[:, order], axis=1)
    many = np.vstack([counts * lanes.shape[1], *sizes[1]])[:, order]
    rest = many.sum(axis=1, keepdims=True) - np.cumsum(many, axis=1)
    bits = (_expected(*one) + _expected(*rest))[: period - 1] + period
    best = int(bits.argmin())
    chosen = np.zeros(period, np.bool_)
    chosen[order[: best + 1]] = True
    return float(bits[best]), chosen


def _expected(
    elements: NDArray[np.float64], changed: NDArray[np.float64], size: NDArray[np.float64]
) -> NDArray[np.float64]:
    """About the bits of differences: how many elements there are, how many change, and by how much all together."""
    share = np.clip(changed / np.maximum(elements, 1), 1e-9, 1 - 1e-9)
    same = -elements * (share * np.log2(share) + (1 - share) * np.log2(1 - share))
    found: NDArray[np.float64] = same + changed * (1.5 + np.log2(1 + size / np.maximum(changed, 1)))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Pattern:
    """Elements of one class, or of two by turns.

    Attributes:
        codings: of the classes.
        period: words after which it repeats.
        mask: which of them have the second class, as bits.
        words: how many there are; of one class, elements.
    """

    codings: tuple[Coding, ...]
    period: int
    mask: int
    words: int

    @property
    def bits(self) -> int:
        """All of it, with its parameters."""
        head = 24 if len(self.codings) == 1 else 48 + 8 + 8 * -(-self.period // 8)
        return head + (sum(each.bits for each in self.codings) + 7) // 8 * 8

    def encoded(self, command: Command) -> bytes:
        """Its parameters and its codes, up to a whole byte."""
        head = b""
        if command is Command.PATTERN:
            head = bytes([self.period]) + self.mask.to_bytes(-(-self.period // 8), "little")
        head += b"".join(each.its.packed for each in self.codings)
        bits = "".join(self._codes())
        bits += "0" * (-len(bits) % 8)
        return head + int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else head

    def _codes(self) -> Iterator[str]:
        """The codes in the order in which a decoder asks for them."""
        found: list[tuple[int, str]] = []
        for which, each in enumerate(self.codings):
            width = each.its.width
            words = np.arange(self.words)
            mine = words[(self.mask >> words % self.period & 1) == which] if self.period > 1 else words
            places = (4 * mine[:, None] + np.arange(0, 4, width)).reshape(-1) if self.period > 1 else words * width
            found += [(int(places[element]), code) for element, code in _codes_of(each)]
        found.sort(key=lambda code: code[0])
        yield from (code for _, code in found)


def _codes_of(each: Coding) -> Iterator[tuple[int, str]]:
    """Yields the codes of a class, with the element before which a decoder asks for each."""
    element = 0
    for number, run in enumerate(each.runs.tolist()):
        code = _rice(run, each.its.run, UNLIMITED)
        if number < len(each.values):
            yield element, code
            element += run
            yield element, _rice(int(each.values[number]), each.its.value, each.its.limit)
            if each.its.unit:
                yield element, _rice(int(each.rests[number]), each.its.rest, UNLIMITED)
            element += 1
        else:
            yield element, code


def _rice(number: int, k: int, limit: int) -> str:
    """The bits of a Rice code."""
    quotient = number >> k
    end = "" if limit != UNLIMITED and quotient == limit else "0"
    return "1" * quotient + end + (f"{number & (1 << k) - 1:0{k}b}" if k else "")


def _segments(old: Bytes, part: Bytes, at: int) -> list[_Segment]:
    """The commands of a stretch that is made from one place on: pieces, joined while that saves bits."""
    whole = [_segment(old, part, at, first) for first in range(0, len(part), _PIECE)]
    return _spanned(_joined([_Segment(each.before, each.after, each.place, True) for each in _joined(whole)]))


def _segment(old: Bytes, part: Bytes, at: int, first: int) -> _Segment:
    after, place = part[first : first + _PIECE], at + first
    is_there = 0 <= place <= len(old) - len(after)
    return _Segment(old[place : place + len(after)] if is_there else old[:0], after, place)


def _joined(segments: list[_Segment]) -> list[_Segment]:
    """Neighbours joined, those first that save most, as long as any do."""
    left = list(segments)
    pairs = [one.joined(other) for one, other in pairwise(left)]
    gains = [one.bits + other.bits - pair.bits for (one, other), pair in zip(pairwise(left), pairs, strict=True)]
    while gains and max(gains) >= 0:
        place = gains.index(max(gains))
        left[place : place + 2] = [pairs[place]]
        del pairs[place], gains[place]
        for k in (place - 1, place):
            if 0 <= k < len(pairs):
                pairs[k] = left[k].joined(left[k + 1])
                gains[k] = left[k].bits + left[k + 1].bits - pairs[k].bits
    return left


def _spanned(segments: list[_Segment]) -> list[_Segment]:
    """Several neighbours as one, where a pattern that is longer than each of them saves bits."""
    left, first = list(segments), 0
    while first + _LEAST_SPAN <= len(left):
        joined, best, saved = left[first], (first, left[first]), 0
        bits = joined.bits
        for end in range(first + 1, len(left)):
            joined = joined.joined(left[end])
            bits += left[end].bits
            if len(joined.after) > _MOST_SPAN_BYTES:
                break
            if end - first + 1 >= _LEAST_SPAN and bits - joined.bits > saved:
                best, saved = (end, joined), bits - joined.bits
        left[first : best[0] + 1] = [best[1]]
        first += 1
    return left
