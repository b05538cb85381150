"""Channels of convolutions of floats that are constants while the input is small: their sums are lost in the rounding of the bias.

A penalty on weights during training makes such channels: it moves all their weights close to zero.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BLOCK = 16
"""Channels that kernels compute together."""
_LEAST_LIMIT = 4096.0
"""Of the input's elements in magnitude, far above what layers make: a channel that is constant only below it is computed."""
_LEAST_BLOCKS = 8
"""One of so many blocks must be left out at least: putting the others in their places takes time, too."""
_HALF_STEP = 2.0**-24
"""A rounded number is off by this part at most."""
_TINY = 2.0**-149
"""The smallest subnormal number: a product below it may be rounded to it."""


@dataclass(frozen=True, slots=True)
class QuietChannels:
    """The channels of a layer, those that are computed first.

    Attributes:
        order: `[O]`, the channels.
        loud: how many are computed in any case, a multiple of 16.
        constants: `[O]`, what each quiet channel is, in the order of the output; of others a number without meaning.
        limit: as long as no element of the input is larger in magnitude, quiet channels are these numbers.
    """

    order: NDArray[np.int32]
    loud: int
    constants: NDArray[np.float32]
    limit: float


def quiet_channels(
    weights: NDArray[np.float32], bias: NDArray[np.float32], clamps: tuple[float, float]
) -> QuietChannels | None:
    """Returns the quiet channels of a layer; None where they are too few.

    Args:
        weights: `[O, K]`, finite.
        bias: `[O]`.
        clamps: the least and the greatest output.
    """
    low, high = np.float32(clamps[0]), np.float32(clamps[1])
    limits = _limits(weights, bias, low, high)
    is_quiet = limits >= _LEAST_LIMIT
    blocks = -(-len(bias) // _BLOCK)
    loud = max(1, -(-int((~is_quiet).sum()) // _BLOCK))
    if (blocks - loud) * _LEAST_BLOCKS < blocks or loud >= blocks:
        return None
    order = np.argsort(is_quiet, kind="stable").astype(np.int32)
    left_out = order[loud * _BLOCK :]
    limit = float(np.nextafter(np.float32(limits[left_out].min()), np.float32(0)))
    constants = np.minimum(np.maximum(bias, low), high)
    return QuietChannels(order, loud * _BLOCK, constants, limit)


def _limits(
    weights: NDArray[np.float32], bias: NDArray[np.float32], low: np.float32, high: np.float32
) -> NDArray[np.float64]:
    """Returns for each channel how large elements of the input may be for which the output is the clamped bias, bit by bit.

    Sums begin with 0, and each product and each sum is rounded. What comes out is between what comes out for the least and for the
    greatest sum, because neither adding a bias nor clamping changes an order.
    """
    count = weights.shape[1]
    reach = np.abs(weights.astype(np.float64)).sum(axis=1) * (1 + _HALF_STEP) ** (count + 2)
    # Half of the smaller of both distances to the next numbers: a smaller sum is lost in the bias.
    steps = np.abs(bias.astype(np.float64)) - np.nextafter(np.abs(bias), np.float32(0)).astype(np.float64)
    room = steps / 2
    # A bias that the clamps cut off may be moved up to them.
    room = np.where(bias < low, np.maximum(room, (np.float64(low) - bias) / 2), room)
    room = np.where(bias > high, np.maximum(room, (bias - np.float64(high)) / 2), room)
    is_known = np.isfinite(bias) & (bias != 0)
    usable = np.where(is_known, room - 2 * count * _TINY, 0.0)
    most = float(np.finfo(np.float32).max) / 2
    # If all weights are zero, any input is small enough. The smallest positive number replaces their reach.
    limits = usable * (1 - 2.0**-20) / np.maximum(reach, _TINY)
    return np.minimum(np.where(usable > 0, limits, 0.0), most)
