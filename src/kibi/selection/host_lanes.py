"""Convolutions, fully connected layers and additions on this machine, sixteen channels or elements at once in vectors."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.binary import (
    AddF32LanesParams,
    AddLanesParams,
    ClampedPairF32Params,
    PairParams,
    ScaledSumParams,
)
from kibi.kernels.params.conv2d import Conv2DF32Params, Conv2DS8Params
from kibi.kernels.params.convolution_lanes import (
    Conv2DF32LanesParams,
    Conv2DLanesParams,
    DepthwiseF32LanesParams,
    DepthwiseLanesParams,
)
from kibi.kernels.params.depthwise_conv2d import DepthwiseF32Params, DepthwiseS8Params
from kibi.kernels.params.description import Params
from kibi.kernels.params.fully_connected import FullyConnectedF32Params, FullyConnectedS8Params
from kibi.quant import wrap_s32
from kibi.selection.host_scaling import Sums, halves
from kibi.selection.quiet_channels import QuietChannels, quiet_channels
from kibi.selection.variant import Goal, Variant

_BLOCK = 16
"""Channels that are packed together."""
_QUAD = 4
"""Elements of a channel that are packed together."""
_OFFSET = 128
"""What kernels add to elements of the input: biases account for it."""
_GREATEST = 255
"""The greatest element then."""
_BYTES = 32768
"""The size of the buffers that kernels copy columns to: a window must fit."""
_FLOATS = 16384
"""The same of float kernels, in elements."""
_GOALS = frozenset({Goal.SPEED, Goal.BALANCED})
_Layer = Conv2DS8Params | DepthwiseS8Params | FullyConnectedS8Params


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None for groups, or for large windows."""
    layer = call.params_as(Conv2DS8Params)
    if layer.groups > 1:
        return None
    sizes = _scalars(layer, Conv2DLanesParams)
    return _convolution(call, layer, {**sizes, "input_zero_point": int(layer.padding[0])})


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None for several vectors in pieces, or for very long ones."""
    layer = call.params_as(FullyConnectedS8Params)
    sizes = _vector_sizes(layer)
    if sizes is None:
        return None
    return _convolution(call, layer, {**_scalars(layer, Conv2DLanesParams), **sizes, "input_zero_point": 0})


def pack_depthwise(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None for large windows."""
    layer = call.params_as(DepthwiseS8Params)
    rows = -(-layer.kernel_rows // _QUAD)
    if ((layer.kernel_width - 1) * layer.dilation + 1) * rows * _QUAD * _BLOCK > _BYTES:
        return None
    # Sixteen lanes are the channels of several pixels where those are neighbours in the input, too.
    times = _BLOCK // layer.channels if layer.stride == 1 and _BLOCK % layer.channels == 0 else 1
    weights = layer.filter.reshape(layer.kernel_rows, layer.kernel_width, layer.channels)
    taps = _whole_blocks(np.tile(_whole_quads(weights.transpose(2, 1, 0)), (times, 1, 1)))
    blocks = taps.reshape(-1, _BLOCK, layer.kernel_width, rows, _QUAD).transpose(0, 3, 2, 1, 4)
    constants = _packed(layer, blocks, taps.reshape(len(taps), -1), times)
    params = DepthwiseLanesParams(**constants, **_scalars(layer, DepthwiseLanesParams))
    return KernelCall("kibi_depthwise_conv2d_s8_lanes", params, inplace_distance_bytes=call.inplace_distance_bytes)


def pack_convolution_f32(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None for groups, for large windows, and for weights that are no finite numbers."""
    layer = call.params_as(Conv2DF32Params)
    return None if layer.groups > 1 else _convolution_f32(call, layer, _scalars(layer, Conv2DF32LanesParams))


def pack_fully_connected_f32(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None as for those, and for several vectors in pieces."""
    layer = call.params_as(FullyConnectedF32Params)
    sizes = _vector_sizes(layer)
    if sizes is None:
        return None
    return _convolution_f32(call, layer, {**_scalars(layer, Conv2DF32LanesParams), **sizes})


def pack_depthwise_f32(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None as for convolutions, and where several output channels read one of the input."""
    layer = call.params_as(DepthwiseF32Params)
    if layer.depth_multiplier > 1 or _window(layer.scalars) > _FLOATS or not np.isfinite(layer.filter).all():
        return None
    taps = _whole_blocks(layer.filter.reshape(-1, layer.input_channels).T)
    blocks = taps.reshape(-1, _BLOCK, taps.shape[1])
    params = DepthwiseF32LanesParams(
        filter=np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(-1),
        bias=_whole_blocks(layer.bias),
        channels=layer.input_channels,
        **_scalars(layer, DepthwiseF32LanesParams),
    )
    return KernelCall("kibi_depthwise_conv2d_f32_lanes", params, inplace_distance_bytes=call.inplace_distance_bytes)


def pack_add(call: KernelCall) -> KernelCall | None:
    """Returns the call with nothing packed; None if an input broadcasts."""
    layer = call.params_as(ScaledSumParams)
    if _is_broadcast(layer):
        return None
    return replace(call, kernel="kibi_add_s8_lanes", params=AddLanesParams(**layer.scalars_for(AddLanesParams)))


def pack_add_f32(call: KernelCall) -> KernelCall | None:
    """The same of floats."""
    layer = call.params_as(ClampedPairF32Params)
    if _is_broadcast(layer):
        return None
    return replace(call, kernel="kibi_add_f32_lanes", params=AddF32LanesParams(**layer.scalars_for(AddF32LanesParams)))


def _is_broadcast(layer: PairParams) -> bool:
    """Whether an input is not one row of the output's shape."""
    return layer.pieces > 1 or not layer.step1 or not layer.step2


def _scalars(layer: Params, kind: type[Params]) -> dict[str, Any]:
    """The numbers that a layer has in common with another kind. One column has no dilation, whatever the model says of it."""
    numbers = layer.scalars_for(kind)
    return {**numbers, "dilation": 1} if numbers.get("kernel_width") == 1 else numbers


def _convolution(
    call: KernelCall, layer: Conv2DS8Params | FullyConnectedS8Params, numbers: Mapping[str, Any]
) -> KernelCall | None:
    """Returns the call of `kibi_conv2d_s8_lanes` with these numbers; None for large windows."""
    if _window(numbers) > _BYTES:
        return None
    rows, width, depth = (int(numbers[name]) for name in ("kernel_rows", "kernel_width", "input_channels"))
    runs = (rows, width * depth) if numbers["dilation"] == 1 else (rows * width, depth)
    weights = _whole_blocks(_whole_quads(layer.filter.reshape(layer.output_channels, *runs)))
    blocks = weights.reshape(-1, _BLOCK, runs[0], weights.shape[2] // _QUAD, _QUAD).transpose(0, 2, 3, 1, 4)
    params = Conv2DLanesParams(**_packed(layer, blocks, weights.reshape(len(weights), -1)), **numbers)
    return KernelCall("kibi_conv2d_s8_lanes", params, inplace_distance_bytes=call.inplace_distance_bytes)


def _convolution_f32(
    call: KernelCall, layer: Conv2DF32Params | FullyConnectedF32Params, numbers: Mapping[str, Any]
) -> KernelCall | None:
    """Returns the call of `kibi_conv2d_f32_lanes` with these numbers; None for large windows, and for infinite weights."""
    # Outside the input, the kernel adds zeros times weights.
    if _window(numbers) > _FLOATS or not np.isfinite(layer.filter).all():
        return None
    weights, bias = _floats(layer)
    found, quiet, scratch_bytes = _quiet(layer), dict[str, Any](), 0
    if found is not None:
        weights, bias = weights[found.order], bias[found.order]
        quiet = {"order": found.order, "quiet": found.constants, "loud_channels": found.loud, "limit": found.limit}
        scratch_bytes = int(numbers["output_width"]) * layer.output_channels * bias.itemsize
    weights = _whole_blocks(weights)
    blocks = weights.reshape(-1, _BLOCK, weights.shape[1]).transpose(0, 2, 1)
    params = Conv2DF32LanesParams(
        filter=np.ascontiguousarray(blocks).reshape(-1), bias=_whole_blocks(bias), **quiet, **numbers
    )
    return KernelCall(
        "kibi_conv2d_f32_lanes", params, scratch_bytes, inplace_distance_bytes=call.inplace_distance_bytes
    )


def _floats(layer: Conv2DF32Params | FullyConnectedF32Params) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The weights, `[O, K]`, and the biases."""
    return layer.filter.astype(np.float32).reshape(layer.output_channels, -1), layer.bias.astype(np.float32)


@lru_cache(maxsize=1)
def _quiet(layer: Conv2DF32Params | FullyConnectedF32Params) -> QuietChannels | None:
    """The quiet channels of a layer, or None; kept while its scratch and its packed constants are made one after the other.

    None where they are too few, and where a weight is not finite.
    """
    if layer.output_channels <= _BLOCK or not np.isfinite(layer.filter).all():
        return None
    return quiet_channels(*_floats(layer), (layer.activation_min, layer.activation_max))


def _quiet_scratch(call: KernelCall, goal: Goal) -> int:
    """Room for the channels of a row as they are computed, where some are quiet."""
    del goal
    layer = call.params
    if isinstance(layer, FullyConnectedF32Params):
        width = layer.vectors
    elif isinstance(layer, Conv2DF32Params):
        width = layer.output_width
    else:
        return 0
    return 0 if _quiet(layer) is None else width * layer.output_channels * layer.bias.itemsize


def _vector_sizes(layer: FullyConnectedS8Params | FullyConnectedF32Params) -> dict[str, int] | None:
    """The geometry of a fully connected layer as a convolution; None for several vectors in pieces."""
    vectors = layer.vectors
    if vectors > 1 and layer.vectors_per_row != vectors:
        return None
    return {
        "input_width": vectors, "input_channels": layer.piece, "output_width": vectors, "kernel_rows": layer.pieces,
        "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0,
    }  # fmt: skip


def _window(numbers: Mapping[str, Any]) -> int:
    """The elements of the columns from the first to the last one of a window."""
    span = (numbers["kernel_width"] - 1) * numbers["dilation"] + 1
    return int(numbers["kernel_rows"] * span * numbers["input_channels"])


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
    start = wrap_s32(bias - offsets)
    reach = np.abs(start) + _GREATEST * np.abs(weights.astype(np.int64)).sum(axis=1)
    sums = Sums(
        *(multiplier.astype(np.int64), left.astype(np.int64), right.astype(np.int64), reach),
        least=layer.activation_min - layer.output_zero_point,
        most=layer.activation_max - layer.output_zero_point,
    )
    return {
        "filter": np.ascontiguousarray(blocks, np.int8).reshape(-1),
        "bias": start.astype(np.int32),
        "multiplier": multiplier,
        "left": left,
        "right": right,
        "half": halves(sums),
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
    Variant(
        "kibi_conv2d_f32_lanes", "kibi_conv2d_f32", "host", _GOALS, pack_convolution_f32, scratch_bytes=_quiet_scratch
    ),
    Variant(
        "kibi_conv2d_f32_lanes",
        "kibi_fully_connected_f32",
        "host",
        _GOALS,
        pack_fully_connected_f32,
        scratch_bytes=_quiet_scratch,
    ),
    Variant("kibi_depthwise_conv2d_f32_lanes", "kibi_depthwise_conv2d_f32", "host", _GOALS, pack_depthwise_f32),
    Variant("kibi_add_s8_lanes", "kibi_add_s8", "host", _GOALS, pack_add),
    Variant("kibi_add_f32_lanes", "kibi_add_f32", "host", _GOALS, pack_add_f32),
    Variant("kibi_depthwise_conv2d_s8_lanes", "kibi_depthwise_conv2d_s8", "host", _GOALS, pack_depthwise),
)
