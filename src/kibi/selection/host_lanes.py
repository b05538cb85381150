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
from kibi.selection.variant import Goal, Variant

_BLOCK = 16
_ELEMENTS = 4096
"""The limit of elements of a window: the kernel's buffer holds copies of four such windows."""
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
    """A convolution by a window of one column, or of one row; None for several vectors in pieces, or for long ones."""
    layer = call.params_as(FullyConnectedS8Params)
    vectors = layer.vectors
    if vectors > 1 and layer.vectors_per_row != vectors:
        return None
    sizes = {
        "input_width": vectors, "input_channels": layer.piece, "output_width": vectors, "kernel_rows": layer.pieces,
        "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0, "input_zero_point": 0,
    }  # fmt: skip
    return _convolution(call, layer, {**layer.scalars_for(Conv2DLanesParams), **sizes})


def pack_depthwise(call: KernelCall) -> KernelCall:
    """Weights in blocks."""
    layer = call.params_as(DepthwiseS8Params)
    taps = _whole_blocks(layer.filter.reshape(-1, layer.channels).T)
    blocks = taps.reshape(-1, _BLOCK, taps.shape[1]).transpose(0, 2, 1)
    params = DepthwiseLanesParams(**_packed(layer, blocks), **layer.scalars_for(DepthwiseLanesParams))
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
    weights = layer.filter.reshape(layer.output_channels, -1)
    if weights.shape[1] > _ELEMENTS:
        return None
    even = _whole_blocks(np.pad(weights, ((0, 0), (0, weights.shape[1] % 2))))
    blocks = even.reshape(len(even) // _BLOCK, _BLOCK, -1, 2).transpose(0, 2, 1, 3)
    params = Conv2DLanesParams(**_packed(layer, blocks), **numbers)
    return KernelCall("kibi_conv2d_s8_lanes", params, inplace_distance_bytes=call.inplace_distance_bytes)


def _packed(layer: _Layer, blocks: Array) -> dict[str, Any]:
    """Returns the constants of kernels in blocks: these packed weights, and those of each channel in whole blocks."""
    shift = layer.shift.astype(np.int32)
    return {
        "filter": np.ascontiguousarray(blocks, np.int8).reshape(-1),
        "bias": _whole_blocks(layer.bias),
        "multiplier": _whole_blocks(layer.multiplier),
        "left": _whole_blocks(np.maximum(shift, 0)),
        "right": _whole_blocks(np.maximum(-shift, 0)),
    }


def _whole_blocks(array: Array) -> NDArray[np.generic]:
    """Returns the array with zeros after the last channel of its first axis, up to complete blocks."""
    return np.pad(array, [(0, -len(array) % _BLOCK), *[(0, 0)] * (array.ndim - 1)])


HOST_LANES = (
    Variant("kibi_conv2d_s8_lanes", "kibi_conv2d_s8", "host", _GOALS, pack_convolution),
    Variant("kibi_conv2d_s8_lanes", "kibi_fully_connected_s8", "host", _GOALS, pack_fully_connected),
    Variant("kibi_add_s8_lanes", "kibi_add_s8", "host", _GOALS, pack_add),
    Variant("kibi_depthwise_conv2d_s8_lanes", "kibi_depthwise_conv2d_s8", "host", _GOALS, pack_depthwise),
)
