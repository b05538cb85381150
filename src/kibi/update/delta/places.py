"""Which bytes of the older file each part of the new one is made from."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_PIECE = 32
"""Bytes of the pieces that a search begins with."""
_MATCH = 16
"""Bytes that must be equal for a place in the older file to be tried."""
_PLACES = 4
"""Places that are tried for a block."""
_MOVE_BITS = 32
"""About what it takes to go on at another place."""

Bytes = NDArray[np.uint8]


class Places:
    """Where bytes are in the older file.

    Args:
        old: that file.
        in_place: True if a block may be made from none before its own first byte.
    """

    def __init__(self, old: bytes, *, in_place: bool = False) -> None:
        self._old, self._in_place = np.frombuffer(old, np.uint8), in_place
        self._found: dict[bytes, int] = {}
        places = range(0, len(old) - _MATCH + 1, 4)
        for place in places if in_place else reversed(places):  # of several, the last one is kept, or the first one
            self._found[old[place : place + _MATCH]] = place

    def of_block(self, first: int) -> tuple[int, int]:
        """The first byte of the older file that a block may be made from, and the end of all.

        Args:
            first: the place of the block in the new file.
        """
        return first if self._in_place else 0, len(self._old) // 4 * 4

    def stretches(self, part: bytes, first: int) -> Iterator[tuple[int, int, int]]:
        """Yields parts of a block, each with the distance to the bytes of the older file that differ least from it.

        Args:
            part: the block.
            first: its place in the new file.

        Yields:
            The distance from a part's place in the new file, and its begin and end in the block: multiples of 4.
        """
        distances = self._distances(part, first)
        pieces = -(-len(part) // _PIECE)
        bits = np.array([self._piece_bits(np.frombuffer(part, np.uint8), first, each, pieces) for each in distances])
        path = _cheapest(bits) if len(distances) > 1 else [0] * pieces
        begin = 0
        for piece in range(1, pieces + 1):
            if piece == pieces or path[piece] != path[begin]:
                yield distances[path[begin]], begin * _PIECE, min(piece * _PIECE, len(part))
                begin = piece

    def _distances(self, part: bytes, first: int) -> list[int]:
        """How far the bytes may have moved, first: not at all."""
        votes: Counter[int] = Counter()
        for place in range(0, len(part) - _MATCH + 1, 4):
            found = self._found.get(part[place : place + _MATCH])
            if found is not None:
                votes[found - first - place] += 1
        return list(dict.fromkeys([0, *(distance for distance, _ in votes.most_common(_PLACES))]))

    def _piece_bits(self, part: Bytes, first: int, distance: int, pieces: int) -> NDArray[np.float64]:
        """About what each piece of a block takes, if it is made from bytes of the older file at a distance."""
        bits, at = np.full(pieces * _PIECE, 8.0), first + distance
        least, end = self.of_block(first)
        low, high = max(0, least - at), min(len(part), end - at)
        if low < high:
            change = part[low:high].astype(np.int16) - self._old[at + low : at + high]
            far = np.minimum(abs(change), 256 - abs(change))
            bits[low:high] = np.where(far == 0, 0.1, np.minimum(8, 2.5 + 2 * np.log2(np.maximum(far, 1))))
        bits[len(part) :] = 0
        found: NDArray[np.float64] = bits.reshape(pieces, _PIECE).sum(axis=1)
        return found


def _cheapest(bits: NDArray[np.float64]) -> Sequence[int]:
    """Which distance each piece has where all take the fewest bits.

    Args:
        bits: `[distances, pieces]`.
    """
    count, pieces = bits.shape
    best, came = bits[:, 0].copy(), np.zeros((pieces, count), np.int64)
    for piece in range(1, pieces):
        cheapest = int(best.argmin())
        stays = best <= best[cheapest] + _MOVE_BITS
        came[piece] = np.where(stays, np.arange(count), cheapest)
        best = np.where(stays, best, best[cheapest] + _MOVE_BITS) + bits[:, piece]
    which, path = int(best.argmin()), list[int]()
    for piece in range(pieces - 1, -1, -1):
        path.append(which)
        which = int(came[piece, which])
    return path[::-1]
