"""Convolutions, fully connected layers and additions on this machine, sixteen elements side by side in vectors."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.binary import AddLanesParams, ScaledSumParams
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.convolution_lanes import Conv2DLanesParams, DepthwiseLanesParams
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.quant import wrap_s32
from kibi.selection.variant import Goal, Variant

_BLOCK = 16
"""Channels that are packed together."""
_QUAD = 4
"""Elements of a channel that are packed together."""
_OFFSET = 128
"""What kernels add to elements of the input: biases account for it."""
_BYTES = 32768
"""The size of the buffers that kernels copy columns to: a window must fit."""
_GOALS = frozenset({Goal.SPEED, Goal.BALANCED})
_Layer = Conv2DS8Params | DepthwiseS8Params | FullyConnectedS8Params


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None for groups, or for large windows."""
    layer = call.params_as(Conv2DS8Params)
    if layer.groups > 1:
        return None
    sizes = layer.scalars_for(Conv2DLanesParams)
    return _convolution(call, layer, {**sizes, "input_zero_point": int(layer.padding[0])})


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None for several vectors in pieces, or for very long ones."""
    layer = call.params_as(FullyConnectedS8Params)
    vectors = layer.vectors
    if vectors > 1 and layer.vectors_per_row != vectors:
        return None
    sizes = {
        "input_width": vectors, "input_channels": layer.piece, "output_width": vectors, "kernel_rows": layer.pieces,
        "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0, "input_zero_point": 0,
    }  # fmt: skip
    return _convolution(call, layer, {**layer.scalars_for(Conv2DLanesParams), **sizes})


def pack_depthwise(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None for large windows."""
    layer = call.params_as(DepthwiseS8Params)
    rows = -(-layer.kernel_rows // _QUAD)
    if _span(layer) * rows * _QUAD * _BLOCK > _BYTES:
        return None
    # Sixteen lanes are the channels of several pixels where those are neighbours in the input, too.
    times = _BLOCK // layer.channels if layer.stride == 1 and _BLOCK % layer.channels == 0 else 1
    weights = layer.filter.reshape(layer.kernel_rows, layer.kernel_width, layer.channels)
    taps = _whole_blocks(np.tile(_whole_quads(weights.transpose(2, 1, 0)), (times, 1, 1)))
    blocks = taps.reshape(-1, _BLOCK, layer.kernel_width, rows, _QUAD).transpose(0, 3, 2, 1, 4)
    constants = _packed(layer, blocks, taps.reshape(len(taps), -1), times)
    params = DepthwiseLanesParams(**constants, **layer.scalars_for(DepthwiseLanesParams))
    return KernelCall("kibi_depthwise_conv2d_s8_lanes", params, inplace_distance_bytes=call.inplace_distance_bytes)


def pack_add(call: KernelCall) -> KernelCall | None:
    """Returns the call with nothing packed; None if an input broadcasts."""
    layer = call.params_as(ScaledSumParams)
    if layer.pieces > 1 or not layer.step1 or not layer.step2:
        return None
    return replace(call, kernel="kibi_add_s8_lanes", params=AddLanesParams(**layer.scalars_for(AddLanesParams)))


def _convolution(
    call: KernelCall, layer: Conv2DS8Params | FullyConnectedS8Params, numbers: Mapping[str, Any]
) -> KernelCall | None:
    """Returns the call of `kibi_conv2d_s8_lanes` with these numbers; None for large windows."""
    rows, width, depth, dilation = (
        int(numbers[name]) for name in ("kernel_rows", "kernel_width", "input_channels", "dilation")
    )
    if rows * ((width - 1) * dilation + 1) * depth > _BYTES:
        return None
    runs = (rows, width * depth) if dilation == 1 else (rows * width, depth)
    weights = _whole_blocks(_whole_quads(layer.filter.reshape(layer.output_channels, *runs)))
    blocks = weights.reshape(-1, _BLOCK, runs[0], weights.shape[2] // _QUAD, _QUAD).transpose(0, 2, 3, 1, 4)
    params = Conv2DLanesParams(**_packed(layer, blocks, weights.reshape(len(weights), -1)), **numbers)
    return KernelCall("kibi_conv2d_s8_lanes", params, inplace_distance_bytes=call.inplace_distance_bytes)


def _span(layer: DepthwiseS8Params) -> int:
    """The columns from the first to the last one of a window."""
    return (layer.kernel_width - 1) * layer.dilation + 1


def _packed(layer: _Layer, blocks: Array, weights: Array, times: int = 1) -> dict[str, Any]:
    """Returns the constants of kernels in blocks: these packed weights, and those of each channel in whole blocks.

    Args:
        layer: the general one.
        blocks: the weights in their order.
        weights: the same, `[channels in whole blocks, elements]`.
        times: how many times all channels come.
    """
    shift = layer.shift.astype(np.int32)
    offsets = _OFFSET * weights.sum(axis=1, dtype=np.int64)
    arrays = (layer.bias.astype(np.int64), layer.multiplier, np.maximum(shift, 0), np.maximum(-shift, 0))
    bias, multiplier, left, right = (_whole_blocks(np.tile(array, times)) for array in arrays)
    return {
        "filter": np.ascontiguousarray(blocks, np.int8).reshape(-1),
        "bias": wrap_s32(bias - offsets).astype(np.int32),
        "multiplier": multiplier,
        "left": left,
        "right": right,
    }


def _whole_blocks(array: NDArray[Any]) -> NDArray[Any]:
    """Returns the array with zeros after the last channel of its first axis, up to complete blocks."""
    return np.pad(array, [(0, -len(array) % _BLOCK), *[(0, 0)] * (array.ndim - 1)])


def _whole_quads(array: NDArray[Any]) -> NDArray[Any]:
    """Returns the array with zeros after the last element of its last axis, up to whole fours."""
    return np.pad(array, [*[(0, 0)] * (array.ndim - 1), (0, -array.shape[-1] % _QUAD)])


HOST_LANES = (
    Variant("kibi_conv2d_s8_lanes", "kibi_conv2d_s8", "host", _GOALS, pack_convolution),
    Variant("kibi_conv2d_s8_lanes", "kibi_fully_connected_s8", "host", _GOALS, pack_fully_connected),
    Variant("kibi_add_s8_lanes", "kibi_add_s8", "host", _GOALS, pack_add),
    Variant("kibi_depthwise_conv2d_s8_lanes", "kibi_depthwise_conv2d_s8", "host", _GOALS, pack_depthwise),
)
