"""CONV_2D and FULLY_CONNECTED of s16 in blocks of two output channels and one to three pixels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall
from kibi.kernels.params import Params
from kibi.kernels.params.conv2d import Conv2DS16Params
from kibi.kernels.params.conv2d_s16_packed import Conv2DS16BlocksParams
from kibi.kernels.params.fully_connected import FullyConnectedS16Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.ops.overlap import least_distance
from kibi.selection.sums import MOST_SIZE, wide_factors
from kibi.selection.variant import PARTS, Goal, Variant

_KERNEL = "kibi_conv2d_s16_blocks"
_PIXELS = 3
"""Of the fastest block."""
_FEW_BYTES = 1152
"""Scratch for which blocks get as many pixels as are fast."""
_MOST_BYTES = 2560
"""Scratch above which no block is made."""
_LEAST_BLOCKS = 4
"""Of a row, so that to widen the weights once takes fewer instructions than to do so in each block."""
_ROOMY_BYTES = 16384
"""The same where speed is the goal."""


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Weights in pairs of channels; None for groups, sums of 32 bits, large windows, or scales that do not fit."""
    layer = call.params_as(Conv2DS16Params)
    if layer.groups > 1:
        return None
    return _pack(call, layer, {**layer.scalars_for(Conv2DS16BlocksParams), "output_zero_point": 0})


