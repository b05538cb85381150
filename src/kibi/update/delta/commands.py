"""Chooses the commands of a block: kinds of words, and patterns of kinds, that take the fewest bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from kibi.update.delta.changes import Floats, Ints
from kibi.update.delta.form import MOST_PERIOD, Kind

_COMMAND_BITS = 12.0
"""What a command takes about."""
_COLUMN_BITS = 2.0
"""What a word more of a pattern takes about."""
_WINDOWS = (96, 256)
"""Words in which patterns are looked for."""
_LEAST_WORDS = 24
_LEAST_TURNS = 3
"""So often a pattern repeats at least in a window."""
_MOST_PERIODS = 4
"""That are tried for a window."""


class Way(IntEnum):
    """How a word is made: the kinds, and sums of a second unit."""

    RAW = Kind.RAW
    BYTES = Kind.BYTES
    HALVES = Kind.HALVES
    SAME = Kind.SAME
    WORDS = Kind.WORDS
    SUMS = Kind.SUMS
    OTHER_SUMS = 6


_SETS = tuple(np.array([way for way in Way if way is not without]) for without in (Way.OTHER_SUMS, Way.SUMS))
"""Ways that a pattern may have: a command has one unit."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Words that one command makes.

    Attributes:
        first, end: the words, in their block.
        ways: of the first words; those after them repeat.
    """

    first: int
    end: int
    ways: tuple[Way, ...]

    def cut(self, first: int, end: int) -> "Segment":
        """The part of these words that is between two."""
        period, size = len(self.ways), end - first
        return Segment(
            first, end, tuple(self.ways[(first - self.first + k) % period] for k in range(min(period, size)))
        )


@dataclass(frozen=True, slots=True)
class Pattern:
    """Ways that repeat: word k of a block has number k modulo their number."""

    ways: tuple[int, ...]


def patterns_of(bits: Floats) -> list[Pattern]:
    """Returns patterns that may be worth a command.

    Args:
        bits: `[words, ways]`, what each word of a block takes.
    """
    found: dict[Pattern, None] = {}
    for window in _WINDOWS:
        for first in range(0, len(bits), window // 2):
            part = bits[first : first + window]
            if len(part) >= _LEAST_WORDS:
                for ways in _SETS:
                    best = _pattern_of(part[:, ways], first, ways)
                    if best is not None:
                        found[best] = None
    return list(found)


def _pattern_of(bits: Floats, first: int, ways: Ints) -> Pattern | None:
    """The best pattern of a window, if it is better than one way for all of it."""
    count, most = len(bits), bits.sum(axis=0).min() - _COMMAND_BITS
    if most <= bits.min(axis=1).sum():
        return None
    best: tuple[float, Ints] | None = None
    for period in _periods(bits.argmin(axis=1)):
        turns = count // period
        columns = bits[: turns * period].reshape(turns, period, -1).sum(axis=0)
        chosen = columns.argmin(axis=1)
        rest = bits[turns * period :][np.arange(count - turns * period), chosen[: count - turns * period]]
        cost = float(columns.min(axis=1).sum() + rest.sum()) + _COLUMN_BITS * period
        if cost < most:
            best, most = (cost, chosen), cost
    if best is None:
        return None
    return Pattern(tuple(np.roll(ways[best[1]], first % len(best[1])).tolist()))


def _periods(best: Ints) -> Sequence[int]:
    """After how many words the best ways repeat most often: a few periods."""
    longest = min(MOST_PERIOD, len(best) // _LEAST_TURNS)
    likeness = [float((best[:-period] == best[period:]).mean()) for period in range(2, longest + 1)]
    found: Sequence[int] = (2 + np.argsort(-np.array(likeness), kind="stable")[:_MOST_PERIODS]).tolist()
    return found


def segments_of(bits: Sequence[Floats], patterns: Sequence[Sequence[Pattern]]) -> list[list[Segment]]:
    """Returns the segments of each block.

    Args:
        bits: `[words, ways]` of each block, what each word takes.
        patterns: of each block.
    """
    blocks, words = len(bits), max(len(each) for each in bits)
    states = len(Way) + max(len(each) for each in patterns)
    cost, start = np.zeros((words, blocks, states)), np.full((blocks, states), np.inf)
    start[:, : len(Way)] = _COMMAND_BITS
    for block, (each, its) in enumerate(zip(bits, patterns, strict=True)):
        count = len(each)
        cost[:count, block, : len(Way)] = each
        for number, pattern in enumerate(its, len(Way)):
            ways = np.resize(np.array(pattern.ways), count)
            cost[:count, block, number] = each[np.arange(count), ways]
            start[block, number] = _COMMAND_BITS + _COLUMN_BITS * len(pattern.ways)
    paths = _paths(cost, start)
    return [_segments(path[: len(each)], its) for path, each, its in zip(paths.T.tolist(), bits, patterns, strict=True)]


def _paths(cost: Floats, start: Floats) -> Ints:
    """The states `[words, blocks]` of all words, where all take the fewest bits: Viterbi's algorithm, for all blocks at once."""
    words, blocks, states = cost.shape
    came, which, rows = np.zeros((words, blocks, states), np.int16), np.arange(states), np.arange(blocks)
    best = cost[0] + start
    for word in range(1, words):
        cheapest = best.argmin(axis=1)
        jump = best[rows, cheapest][:, None] + start
        stays = best <= jump
        came[word] = np.where(stays, which, cheapest[:, None])
        best = np.where(stays, best, jump) + cost[word]
    paths = np.zeros((words, blocks), np.int64)
    paths[-1] = best.argmin(axis=1)
    for word in range(words - 1, 0, -1):
        paths[word - 1] = came[word, rows, paths[word]]
    return paths


def _segments(path: Sequence[int], patterns: Sequence[Pattern]) -> list[Segment]:
    found, first = [], 0
    for end in range(1, len(path) + 1):
        if end == len(path) or path[end] != path[first]:
            ways = (path[first],) if path[first] < len(Way) else patterns[path[first] - len(Way)].ways
            turned = tuple(Way(ways[(first + k) % len(ways)]) for k in range(min(len(ways), end - first)))
            found.append(Segment(first, end, turned))
            first = end
    return found
