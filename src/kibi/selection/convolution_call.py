"""The facts of a general call that convolutions in blocks need: geometry, allowed scratch, distance for in-place output."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.depthwise_conv2d import DepthwiseF32Params, DepthwiseS16Params
from kibi.ops.overlap import least_distance
from kibi.ops.windows.convolution_blocks import blocks_scratch_bytes
from kibi.ops.windows.window import Window
from kibi.selection.variant import PARTS, Goal

_MOST_DENSE = 3
"""Input channels of depthwise layers that are worth zeros: products cost a third of what channels one after another do."""


def dense(call: KernelCall) -> KernelCall:
    """Returns a call of `kibi_conv2d_s8` without groups, where it has one for each of two or three input channels; else the call.

    Each output channel has zeros as weights of the other input channels.
    """
    layer = call.params_as(Conv2DS8Params)
    groups = layer.groups
    if not 1 < groups == layer.input_channels <= _MOST_DENSE:
        return call
    filters = layer.filter.reshape(groups, -1, layer.kernel_rows * layer.kernel_width)
    weights = np.zeros((*filters.shape, groups), np.int8)
    for group, of_group in enumerate(filters):
        weights[group, :, :, group] = of_group
    padding = np.repeat(layer.padding, groups)
    return replace(call, params=layer.replaced(filter=weights.reshape(-1), padding=padding, groups=1))


def window_of(call: KernelCall) -> Window:
    """Returns the geometry across a row of a call of `kibi_conv2d_s8`; what it says of rows means nothing."""
    return window_of_layer(call.params_as(Conv2DS8Params))


def window_of_layer(layer: Conv2DS8Params | DepthwiseF32Params | DepthwiseS16Params) -> Window:
    """Returns the same of the parameters of a layer."""
    return Window(
        batches=1, input_rows=layer.kernel_rows, input_width=layer.input_width, channels=layer.input_channels,
        output_rows=1, output_width=layer.output_width, kernel_rows=layer.kernel_rows,
        kernel_width=layer.kernel_width, stride_rows=1, stride_width=layer.stride, dilation_rows=1,
        dilation_width=layer.dilation, pad_rows=0, pad_width=layer.pad, is_swapped=False,
    )  # fmt: skip


def inputs_of(call: KernelCall) -> tuple[int, int]:
    """Returns the least and the largest element of the windows of a call of `kibi_conv2d_s8`: of the input, or what pads it."""
    padding = call.params_as(Conv2DS8Params).padding
    low, high = call.input_range
    return min(low, int(padding.min())), max(high, int(padding.max()))


def blocks_scratch(call: KernelCall, goal: Goal) -> int:
    """Returns the bytes of scratch for the fastest blocks: a few blocks, or, for speed, as many as are useful.

    Other goals take more than a few where that is a small part of the arena: so arenas grow by at most that part.

    Args:
        call: of `kibi_conv2d_s8`.
        goal: of the code.
    """
    call = dense(call)
    window, layer = window_of(call), call.params_as(Conv2DS8Params)
    room_bytes = call.least_arena_bytes // PARTS
    few, most = blocks_scratch_bytes(
        window, window.channels // layer.groups, layer.output_channels, room_bytes=room_bytes
    )
    return most if goal is Goal.SPEED else few


def blocks_distance(call: KernelCall, blocks: Sequence[int]) -> int:
    """Returns the least distance in place, in bytes, of a kernel that reads a block's windows before it writes its pixels.

    Args:
        call: of `kibi_conv2d_s8`.
        blocks: the pixels of each block of an output row, in order.
    """
    window, channels = window_of(call), call.params_as(Conv2DS8Params).output_channels
    reads, first = [], 0
    for pixels in blocks:
        ahead = range(first, min(first + pixels, window.output_width))
        reads += [(window.first_inside(x) * window.channels, first * channels) for x in ahead]
        first += pixels
    return least_distance(reads)