def pack_wide_convolution(call: KernelCall) -> KernelCall | None:
    """The same with weights of 16 bits, which need no widening; None as above, and where blocks have fewer than three pixels."""
    narrow = pack_convolution(call)
    if narrow is None or narrow.params_as(Conv2DS16BlocksParams).pixels < _PIXELS:
        return None
    params = narrow.params_as(Conv2DS16BlocksParams)
    wide = params.replaced(stream=_widened(params.stream, -(-params.output_channels // 2)), weight_bits=16)
    return replace(narrow, params=wide, features=needed_parts(wide))


def pack_widened_convolution(call: KernelCall) -> KernelCall | None:
    """The same with weights of 8 bits that the kernel widens once a row; None as above, and where it does so in vain."""
    narrow = pack_convolution(call)
    if narrow is None:
        return None
    params = narrow.params_as(Conv2DS16BlocksParams)
    scratch_bytes = narrow.scratch_bytes + _widened_bytes(params.scalars)
    if params.pixels < _PIXELS or len(blocks_of(params)) < _LEAST_BLOCKS or scratch_bytes > call.scratch_bytes:
        return None
    widened = params.replaced(is_widened=1)
    return replace(narrow, params=widened, scratch_bytes=scratch_bytes, features=needed_parts(widened))


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """A convolution by a window of one column, or of one row; None as above, and for several vectors in pieces."""
    layer = call.params_as(FullyConnectedS16Params)
    sizes = _vector_sizes(layer)
    return None if sizes is None else _pack(call, layer, {**layer.scalars_for(Conv2DS16BlocksParams), **sizes})


def _vector_sizes(layer: FullyConnectedS16Params) -> Mapping[str, int] | None:
    """The sizes of the convolution that a fully connected layer is; None if it is none."""
    if layer.vectors > 1 and layer.vectors_per_row != layer.vectors:
        return None
    return {
        "input_width": layer.vectors, "input_channels": layer.piece, "output_width": layer.vectors,
        "kernel_rows": layer.pieces, "kernel_width": 1, "stride": 1, "dilation": 1, "pad": 0,
    }  # fmt: skip


def _pack(
    call: KernelCall, layer: Conv2DS16Params | FullyConnectedS16Params, numbers: Mapping[str, Any]
) -> KernelCall | None:
    """The call with these numbers."""
    window = _window_elements(numbers)
    pixels = min(_most_pixels(numbers), call.scratch_bytes // (2 * window))
    if not layer.is_wide or not pixels or max(numbers.values()) > MOST_SIZE:
        return None
    weights = layer.filter.astype(np.int8).reshape(layer.output_channels, -1)
    factors = wide_factors(weights, layer.bias, layer.multiplier, layer.shift)
    if factors is None:
        return None
    params = Conv2DS16BlocksParams(
        stream=_stream(weights[:, _order(numbers)], layer.bias.astype(np.int32), factors),
        pixels=pixels,
        weight_bits=8,
        is_widened=0,
        **numbers,
    )
    distances = call.inplace_distance_bytes
    return KernelCall(
        _KERNEL,
        params,
        2 * pixels * window,
        scratch_alignment=4,
        inplace_distance_bytes=tuple(
            None if each is None else distance_of_blocks(params, blocks_of(params)) for each in distances
        ),
        features=needed_parts(params),
    )


def _window_elements(numbers: Mapping[str, int]) -> int:
    """The elements of a window, filled up to whole fours."""
    elements = numbers["kernel_rows"] * numbers["kernel_width"] * numbers["input_channels"]
    return elements + -elements % 4


def _order(numbers: Mapping[str, int]) -> NDArray[np.int64]:
    """The elements of a window in the order in which they are multiplied: pairs of runs, then what is left of odd ones."""
    columns, depth = numbers["kernel_width"], numbers["input_channels"]
    elements = np.arange(numbers["kernel_rows"] * columns * depth).reshape(numbers["kernel_rows"], columns, depth)
    spread, touching = elements.transpose(1, 0, 2).reshape(-1, depth), elements.reshape(-1, columns * depth)
    runs = spread if numbers["dilation"] > 1 else touching
    paired = runs.shape[1] & ~1
    return np.concatenate([runs[:, :paired].reshape(-1), runs[:, paired:].reshape(-1)])


def _stream(weights: NDArray[np.int8], bias: NDArray[np.int32], factors: NDArray[np.int32]) -> NDArray[np.int32]:
    """Weights `[O, K]` as words between biases and factors `[O]`, filled up to whole fours and pairs of channels."""
    channels, elements = weights.shape
    filled = np.pad(weights, ((0, channels % 2), (0, -elements % 4)))
    pairs = -(-channels // 2)
    words = np.ascontiguousarray(filled.reshape(pairs, 2, -1, 4)[..., [0, 2, 1, 3]].transpose(0, 2, 1, 3))
    ends = (np.pad(each, (0, channels % 2)).reshape(pairs, 2) for each in (bias, factors))
    first, last = (each.astype(np.int32) for each in ends)
    return np.concatenate([first, words.reshape(pairs, -1).view("<i4").astype(np.int32), last], axis=1).reshape(-1)


def _widened(stream: Array, pairs: int) -> NDArray[np.int32]:
    """Words of two weights of 16 bits in place of those of four of 8 bits; pairs: of channels."""
    words = stream.reshape(pairs, -1)
    packed = np.ascontiguousarray(words[:, 2:-2]).view(np.int8).reshape(pairs, -1, 2, 4)[..., [0, 2, 1, 3]]
    halves = packed.reshape(pairs, -1, 2, 2, 2).transpose(0, 1, 3, 2, 4).astype("<i2")
    wide = np.ascontiguousarray(halves).view("<i4").astype(np.int32)
    return np.concatenate([words[:, :2], wide.reshape(pairs, -1), words[:, -2:]], axis=1).reshape(-1)


def distance_of_blocks(p: Conv2DS16Params | Conv2DS16BlocksParams, blocks: Sequence[int]) -> int:
    """Returns the least distance in place, in bytes: a block's windows are read before its first channel is written.

    Args:
        p: the layer.
        blocks: the pixels of each block of a row.
    """
    reads, first = [], 0
    for pixels in blocks:
        for x in range(first, first + pixels):
            column = x * p.stride - p.pad
            column += max(0, -(column // p.dilation)) * p.dilation
            reads.append((column * p.input_channels, first * p.output_channels))
        first += pixels
    return DType.S16.size_bytes * least_distance(reads)


def blocks_of(p: Conv2DS16BlocksParams) -> list[int]:
    """Returns the pixels of each block of a row."""
    blocks, left = list[int](), p.output_width
    while left > 0:
        blocks.append(min(left, p.pixels) if p.pixels < _PIXELS else 2 if left in (2, 4) else _PIXELS)
        left -= blocks[-1]
    return blocks


def _most_pixels(numbers: Mapping[str, int]) -> int:
    """The pixels of the fastest block."""
    return _PIXELS if numbers["output_width"] > 1 else 1


def _scratch(call: KernelCall, goal: Goal) -> int:
    """The bytes of scratch for the blocks: of several pixels where that is little or speed is the goal, else of one."""
    layer = call.params_as(Params)
    numbers = _vector_sizes(layer) if isinstance(layer, FullyConnectedS16Params) else layer.scalars
    if numbers is None:
        return 0
    pixel_bytes = 2 * _window_elements(numbers)
    most_bytes = _ROOMY_BYTES if goal is Goal.SPEED else _FEW_BYTES
    several = min(_most_pixels(numbers), most_bytes // pixel_bytes) * pixel_bytes
    return several or (pixel_bytes if pixel_bytes <= _MOST_BYTES else 0)


def _widened_bytes(numbers: Mapping[str, int]) -> int:
    """The bytes of the stream with weights of 16 bits."""
    return -(-numbers["output_channels"] // 2) * (16 + 4 * _window_elements(numbers))


def _widened_scratch(call: KernelCall, goal: Goal) -> int:
    """The bytes of scratch for blocks and for wide weights, where these take a small part of the arena."""
    several, widened = _scratch(call, goal), _widened_bytes(call.params_as(Params).scalars)
    return several + widened if several and widened <= call.least_arena_bytes // PARTS else several


CONV2D_S16_BLOCKS = (
    Variant(
        _KERNEL,
        "kibi_conv2d_s16",
        "armv7em",
        frozenset({Goal.SPEED}),
        pack_wide_convolution,
        scratch_bytes=_scratch,
        is_for_copies=True,
    ),
    Variant(
        _KERNEL,
        "kibi_conv2d_s16",
        "armv7em",
        frozenset({Goal.BALANCED}),
        pack_widened_convolution,
        scratch_bytes=_widened_scratch,
    ),
    Variant(_KERNEL, "kibi_conv2d_s16", "armv7em", frozenset(Goal), pack_convolution, scratch_bytes=_scratch),
    Variant(
        _KERNEL, "kibi_fully_connected_s16", "armv7em", frozenset(Goal), pack_fully_connected, scratch_bytes=_scratch
    ),
)
