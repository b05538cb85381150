"""CONV_2D in blocks of two output channels and two to four pixels, with weights of int8 or int4."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2DBlocksParams, Conv2DInt4Params
from kibi.ops.sums.int4 import unpacked_int4
from kibi.ops.windows.conv2d import columns_outside
from kibi.ops.windows.convolution_blocks import (
    apart_scratch_bytes,
    block_bytes,
    block_pixels,
    block_sizes,
    blocks_at_once,
    side_by_side_bytes,
)
from kibi.quant import wrap_s32
from kibi.selection.convolution_call import blocks_distance, blocks_scratch, dense, inputs_of, window_of
from kibi.selection.packed_pairs import SUM_LIMIT, fit_words, packed_pairs, starts, words
from kibi.selection.single_rounding import single_rounding
from kibi.selection.sums import MOST_SIZE, SimpleSums, channels_of, sums_of
from kibi.selection.variant import Goal, Variant

_ALL = (-128, 127)
"""The range of int8."""
_FRACTION_BITS = 11
"""Of outputs that are rounded once: enough for scales below 2**-4, which sums of many products have."""
_RAISED_HALF = 8 * 256 + 8
"""What raises both weights of a packed half by 8."""


def pack(call: KernelCall) -> KernelCall | None:
    """Weights in the order of blocks; None for groups of more channels, narrow rows, large windows, or sums that are not simple."""
    call = dense(call)
    layer = call.params_as(Conv2DS8Params)
    weights = layer.filter.reshape(layer.output_channels, -1)
    is_whole = layer.input_channels % 4 == 0
    most_bytes = call.scratch_bytes
    pixels = block_pixels(layer.output_width, weights.shape[1], is_whole=is_whole, most_bytes=most_bytes)
    if layer.groups > 1 or not pixels or max(layer.scalars.values()) > MOST_SIZE:
        return None
    channels = channels_of(layer, weights, limit=SUM_LIMIT, inputs=inputs_of(call))
    sums = sums_of(channels, limit=SUM_LIMIT)
    packed = packed_pairs(_in_order(channels.weights, layer.kernel_rows, is_whole=is_whole))
    if sums is None or not fit_words(packed):
        return None
    sizes = block_sizes(layer.output_width, pixels)
    blocks = blocks_at_once(sizes, weights.shape[1], is_whole=is_whole, most_bytes=most_bytes)
    constants, rounds_once = constants_of(layer, channels.weights, sums, packed)
    params = Conv2DBlocksParams(
        stream=_interleaved(constants, paired_words(packed)),
        rounds_once=int(rounds_once),
        padding=layer.padding,
        pixels=pixels,
        blocks=blocks,
        **layer.scalars_for(Conv2DBlocksParams),
    )
    return KernelCall(
        "kibi_conv2d_s8_blocks",
        params,
        block_bytes(pixels, weights.shape[1], is_whole=is_whole, blocks=blocks),
        inplace_distance_bytes=(blocks_distance(call, sizes),),
        features=_features(layer, pixels, blocks, rounds_once=rounds_once),
    )


def pack_int4(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_conv2d_s8_int4`; refuses what `pack` refuses of the same layer with weights of int8."""
    made = pack(_widened(call))
    if made is None:
        return None
    params = made.params_as(Conv2DBlocksParams)
    pairs = params.stream.reshape((params.output_channels + 1) // 2, -1)
    filter_, channels = pairs[:, 2:-2], pairs[:, [0, 1, -2, -1]]
    # Halves of packed pairs with 8 added to each weight have no borrow: each byte has a weight of its own.
    raised = (
        ((np.ascontiguousarray(filter_).view("<u2").astype(np.int64) + _RAISED_HALF) & 0xFFFF).astype("<u2").view("<u4")
    )
    first, second = raised.reshape(-1, 2).T
    halved = (first | second << np.uint32(4)).astype(np.uint32).view(np.int32)
    return replace(
        made, kernel="kibi_conv2d_s8_int4_blocks", params=params.replaced(stream=_interleaved(channels, halved))
    )


def _widened(call: KernelCall) -> KernelCall:
    """The same layer, of `kibi_conv2d_s8_int4`, for `kibi_conv2d_s8`, with the same scratch."""
    layer = call.params_as(Conv2DInt4Params)
    size = layer.kernel_rows * layer.kernel_width * layer.input_channels
    params = Conv2DS8Params(
        filter=unpacked_int4(layer.filter, (layer.output_channels, 1, size)).reshape(-1),
        bias=layer.bias,
        multiplier=layer.multiplier,
        shift=layer.shift,
        padding=np.zeros(0, np.int8),
        groups=1,
        uses_im2col=layer.gathers,
        **layer.scalars_for(Conv2DS8Params),
    )
    made = KernelCall("kibi_conv2d_s8", params, call.scratch_bytes)
    outside = max(1, columns_outside(window_of(made)) * layer.input_channels)
    padding = np.full(outside, layer.input_zero_point, np.int8)
    return replace(made, params=params.replaced(padding=padding))


def _int4_scratch(call: KernelCall, goal: Goal) -> int:
    """The bytes of scratch for the fastest blocks; for speed, for as many of them as are of use at once."""
    window = window_of(_widened(call))
    few = apart_scratch_bytes(window)
    return max(few, side_by_side_bytes(window)) if goal is Goal.SPEED else few


def _features(layer: Conv2DS8Params, pixels: int, blocks: int, *, rounds_once: bool) -> frozenset[str]:
    """The parts of the kernel that a layer needs."""
    end = (layer.output_width - 1) * layer.stride - layer.pad + (layer.kernel_width - 1) * layer.dilation
    stays_inside = layer.pad == 0 and end < layer.input_width and layer.dilation == 1
    sizes = block_sizes(layer.output_width, pixels)
    is_whole, has_words = layer.input_channels % 4 == 0, _has_words(layer)
    has_three_rows = _has_three_rows(layer, pixels)
    parts = {
        **{f"OF_{count}": True for count in sizes},
        "AT_EDGES": not (stays_inside or has_words),
        "OF_BYTES": not (is_whole or has_words or (has_three_rows and set(sizes) == {4})),
        "OF_WORDS": has_words,
        "OF_THREE_ROWS": has_three_rows,
        "OF_ODD_CHANNELS": layer.output_channels % 2 != 0,
        "SIDE_BY_SIDE": blocks > 1,
        "ROUNDED_ONCE": rounds_once,
        "ROUNDED_TWICE": not rounds_once,
        "OF_CLAMPS": (layer.activation_min, layer.activation_max) != _ALL,
    }
    return frozenset(f"KIBI_CONV2D_BLOCKS_{name}" for name, is_needed in parts.items() if is_needed)


def _has_words(layer: Conv2DS8Params) -> bool:
    """True if pixels are no whole words, but each row of a window is one, of which at least a byte is inside."""
    last = (layer.output_width - 1) * layer.stride - layer.pad
    is_word = layer.input_channels % 4 != 0 and layer.kernel_width * layer.input_channels == 4 and layer.dilation == 1
    is_wide = layer.input_width * layer.input_channels >= 4
    return is_word and is_wide and layer.pad * layer.input_channels < 4 and last < layer.input_width


def _has_three_rows(layer: Conv2DS8Params, pixels: int) -> bool:
    """True if windows have three rows with one element besides whole words, in blocks of four pixels whose windows touch."""
    run = layer.kernel_width * layer.input_channels
    is_close = layer.dilation == 1 and layer.stride <= layer.kernel_width
    return is_close and pixels == 4 and layer.kernel_rows == 3 and run > 4 and run % 4 == 1


def _in_order(weights: NDArray[np.int8], rows: int, *, is_whole: bool) -> NDArray[np.int8]:
    """Weights `[O, K]` in reading order, filled up to whole fours with zeros.

    Args:
        weights: in the order of the window's elements.
        rows: of the window.
        is_whole: true if the input's channels are a multiple of four; else the rests of the window's rows come last.
    """
    runs = weights.reshape(len(weights), rows, -1)
    whole = runs.shape[2] if is_whole else runs.shape[2] // 4 * 4
    filled = np.zeros((len(runs), weights.shape[1] + -weights.shape[1] % 4), np.int8)
    filled[:, : rows * whole] = runs[:, :, :whole].reshape(len(runs), -1)
    filled[:, rows * whole : weights.shape[1]] = runs[:, :, whole:].reshape(len(runs), -1)
    return filled


def constants_of(
    layer: Conv2DS8Params, weights: NDArray[np.int8], sums: SimpleSums, packed: NDArray[np.int64]
) -> tuple[NDArray[np.int32], bool]:
    """Returns the constants of channels beside their weights, `[pairs, 4]` words, and True if outputs are rounded once.

    Args:
        layer: with the output's zero point and activation.
        weights: `[O, K]`.
        sums: constants of the same channels.
        packed: the weights in packed pairs.
    """
    low, high = layer.activation_min, layer.activation_max
    once = single_rounding(weights, sums, layer.output_zero_point, low, high, bits=_FRACTION_BITS)
    if once is None:
        return paired_channels(starts(sums.bias, packed, sums.shift), sums.multiplier), False
    return paired_channels(wrap_s32(starts(sums.bias, packed).astype(np.int64) + once.addend), once.factor), True


def _interleaved(channels: Array, weights: Array) -> NDArray[np.int32]:
    """Both constants from which sums start, before the weights of each pair of channels, and both others after them."""
    constants = channels.reshape(-1, 4)
    joined: NDArray[np.int32] = np.hstack([constants[:, :2], weights.reshape(len(constants), -1), constants[:, 2:]])
    return joined.reshape(-1)


def paired_words(packed: NDArray[np.int64]) -> NDArray[np.int32]:
    """Halves `[O, 2 * groups]` as `[pairs, groups, 2]` words of four weights; zeros fill up pairs."""
    even = words(np.pad(packed, ((0, 1), (0, 0))) if len(packed) % 2 else packed)
    return np.ascontiguousarray(even.reshape(len(even) // 2, 2, -1).transpose(0, 2, 1)).reshape(-1)


def paired_channels(first: Array, multiplier: Array) -> NDArray[np.int32]:
    """Initial values and multipliers `[O]` as `[pairs, 4]` words: two of each."""
    columns = np.zeros((2, len(first) + len(first) % 2), np.int32)
    columns[:, : len(first)] = first, multiplier
    return np.ascontiguousarray(columns.reshape(2, -1, 2).transpose(1, 0, 2)).reshape(-1)


CONV2D_BLOCKS = Variant(
    "kibi_conv2d_s8_blocks", "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack,
    scratch_bytes=blocks_scratch,
)  # fmt: skip
CONV2D_INT4_BLOCKS = Variant(
    "kibi_conv2d_s8_int4_blocks", "kibi_conv2d_s8_int4", "armv7em", frozenset(Goal), pack_int4,
    scratch_bytes=_int4_scratch,
)  # fmt: skip
