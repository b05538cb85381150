"""CONV_2D and FULLY_CONNECTED of f32 in blocks of four channels and one or three pixels, for cores with vectors of floats."""

from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DF32Params
from kibi.kernels.params.fully_connected import FullyConnectedF32Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.kernels.params.vectors import Conv2DF32VectorsParams
from kibi.ops.overlap import least_distance
from kibi.selection.sums import MOST_SIZE
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_conv2d_f32_vectors"
_FOUR = 4
"""Channels of a vector."""
_PIXELS = 3
"""Of a block whose windows are inside of the input."""
_LEAST_CHANNELS = 3
"""Fewer leave most lanes empty."""


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Weights by fours of channels; None for groups, spread columns, windows outside of the input, and few channels."""
    layer = call.params_as(Conv2DF32Params)
    if layer.groups > 1 or (layer.dilation > 1 and layer.kernel_width > 1):
        return None
    return _packed(call, layer, layer.scalars_for(Conv2DF32VectorsParams))


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None for several vectors in pieces, and for few channels."""
    layer = call.params_as(FullyConnectedF32Params)
    if layer.vectors > 1 and layer.vectors_per_row != layer.vectors:
        return None
    sizes = {
        "input_width": layer.vectors, "input_channels": layer.piece, "output_width": layer.vectors,
        "kernel_rows": layer.pieces, "kernel_width": 1, "stride": 1, "pad": 0,
    }  # fmt: skip
    return _packed(call, layer, {**layer.scalars_for(Conv2DF32VectorsParams), **sizes})


def _packed(
    call: KernelCall, layer: Conv2DF32Params | FullyConnectedF32Params, numbers: dict[str, Any]
) -> KernelCall | None:
    """The call with these numbers."""
    sizes = [each for each in numbers.values() if isinstance(each, int)]
    channels = layer.output_channels
    end = (numbers["output_width"] - 1) * numbers["stride"] - numbers["pad"]
    is_inside = numbers["pad"] < numbers["kernel_width"] and end < numbers["input_width"]
    if channels < _LEAST_CHANNELS or not is_inside or max(sizes) > MOST_SIZE:
        return None
    weights = np.pad(layer.filter.reshape(channels, -1), ((0, -channels % _FOUR), (0, 0)))
    params = Conv2DF32VectorsParams(
        filter=np.ascontiguousarray(weights.reshape(-1, _FOUR, weights.shape[1]).transpose(0, 2, 1)).reshape(-1),
        bias=np.pad(layer.bias, (0, -channels % _FOUR)),
        **numbers,
    )
    distances = tuple(None if each is None else _distance(params) for each in call.inplace_distance_bytes)
    return KernelCall(_KERNEL, params, inplace_distance_bytes=distances, features=needed_parts(params))


def _distance(p: Conv2DF32VectorsParams) -> int:
    """The least distance in place, in bytes: windows are read again for each four channels of a block."""
    last_start = p.input_width - p.kernel_width - (_PIXELS - 1) * p.stride
    written = (p.output_channels - 1) // _FOUR * _FOUR
    reads, first = [], 0
    while first < p.output_width:
        start = first * p.stride - p.pad
        pixels = _PIXELS if p.output_width - first >= _PIXELS and 0 <= start <= last_start else 1
        reads.append((max(0, start) * p.input_channels, (first + pixels - 1) * p.output_channels + written))
        first += pixels
    return DType.F32.size_bytes * least_distance(reads)


CONV2D_F32_VECTORS = (
    Variant(_KERNEL, "kibi_conv2d_f32", "helium", frozenset(Goal), pack_convolution),
    Variant(_KERNEL, "kibi_fully_connected_f32", "helium", frozenset(Goal), pack_fully_connected),
)
