"""Weights in packed pairs, so that a core with the DSP extension widens each word once: sums are 256 times the true ones.

A half is 256 * the first of two weights + the second. Times the first element it makes 256 times the first product, and too much by
the second weight times the first element. That goes again with the second product, for which the second weight is taken times
256 * the second element - the first + 127: 16 bits for any two elements. So sums begin lower by 127 times the second weights.
Rule N19.
"""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.quant import wrap_s32

SUM_LIMIT = 1 << 23
"""True sums stay below it in magnitude."""
_PAIR_LEAST = -(1 << 15)


def packed_pairs(weights: Array) -> NDArray[np.int64]:
    """Weights `[…, 2 * n]` as halves `[…, n]`."""
    wide = weights.astype(np.int64)
    return 256 * wide[..., 0::2] + wide[..., 1::2]


def fit_words(packed: NDArray[np.int64]) -> bool:
    """True if all halves have 16 bits: where -128 comes first, no negative weight is the second."""
    return bool(packed.min() >= _PAIR_LEAST)


def words(packed: NDArray[np.int64]) -> NDArray[np.int32]:
    """Halves `[…, 2 * n]` as words `[…, n]`, the first in the lower half."""
    return ((packed[..., 0::2] & 0xFFFF) + (packed[..., 1::2] << 16)).astype(np.int32)


def starts(bias: Array, packed: NDArray[np.int64], shift: Array | None = None) -> NDArray[np.int32]:
    """Returns the initial values of the sums `[O]`, modulo 2**32.

    Args:
        bias: `[O]`, with -input zero point * sum of the channel's weights in it.
        packed: `[O, …]`, all halves of each channel.
        shift: `[O]`, -31 … -1: each sum's lowest byte will be its inverted shift; None: it will be 0.
    """
    seconds: NDArray[np.int64] = ((packed + 128) % 256 - 128).reshape(len(packed), -1).sum(axis=1)
    inverted = 0 if shift is None else ~shift.astype(np.int64)
    return wrap_s32(256 * bias.astype(np.int64) - 127 * seconds + inverted).astype(np.int32)
