"""CONV_2D of s16 with windows of three by three on one input channel, by a stride of one: first layers."""

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS16Params
from kibi.kernels.params.conv2d_s16_packed import Conv2DS163x3x1Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.selection.conv2d_s16_blocks import distance_of_blocks
from kibi.selection.sums import MOST_SIZE, wide_factors
from kibi.selection.variant import Goal, Variant

_PAIRS = ((0, 1), (3, 4), (6, 7), (2, 5), (8, -1))
"""The weights of each word; -1: none."""
_LEAST_WIDTH = 3
_RANGES = ((-32768, 32767), (0, 32767))
"""Activations that one instruction cuts to."""


def pack(call: KernelCall) -> KernelCall | None:
    """Constants channel by channel; None for other windows, strides, activations, or sums that are not simple."""
    layer = call.params_as(Conv2DS16Params)
    is_single = layer.input_channels == layer.groups == layer.dilation == layer.stride == 1
    after = layer.output_width + 2 - layer.pad - layer.input_width
    fits = is_single and (layer.kernel_rows, layer.kernel_width) == (3, 3) and layer.pad in (0, 1) and after in (0, 1)
    numbers = layer.scalars_for(Conv2DS163x3x1Params)
    is_small = layer.input_width >= _LEAST_WIDTH and max(numbers.values()) <= MOST_SIZE
    if not (fits and is_small and layer.is_wide) or (layer.activation_min, layer.activation_max) not in _RANGES:
        return None
    weights = layer.filter.astype(np.int8).reshape(layer.output_channels, 9)
    factors = wide_factors(weights, layer.bias, layer.multiplier, layer.shift)
    if factors is None:
        return None
    halves = np.pad(weights, ((0, 0), (0, 1))).astype(np.int16)[:, np.array(_PAIRS)]
    halves[-1, -1, -1] = 1
    words = np.ascontiguousarray(halves).view("<i4")[..., 0]
    params = Conv2DS163x3x1Params(
        channels=np.column_stack([layer.bias, factors, words]).astype(np.int32).reshape(-1),
        **numbers,
    )
    distance = distance_of_blocks(layer, [1] * layer.output_width)
    return KernelCall(
        "kibi_conv2d_s16_3x3x1", params, inplace_distance_bytes=(distance,), features=needed_parts(params)
    )


CONV2D_S16_3X3X1 = Variant(
    "kibi_conv2d_s16_3x3x1", "kibi_conv2d_s16", "armv7em", frozenset({Goal.BALANCED, Goal.SPEED}), pack
)
