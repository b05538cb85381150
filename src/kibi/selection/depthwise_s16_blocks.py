"""DEPTHWISE_CONV_2D of s16 with any window, four channels at a time."""

import numpy as np

from kibi.dtypes import DType
from kibi.ir import KernelCall
from kibi.kernels.params.depthwise_conv2d import DepthwiseS16BlocksParams, DepthwiseS16Params
from kibi.selection.depthwise_blocks import BLOCK, blocks_of
from kibi.selection.sums import MOST_SIZE, wide_factors
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_depthwise_conv2d_s16_blocks"


def pack(call: KernelCall) -> KernelCall | None:
    """Weights in blocks of four channels; None for multipliers above 1, fewer than four channels, narrow sums, or such scales."""
    layer = call.params_as(DepthwiseS16Params)
    channels = layer.input_channels
    if layer.depth_multiplier > 1 or channels < BLOCK or not layer.is_wide or max(layer.scalars.values()) > MOST_SIZE:
        return None
    weights = layer.filter.astype(np.int8).reshape(-1, channels).T
    factors = wide_factors(weights, layer.bias, layer.multiplier, layer.shift)
    if factors is None:
        return None
    places = blocks_of(channels)
    words = np.ascontiguousarray(weights[places].transpose(0, 2, 1)).view("<i4")[..., 0].astype(np.int32)
    blocks = np.concatenate([layer.bias.astype(np.int32)[places], words, factors[places]], axis=1)
    params = DepthwiseS16BlocksParams(
        blocks=blocks.reshape(-1), channels=channels, **layer.scalars_for(DepthwiseS16BlocksParams)
    )
    # Channels that are computed once more are read after they have been written.
    again = -channels % BLOCK * DType.S16.size_bytes
    distances = tuple(None if each is None else each + again for each in call.inplace_distance_bytes)
    return KernelCall(_KERNEL, params, inplace_distance_bytes=distances)


DEPTHWISE_S16_BLOCKS = Variant(_KERNEL, "kibi_depthwise_conv2d_s16", "armv7em", frozenset(Goal), pack)
