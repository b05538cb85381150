"""Shared parts of the depthwise kernels: constants in blocks of four channels, and the proofs about them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.selection.normalized_sums import side_by_side
from kibi.selection.packed_pairs import SUM_LIMIT
from kibi.selection.single_rounding import SingleRounding, single_rounding
from kibi.selection.sums import MOST_SIZE, SimpleSums, channels_of, simple_sums

BLOCK = 4
"""Channels of a block."""
_SCALE = 256
"""Of weights and sums: the lowest byte of a sum is its channel's inverted shift, or a part of its addend."""


@dataclass(frozen=True, slots=True, eq=False)
class Depthwise:
    """A general call whose layer the kernels can compute.

    Attributes:
        weights: `[kernel rows, kernel width, C]` s8.
        sums: constants of its channels.
        params: of the general call.
    """

    weights: NDArray[np.int8]
    sums: SimpleSums
    params: DepthwiseS8Params

    def middles_are_inside(self) -> bool:
        """True if the middle columns of all windows, which are three wide, are inside the input."""
        first = self.params.dilation - self.params.pad
        last = first + (self.params.output_width - 1) * self.params.stride
        return first >= 0 and last < self.params.input_width

    def rounded_once(self, bits: int) -> SingleRounding | None:
        """Returns constants with which outputs, of a fraction of so many bits, are rounded once; None if there are none."""
        weights = self.weights.reshape(-1, self.params.channels).T
        zero_point, low, high = self.params.output_zero_point, self.params.activation_min, self.params.activation_max
        return single_rounding(weights, self.sums, zero_point, low, high, bits=bits)


@lru_cache(maxsize=1)
def depthwise(call: KernelCall) -> Depthwise | None:
    """The layer of a call of `kibi_depthwise_conv2d_s8`, or None; kept while variants ask one after another.

    None where there are fewer than four channels, where a channel is not shifted to the right, and where its sums are not
    simple.
    """
    params = call.params_as(DepthwiseS8Params)
    if params.channels < BLOCK or max(params.scalars.values()) > MOST_SIZE:
        return None
    channels = channels_of(params, params.filter.reshape(-1, params.channels).T, limit=SUM_LIMIT)
    sums = simple_sums(channels.weights, channels.bias, channels.multiplier, channels.shift, limit=SUM_LIMIT)
    if sums is None:
        return None
    weights = channels.weights.T.reshape(params.kernel_rows, params.kernel_width, params.channels)
    return Depthwise(weights, sums, params)


def blocks_of(channels: int) -> NDArray[np.int64]:
    """The channels of each block, `[blocks, 4]`: where they are no multiple of four, the last four make the last block."""
    first = np.arange(0, channels, BLOCK)
    first[-1] = channels - BLOCK
    return first[:, None] + np.arange(BLOCK)


def two_taps(first: NDArray[np.int8], second: NDArray[np.int8]) -> NDArray[np.int32]:
    """The words of two taps, `[blocks, 4]` weights of each: both of a channel, 256-fold."""
    return side_by_side(_SCALE * first.astype(np.int32), _SCALE * second.astype(np.int32))


def one_tap(weights: NDArray[np.int8]) -> NDArray[np.int32]:
    """The words of one tap, `[blocks, 4]` weights: of channels 0 and 2, and of 1 and 3, 256-fold."""
    return two_taps(weights[:, :2], weights[:, 2:])


def packed(layer: Depthwise, weights: list[NDArray[np.int32]], once: SingleRounding | None = None) -> NDArray[np.int32]:
    """The constants of all blocks: what sums start from, the words of the weights, multipliers or factors.

    Args:
        layer: the layer.
        weights: its words in the order of the kernel, `[blocks, …]` each.
        once: constants of channels whose outputs are rounded once.
    """
    blocks = blocks_of(layer.params.channels)
    lowest, factor = (
        (~layer.sums.shift.astype(np.int32), layer.sums.multiplier) if once is None else (once.addend, once.factor)
    )
    starts = _SCALE * layer.sums.bias + lowest
    words: NDArray[np.int32] = np.hstack([starts[blocks], *weights, factor[blocks]])
    return np.ascontiguousarray(words).reshape(-1)
