"""DEPTHWISE_CONV_2D three by three, sixteen channels at a time, for cores with vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.kernels.params.vectors import DepthwiseVectorsParams
from kibi.selection.single_rounding import SingleRounding
from kibi.selection.sums import MOST_SIZE, SimpleSums, channels_of, simple_sums
from kibi.selection.variant import Goal, Variant
from kibi.selection.vectors_rounding import rounded_once

_LANES, _TAPS = 16, 9
_FOUR = 4
_MOST_REACH = 1 << 15
"""Columns from the first to the last one of a row's windows stay below it."""


def pack(call: KernelCall) -> KernelCall | None:
    """Constants in blocks; None for other windows or channels, for weights of -128, and where sums are not simple.

    The products of two taps are added up in 16 bits: two of -128 times -128 would not fit.
    """
    layer = call.params_as(DepthwiseS8Params)
    reach = (layer.output_width - 1) * layer.stride + 2 * layer.dilation
    if (layer.kernel_rows, layer.kernel_width) != (3, 3) or layer.channels < _FOUR or reach >= _MOST_REACH:
        return None
    if max(layer.scalars.values()) > MOST_SIZE or layer.filter.min() == np.iinfo(np.int8).min:
        return None
    channels = channels_of(layer, layer.filter.reshape(-1, layer.channels).T)
    sums = simple_sums(channels.weights, channels.bias, channels.multiplier, channels.shift)
    if sums is None:
        return None
    is_shared = layer.stride == 1 and layer.channels < _LANES and _LANES % layer.channels == 0
    together = min(_LANES // layer.channels, layer.output_width) if is_shared else 1
    together = together if together * layer.channels == _LANES else 1
    once = rounded_once(layer, channels.weights, sums)
    params = DepthwiseVectorsParams(
        blocks=_blocks(channels.weights, sums if once is None else once, together),
        together=together,
        rounds_once=int(once is not None),
        **layer.scalars_for(DepthwiseVectorsParams),
    )
    # Channels that are computed for the second time are read after the first of their outputs were written.
    again = _channels_again(layer.channels)
    distances = tuple(None if each is None else each + again for each in call.inplace_distance_bytes)
    return KernelCall(
        "kibi_depthwise_conv2d_s8_vectors", params, inplace_distance_bytes=distances, features=needed_parts(params)
    )


def _last_block(channels: int) -> int:
    """Channels of the last block, where they are no whole fours."""
    return _LANES if channels >= _LANES else _FOUR


def _channels_again(channels: int) -> int:
    """Channels that a pixel's last block has from those before it."""
    return 0 if channels % _FOUR == 0 else -channels % _last_block(channels)


def _places(channels: int, together: int) -> NDArray[np.int64]:
    """Returns the channel at each place of all blocks, `[blocks * 16]`; -1 at a place without one.

    Args:
        channels: of the layer.
        together: how many times all of them come.
    """
    if channels % _FOUR == 0:
        found = np.tile(np.arange(channels), together)
    else:
        last = _last_block(channels)
        whole = np.arange(channels // last * last)
        found = np.concatenate([whole, np.full(-len(whole) % _LANES, -1), np.arange(channels - last, channels)])
    return np.pad(found, (0, -len(found) % _LANES), constant_values=-1)


def _blocks(weights: NDArray[np.int8], scales: SimpleSums | SingleRounding, together: int) -> NDArray[np.int32]:
    """Returns `[words]`: of each sixteen channels biases, weights `[9][16]`, multipliers and shifts; or addends, weights, factors.

    Args:
        weights: `[C, 9]`.
        scales: of the channels.
        together: how many times all channels come.
    """
    of = _places(len(weights), together)
    taps = np.where(of[:, None] < 0, 0, weights[of]).astype(np.int8).reshape(-1, _LANES, _TAPS).transpose(0, 2, 1)
    words = np.ascontiguousarray(taps).reshape(len(taps), -1).view("<i4")
    if isinstance(scales, SingleRounding):
        first, last = _in_lanes(scales.addend, of), _in_lanes(scales.factor, of)
    else:
        first, shift = _in_lanes(scales.bias, of), _in_lanes(scales.shift, of).astype(np.int8)
        last = np.concatenate([_in_lanes(scales.multiplier, of), np.ascontiguousarray(shift).view("<i4")], axis=2)
    blocks = [first.reshape(len(words), -1), words, last.reshape(len(words), -1)]
    return np.concatenate(blocks, axis=1).astype(np.int32).reshape(-1)


def _in_lanes(values: NDArray[Any], of: NDArray[np.int64]) -> NDArray[np.int32]:
    """Returns `[blocks, 4, 4]`: a channel's place is `4 * i + j`, and those of a `j` are side by side in a vector."""
    placed = np.where(of < 0, 0, values[of].astype(np.int32))
    return placed.reshape(-1, _FOUR, _FOUR).transpose(0, 2, 1)


DEPTHWISE_VECTORS = Variant(
    "kibi_depthwise_conv2d_s8_vectors", "kibi_depthwise_conv2d_s8", "helium", frozenset(Goal), pack
)
