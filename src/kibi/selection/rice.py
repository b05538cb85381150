"""Golomb-Rice codes of weights, channel by channel: the form that `kibi_fully_connected_s8_rice` decodes.

A channel has k low bits and an offset. A weight moved by the offset, `w + offset`, has a multiple `m` of `2**k`, and k low bits.
Its code is a unary number of zeros, a one, and the low bits. The number of zeros is 0, 1, 2, 3, 4 … for a multiple of 0, 1, -1, 2,
-2 …. So the cheapest weights are the `2**k` ones from `-offset` on: each channel has them where its own weights are most frequent.
The kernel computes with weights that are higher by `2**k + offset`: rule N49.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array

MOST_BITS = 12
"""Bits of the longest code: the kernel finds two codes in each window of its stream."""
WINDOW_BYTES = 4
"""Bytes of a window, which begins in any of the stream's bytes but the last three."""
_MOST_K = 7
_LEAST, _VALUES = -128, 256
_TOO_LONG = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class RiceCodes:
    """Coded weights.

    Attributes:
        stream: `[bytes]` u8, the codes from the last byte to the first, from the highest bit of each to the lowest; zeros at the
            start. So a core that stores the lowest byte of a word first loads a window as a word.
        codings: `[O]` u8, `2**k + offset` of each channel.
    """

    stream: NDArray[np.uint8]
    codings: NDArray[np.uint8]

    @property
    def size_bytes(self) -> int:
        """The bytes of both."""
        return self.stream.nbytes + self.codings.nbytes


def encode(weights: Array, pieces: int = 1) -> RiceCodes:
    """Returns the codes of weights: for each channel those of the k and the offset with which they take the fewest bits.

    Args:
        weights: `[O, depth]` s8, none of them empty.
        pieces: equal parts of `depth`, whose codes come one after another: of each piece, those of all channels. With one piece
            they come channel after channel.
    """
    _, lengths = _tables()
    values = weights.astype(np.int64) - _LEAST
    channels = len(values)
    places = values + _VALUES * np.arange(channels)[:, None]
    counts = np.bincount(places.reshape(-1), minlength=_VALUES * channels).reshape(channels, _VALUES)
    best = (counts @ lengths.T).argmin(axis=1)
    parts = values.reshape(channels, pieces, -1)
    bits = [_bits(parts[channel, piece], best[channel]) for piece in range(pieces) for channel in range(channels)]
    stream = np.packbits(np.concatenate(bits))
    # A window that begins with the last bit ends three bytes after it.
    padded = np.pad(stream, (0, WINDOW_BYTES - 1))
    return RiceCodes(np.ascontiguousarray(padded[::-1]), (best + 1).astype(np.uint8))


def _bits(values: NDArray[np.int64], coding: np.int64) -> NDArray[np.uint8]:
    """The bits of a channel's codes; values and coding are places in the tables."""
    patterns, lengths = (table[coding, values] for table in _tables())
    ends = np.cumsum(lengths)
    places = np.repeat(ends, lengths) - 1 - np.arange(ends[-1])
    bits: NDArray[np.int64] = np.repeat(patterns, lengths) >> places & 1
    return bits.astype(np.uint8)


def decode(stream: Array, codings: Array, pieces: int, piece: int, *, by_piece: bool = False) -> NDArray[np.int64]:
    """Returns the weights `[O, pieces * piece]` as the kernel decodes them; whatever the bytes are, it reads none outside of them.

    Args:
        stream: `[bytes]`, at least `WINDOW_BYTES`, as of `RiceCodes`; signed or not.
        codings: `[O]`, signed or not.
        pieces: of each vector.
        piece: weights of a piece, in which codes are read two by two.
        by_piece: True if codes come piece after piece, as `encode` writes them for several pieces; else channel after channel.
    """
    data = stream.tobytes()[::-1]
    last, at = 8 * (len(data) - WINDOW_BYTES) + 7, 0
    own, channels = codings.tobytes(), range(len(codings))
    order = (
        [(o, p) for p in range(pieces) for o in channels]
        if by_piece
        else [(o, p) for o in channels for p in range(pieces)]
    )
    found = np.zeros((len(codings), pieces, piece), np.int64)
    for channel, number in order:
        coding = own[channel]
        k = max(coding.bit_length() - 1, 0)
        for place in range(piece):
            if place % 2 == 0:
                at = min(at, last)
                window = int.from_bytes(data[at >> 3 : (at >> 3) + WINDOW_BYTES], "big") << (at & 7) & 0xFFFFFFFF
            zeros = min(32 - window.bit_length(), MOST_BITS - 1)
            window = window << zeros & 0xFFFFFFFF
            multiple = (zeros + 1) // 2 * (1 if zeros % 2 else -1)
            found[channel, number, place] = (multiple << k) + (window >> 31 - k) - coding
            window = window << k + 1 & 0xFFFFFFFF
            at += zeros + 1 + k
    return found.reshape(len(codings), -1)


@cache
def _tables() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each coding from 1 on, the pattern and the length of each weight's code: `[255, 256]`; too long ones are very long."""
    codings = np.arange(1, 2 << _MOST_K)[:, None]
    k = np.floor(np.log2(codings)).astype(np.int64)
    moved = np.arange(_LEAST, _LEAST + _VALUES) + codings - (1 << k)
    multiple = moved >> k
    zeros = np.where(multiple > 0, 2 * multiple - 1, -2 * multiple)
    pattern = (1 << k) + (moved & (1 << k) - 1)
    lengths = zeros + 1 + k
    return pattern, np.where(lengths > MOST_BITS, _TOO_LONG, lengths)
