"""CONV_2D and FULLY_CONNECTED of f32 and s16 in blocks of four channels and one or three pixels, for cores with vectors.

Windows are read where they are, row by row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DF32Params, Conv2DS16Params
from kibi.kernels.params.fully_connected import FullyConnectedF32Params, FullyConnectedS16Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.kernels.params.vectors import Conv2DF32VectorsParams, Conv2DS16VectorsParams
from kibi.ops.overlap import least_distance
from kibi.selection.sums import MOST_SIZE, wide_factors
from kibi.selection.variant import Goal, Variant

_FOUR = 4
"""Channels of a block."""
_PIXELS = 3
"""Of a block whose windows are inside of the input."""
_LEAST_CHANNELS = 3
"""Fewer leave most of a block empty."""
_LEAST_RUN = 8
"""Elements of s16 of a row of a window: fewer do not fill a vector."""
_ORDER = (0, 2, 1, 3)
"""In which biases of four channels of s16 are stored."""


def pack_convolution_f32(call: KernelCall) -> KernelCall | None:
    """Weights by fours of channels; None for groups, spread columns, windows outside of the input, and few channels."""
    layer = call.params_as(Conv2DF32Params)
    return _of_f32(call, layer, layer.scalars_for(Conv2DF32VectorsParams)) if _is_plain(layer) else None


def pack_fully_connected_f32(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None for several vectors in pieces, and for few channels."""
    layer = call.params_as(FullyConnectedF32Params)
    sizes = _vector_sizes(layer)
    return None if sizes is None else _of_f32(call, layer, {**layer.scalars_for(Conv2DF32VectorsParams), **sizes})


def pack_convolution_s16(call: KernelCall) -> KernelCall | None:
    """Weights as they are; None as for floats, for short runs, sums of 32 bits, and scales that do not fit."""
    layer = call.params_as(Conv2DS16Params)
    return _of_s16(call, layer, layer.scalars_for(Conv2DS16VectorsParams)) if _is_plain(layer) else None


def pack_fully_connected_s16(call: KernelCall) -> KernelCall | None:
    """The same for vectors; None as for both."""
    layer = call.params_as(FullyConnectedS16Params)
    sizes = _vector_sizes(layer)
    if sizes is None or layer.output_zero_point:
        return None
    return _of_s16(call, layer, {**layer.scalars_for(Conv2DS16VectorsParams), **sizes})


def _is_plain(layer: Conv2DF32Params | Conv2DS16Params) -> bool:
    return layer.groups == 1 and (layer.dilation == 1 or layer.kernel_width == 1)


def _vector_sizes(layer: FullyConnectedF32Params | FullyConnectedS16Params) -> dict[str, int] | None:
    """The sizes of the convolution that a fully connected layer is; None if it is none."""
    if layer.vectors > 1 and layer.vectors_per_row != layer.vectors:
        return None
    return {
        "input_width": layer.vectors, "input_channels": layer.piece, "output_width": layer.vectors,
        "kernel_rows": layer.pieces, "kernel_width": 1, "stride": 1, "pad": 0,
    }  # fmt: skip


def _fits(numbers: dict[str, Any]) -> bool:
    """True if there are channels enough, each window has a column inside, and numbers fit 16 bits."""
    end = (numbers["output_width"] - 1) * numbers["stride"] - numbers["pad"]
    is_inside = numbers["pad"] < numbers["kernel_width"] and end < numbers["input_width"]
    most = max(value for name, value in numbers.items() if not name.startswith("activation"))
    return bool(is_inside and numbers["output_channels"] >= _LEAST_CHANNELS and most <= MOST_SIZE)


def _of_f32(
    call: KernelCall, layer: Conv2DF32Params | FullyConnectedF32Params, numbers: dict[str, Any]
) -> KernelCall | None:
    """The call of the kernel of floats with these numbers."""
    if not _fits(numbers):
        return None
    weights = _in_fours(layer.filter.reshape(layer.output_channels, -1))
    params = Conv2DF32VectorsParams(
        filter=np.ascontiguousarray(weights.transpose(0, 2, 1)).reshape(-1),
        bias=_in_fours(layer.bias).reshape(-1),
        **numbers,
    )
    return _call(call, "kibi_conv2d_f32_vectors", params, DType.F32)


def _of_s16(
    call: KernelCall, layer: Conv2DS16Params | FullyConnectedS16Params, numbers: dict[str, Any]
) -> KernelCall | None:
    """The call of the kernel of int16 with these numbers."""
    if not (_fits(numbers) and layer.is_wide) or numbers["kernel_width"] * numbers["input_channels"] < _LEAST_RUN:
        return None
    weights = layer.filter.astype(np.int8).reshape(layer.output_channels, -1)
    factors = wide_factors(weights, layer.bias, layer.multiplier, layer.shift)
    if factors is None:
        return None
    biases = _in_fours(layer.bias.astype(np.int32))[:, _ORDER]
    params = Conv2DS16VectorsParams(
        filter=_in_fours(weights).reshape(-1),
        scales=np.concatenate([biases, _in_fours(factors)], axis=1).reshape(-1),
        **numbers,
    )
    return _call(call, "kibi_conv2d_s16_vectors", params, DType.S16)


def _in_fours(array: NDArray[Any]) -> NDArray[Any]:
    """Returns `[fours, 4, …]` of an array `[O, …]`, with zeros after the last channel."""
    filled = np.pad(array, [(0, -len(array) % _FOUR), *[(0, 0)] * (array.ndim - 1)])
    return filled.reshape(-1, _FOUR, *array.shape[1:])


def _call(
    call: KernelCall, kernel: str, params: Conv2DF32VectorsParams | Conv2DS16VectorsParams, dtype: DType
) -> KernelCall:
    """The call with its distances in place."""
    distance = dtype.size_bytes * _distance(params)
    distances = tuple(None if each is None else distance for each in call.inplace_distance_bytes)
    return KernelCall(kernel, params, inplace_distance_bytes=distances, features=needed_parts(params))


def _distance(p: Conv2DF32VectorsParams | Conv2DS16VectorsParams) -> int:
    """The least distance in place, in elements: windows are read again for each four channels of a block."""
    last_start = p.input_width - p.kernel_width - (_PIXELS - 1) * p.stride
    written = (p.output_channels - 1) // _FOUR * _FOUR
    reads, first = [], 0
    while first < p.output_width:
        start = first * p.stride - p.pad
        pixels = _PIXELS if p.output_width - first >= _PIXELS and 0 <= start <= last_start else 1
        reads.append((max(0, start) * p.input_channels, (first + pixels - 1) * p.output_channels + written))
        first += pixels
    return least_distance(reads)


CONV2D_VECTOR_ROWS = (
    Variant("kibi_conv2d_f32_vectors", "kibi_conv2d_f32", "helium", frozenset(Goal), pack_convolution_f32),
    Variant("kibi_conv2d_f32_vectors", "kibi_fully_connected_f32", "helium", frozenset(Goal), pack_fully_connected_f32),
    Variant("kibi_conv2d_s16_vectors", "kibi_conv2d_s16", "helium", frozenset(Goal), pack_convolution_s16),
    Variant("kibi_conv2d_s16_vectors", "kibi_fully_connected_s16", "helium", frozenset(Goal), pack_fully_connected_s16),
)
