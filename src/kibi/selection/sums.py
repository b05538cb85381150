"""Proves the range of a layer's sums, so that a kernel may requantize them in few instructions: rules N20 and N52."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.quant import requantize

MOST_SIZE = (1 << 15) - 1
"""The limit of a layer's sizes in a packed struct, which has 16 bits for each."""
_MOST_MAGNITUDE = 1 << 30
"""Sums below it can be doubled in 32 bits."""
_QUARTER = 1 << 30
"""The multiplier that, with a shift to the right by one, divides by four."""


@dataclass(frozen=True, slots=True, eq=False)
class SimpleSums:
    """Constants `[O]` with which six instructions requantize every sum: it can be doubled, and is shifted to the right.

    Attributes:
        bias: s32, with the input's zero point folded in, so that sums are of inputs as they are stored: -128 … 127.
        multiplier: 0 … 2**31 - 1.
        shift: -31 … -1.
    """

    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]


def simple_sums(
    weights: NDArray[np.int8],
    bias: Array,
    multiplier: Array,
    shift: Array,
    *,
    limit: int = _MOST_MAGNITUDE,
) -> SimpleSums | None:
    """Returns constants for which the rule holds and that give the same outputs; None if there are none.

    Args:
        weights: `[O, K]`, of each output channel.
        bias: `[O]`, as in the result.
        multiplier: `[O]`, rule N4.
        shift: `[O]`, rule N4.
        limit: sums stay below it in magnitude.
    """
    sums = SimpleSums(bias.astype(np.int32), multiplier.astype(np.int32), shift.astype(np.int8))
    # A channel without weights has one sum, however large: a small one with the same scaled value replaces it.
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        scaled = requantize(sums.bias[empty], sums.multiplier[empty], sums.shift[empty].astype(np.int32))
        is_small = abs(scaled) < _MOST_MAGNITUDE
        empty, scaled = empty[is_small], scaled[is_small]
        sums.bias[empty] = 4 * np.clip(scaled, -512, 512)
        sums.multiplier[empty], sums.shift[empty] = _QUARTER, -1
    above = np.maximum(weights, 0).sum(axis=1, dtype=np.int64)
    below = np.minimum(weights, 0).sum(axis=1, dtype=np.int64)
    most = 127 * above - 128 * below + sums.bias
    least = -128 * above + 127 * below + sums.bias
    is_small = (most < limit) & (least > -limit)
    return sums if np.all(is_small & (sums.shift < 0) & (sums.multiplier >= 0)) else None


_SHIFTS = (-17, -1)
"""The least and the largest shift of wide sums that the factor of one multiplication can hold."""


def wide_factors(weights: NDArray[np.int8], bias: Array, multiplier: Array, shift: Array) -> NDArray[np.int32] | None:
    """Returns factors `[O]` with which one multiplication scales every wide sum of s16 inputs (rule N52); None if there are none.

    Args:
        weights: `[O, K]`, of each output channel.
        bias: `[O]` s64.
        multiplier: `[O]`, of rule N26.
        shift: `[O]`, of rule N26.
    """
    above = np.maximum(weights, 0).sum(axis=1, dtype=np.int64)
    below = np.minimum(weights, 0).sum(axis=1, dtype=np.int64)
    most = 32767 * above - 32768 * below + bias
    least = -32768 * above + 32767 * below + bias
    upper = np.minimum((multiplier.astype(np.int64) + (1 << 15)) >> 16, 0x7FFF)
    powers = shift.astype(np.int64)
    are_small = (most < 1 << 31) & (least >= -(1 << 31))
    if not np.all(are_small & (powers >= _SHIFTS[0]) & (powers <= _SHIFTS[1])):
        return None
    factors: NDArray[np.int32] = (upper << (17 + powers)).astype(np.int32)
    return factors
