"""Convolutions, fully connected layers and additions on this machine, sixteen elements side by side in vectors."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall, Param
from kibi.selection.variant import Goal, Variant

_BLOCK = 16
_ELEMENTS = 4096
"""Of a window, that the kernel's copies of four have room for."""
_GOALS = frozenset({Goal.SPEED, Goal.BALANCED})
_SCALING = ("output_zero_point", "activation_min", "activation_max")
_ACROSS = ("input_width", "output_width", "kernel_rows", "kernel_width", "stride", "dilation", "pad")

_BROADCAST = frozenset({"pieces", "rows1", "row_step1", "piece_step1", "step1", "row_step2", "piece_step2", "step2"})


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Weights in blocks; None for groups, or for large windows."""
    arrays, numbers = _values(call)
    if numbers["groups"] > 1:
        return None
    kept = {name: numbers[name] for name in ("input_channels", *_ACROSS)}
    return _convolution(call, {**kept, "input_zero_point": int(arrays["padding"][0])})


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None for several vectors in pieces, or for long ones."""
    _, numbers = _values(call)
    vectors, pieces = numbers["vectors"], numbers["pieces"]
    if vectors > 1 and numbers["vectors_per_row"] != vectors:
        return None
    sizes = {
        "input_width": vectors, "input_channels": numbers["piece"], "output_width": vectors, "kernel_rows": pieces,
        "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0, "input_zero_point": 0,
    }  # fmt: skip
    return _convolution(call, sizes)


def pack_depthwise(call: KernelCall) -> KernelCall:
    """Weights in blocks."""
    arrays, numbers = _values(call)
    channels = numbers["channels"]
    taps = _whole_blocks(arrays["filter"].reshape(-1, channels).T)
    blocks = taps.reshape(-1, _BLOCK, taps.shape[1]).transpose(0, 2, 1)
    sizes = {name: numbers[name] for name in ("channels", "input_zero_point", *_ACROSS)}
    return _lanes(call, "kibi_depthwise_conv2d_s8_lanes", blocks, sizes)


def pack_add(call: KernelCall) -> KernelCall | None:
    """Nothing to pack; None where an input broadcasts."""
    _, numbers = _values(call)
    if numbers["pieces"] > 1 or not numbers["step1"] or not numbers["step2"]:
        return None
    kept = tuple(param for param in call.params if param.name not in _BROADCAST)
    return replace(call, kernel="kibi_add_s8_lanes", params=kept)


def _convolution(call: KernelCall, sizes: dict[str, int]) -> KernelCall | None:
    """The call of `kibi_conv2d_s8_lanes` with that geometry; None for large windows."""
    arrays, numbers = _values(call)
    channels = numbers["output_channels"]
    weights = arrays["filter"].reshape(channels, -1)
    if weights.shape[1] > _ELEMENTS:
        return None
    even = _whole_blocks(np.pad(weights, ((0, 0), (0, weights.shape[1] % 2))))
    blocks = even.reshape(len(even) // _BLOCK, _BLOCK, -1, 2).transpose(0, 2, 1, 3)
    return _lanes(call, "kibi_conv2d_s8_lanes", blocks, {**sizes, "output_channels": channels})


def _lanes(call: KernelCall, kernel: str, blocks: Array, sizes: dict[str, int]) -> KernelCall:
    """A call of a kernel with these packed weights, and all else that such kernels share."""
    arrays, numbers = _values(call)
    shift = arrays["shift"].astype(np.int32)
    params = (
        Param("filter", np.ascontiguousarray(blocks, np.int8).reshape(-1)),
        Param("bias", _whole_blocks(arrays["bias"])),
        Param("multiplier", _whole_blocks(arrays["multiplier"])),
        Param("left", _whole_blocks(np.maximum(shift, 0))),
        Param("right", _whole_blocks(np.maximum(-shift, 0))),
        *(Param(name, size) for name, size in sizes.items()),
        *(Param(name, numbers[name]) for name in _SCALING),
    )
    return KernelCall(kernel, params, overlap_bytes=call.overlap_bytes)


def _values(call: KernelCall) -> tuple[dict[str, Array], dict[str, int]]:
    """The call's arrays and its integers."""
    arrays = {param.name: param.value for param in call.params if isinstance(param.value, np.ndarray)}
    return arrays, {param.name: param.value for param in call.params if isinstance(param.value, int)}


def _whole_blocks(array: Array) -> NDArray[np.generic]:
    """The array with zeros behind the last channel of its first axis, up to whole blocks."""
    return np.pad(array, [(0, -len(array) % _BLOCK), *[(0, 0)] * (array.ndim - 1)])


HOST_LANES = (
    Variant("kibi_conv2d_s8_lanes", "kibi_conv2d_s8", "host", _GOALS, pack_convolution),
    Variant("kibi_conv2d_s8_lanes", "kibi_fully_connected_s8", "host", _GOALS, pack_fully_connected),
    Variant("kibi_add_s8_lanes", "kibi_add_s8", "host", _GOALS, pack_add),
    Variant("kibi_depthwise_conv2d_s8_lanes", "kibi_depthwise_conv2d_s8", "host", _GOALS, pack_depthwise),
)
