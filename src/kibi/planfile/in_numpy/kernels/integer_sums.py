"""Convolutions and layers of int8 whose weights are stored as the model has them, or in lanes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant.rounding import requantize, wrap_s32

_LANES = 16


def windows(call: Call, channels: int, fill: int) -> NDArray[np.int64]:
    """Returns what the windows of an output row see: [output_width, kernel_rows, kernel_width, channels]."""
    p = call.numbers
    rows = np.stack([call.row(row, p.input_width * channels, "i1") for row in range(p.kernel_rows)])
    rows = rows.reshape(p.kernel_rows, p.input_width, channels).astype(np.int64)
    columns = np.arange(p.output_width)[:, None] * p.stride - p.pad + np.arange(p.kernel_width) * p.dilation
    is_inside = (columns >= 0) & (columns < p.input_width)
    seen = rows[:, np.clip(columns, 0, p.input_width - 1)]
    return np.where(is_inside[None, :, :, None], seen, fill).transpose(1, 0, 2, 3)


def products(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int64]:
    """The sums of products, exact: floats of 64 bits hold sums below 2**53."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)


def finish(call: Call, sums: Array, channels: int) -> None:
    """Scales sums, [..., channels], and writes them."""
    p = call.numbers
    scaled = requantize(wrap_s32(sums), call.array("multiplier", channels), call.array("shift", channels))
    clamped = np.clip(wrap_s32(scaled + p.output_zero_point), p.activation_min, p.activation_max)
    call.write(clamped.astype(np.int8))


def _finish_lanes(call: Call, sums: Array, channels: int) -> None:
    """The same with a shift to the left and one to the right for each channel."""
    p = call.numbers
    left, right = (call.array(name, channels).astype(np.int64) for name in ("left", "right"))
    scaled = requantize(wrap_s32(wrap_s32(sums) << left), call.array("multiplier", channels), -right)
    clamped = np.clip(wrap_s32(scaled + p.output_zero_point), p.activation_min, p.activation_max)
    call.write(clamped.astype(np.int8))


@kernel("kibi_conv2d_s8")
def conv2d(call: Call) -> None:
    """CONV_2D, any geometry."""
    p = call.numbers
    depth, made = p.input_channels // p.groups, p.output_channels // p.groups
    fill = int(call.array("padding", 1)[0])
    seen = windows(call, p.input_channels, fill)
    size = p.kernel_rows * p.kernel_width * depth
    weights = call.array("filter", p.output_channels, size).astype(np.int64)
    sums = np.empty((p.output_width, p.output_channels), np.int64)
    for group in range(p.groups):
        of_group = slice(group * made, (group + 1) * made)
        patch = seen[..., group * depth : (group + 1) * depth].reshape(p.output_width, size)
        sums[:, of_group] = products(patch, weights[of_group].T)
    finish(call, sums + call.array("bias", p.output_channels), p.output_channels)


@kernel("kibi_conv2d_s8_lanes")
def conv2d_lanes(call: Call) -> None:
    """CONV_2D with weights for sixteen channels at once, in pairs of elements."""
    p = call.numbers
    seen = windows(call, p.input_channels, p.input_zero_point)
    size = p.kernel_rows * p.kernel_width * p.input_channels
    blocks, pairs = -(-p.output_channels // _LANES), -(-size // 2)
    packed = call.array("filter", blocks, pairs, _LANES, 2)
    weights = packed.transpose(0, 2, 1, 3).reshape(blocks * _LANES, 2 * pairs)[: p.output_channels, :size]
    sums = products(seen.reshape(p.output_width, size), weights.T) + call.array("bias", p.output_channels)
    _finish_lanes(call, sums, p.output_channels)


@kernel("kibi_depthwise_conv2d_s8")
def depthwise(call: Call) -> None:
    """DEPTHWISE_CONV_2D with multiplier 1."""
    p = call.numbers
    weights = call.array("filter", p.kernel_rows, p.kernel_width, p.channels)
    sums = (windows(call, p.channels, p.input_zero_point) * weights).sum(axis=(1, 2))
    finish(call, sums + call.array("bias", p.channels), p.channels)


@kernel("kibi_depthwise_conv2d_s8_lanes")
def depthwise_lanes(call: Call) -> None:
    """The same with weights for sixteen channels at once."""
    p = call.numbers
    blocks = -(-p.channels // _LANES)
    packed = call.array("filter", blocks, p.kernel_rows, p.kernel_width, _LANES)
    weights = packed.transpose(1, 2, 0, 3).reshape(p.kernel_rows, p.kernel_width, -1)[..., : p.channels]
    sums = (windows(call, p.channels, p.input_zero_point) * weights.astype(np.int64)).sum(axis=(1, 2))
    _finish_lanes(call, sums + call.array("bias", p.channels), p.channels)


@kernel("kibi_fully_connected_s8")
def fully_connected(call: Call) -> None:
    """FULLY_CONNECTED of whole vectors."""
    p = call.numbers
    given = p.vectors // p.vectors_per_row * p.pieces
    parts = [call.row(number, p.vectors_per_row * p.piece, "i1") for number in range(given)]
    vectors = np.concatenate(parts).reshape(p.vectors, p.depth)
    weights = call.array("filter", p.output_channels, p.depth)
    finish(call, products(vectors, weights.T) + call.array("bias", p.output_channels), p.output_channels)
