"""Constants for kernels that multiply sums by a doubled multiplier, which must not be below 2**31, and shift them right."""

import numpy as np
from numpy.typing import NDArray

from kibi.selection.sums import Channels, SimpleSums, simple_sums

LEAST_MULTIPLIER = 1 << 30
"""Of kernels that double multipliers."""


def normalized_sums(channels: Channels) -> tuple[NDArray[np.int8], SimpleSums] | None:
    """Weights and constants that give the same outputs, each multiplier 2**30 … 2**31 - 1; or None where there are none."""
    # A multiplier of zero makes nothing of any sum; no weights and no bias do, too.
    is_alive = channels.multiplier != 0
    alive: NDArray[np.int8] = np.where(is_alive[:, None], channels.weights, 0).astype(np.int8)
    sums = simple_sums(
        alive,
        np.where(is_alive, channels.bias, 0).astype(np.int32),
        channels.multiplier,
        np.where(is_alive, channels.shift, -1).astype(np.int8),
    )
    if sums is None or sums.multiplier.min() < LEAST_MULTIPLIER:
        return None
    return alive, sums


def doubled(sums: SimpleSums) -> NDArray[np.int32]:
    """Returns the multipliers doubled, less 2**32: the values that wrap in 32 bits."""
    return (sums.multiplier.astype(np.int64) * 2 - (1 << 32)).astype(np.int32)


def side_by_side(lower: NDArray[np.signedinteger], upper: NDArray[np.signedinteger]) -> NDArray[np.int32]:
    """Words with a number of up to 16 bits in each half, of arrays of one shape."""
    words: NDArray[np.int32] = ((upper.astype(np.int32) << 16) | (lower.astype(np.int32) & 0xFFFF)).astype(np.int32)
    return words
