"""CONV_2D with a kernel three columns wide, in blocks whose pixels share the columns that they read."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2DColumnsParams
from kibi.ops.windows import convolution_blocks
from kibi.ops.windows.convolution_blocks import block_sizes, can_share_columns, shared_columns
from kibi.selection.convolution_call import blocks_distance, blocks_scratch, inputs_of
from kibi.selection.packed_pairs import SUM_LIMIT, fit_words, packed_pairs, starts, words
from kibi.selection.sums import SimpleSums, channels_of, sums_of
from kibi.selection.variant import Goal, Variant

_FOUR = 4
"""Pixels of a block for which the kernel has a part."""


def pack(call: KernelCall) -> KernelCall | None:
    """Weights and constants in the order of reading; None for other kernels, little scratch, or sums that are not simple."""
    layer = call.params_as(Conv2DS8Params)
    elements = layer.kernel_rows * layer.kernel_width * layer.input_channels
    if not is_three_wide(layer) or not can_share_columns(layer.stride, layer.output_width, elements):
        return None
    channels = (layer.input_channels, layer.output_channels)
    way = shared_columns(
        layer.output_width, layer.kernel_rows, channels, most_bytes=call.scratch_bytes, stride=layer.stride
    )
    weights, sums = weights_and_sums(layer, SUM_LIMIT, inputs_of(call))
    if way is None or sums is None or not fit_words(packed_pairs(weights)):
        return None
    parts = {
        "TWO_APART": layer.stride > 1,
        "OF_4": way.pixels == _FOUR,
        "SIDE_BY_SIDE": way.blocks > 1,
        "IN_PASSES": way.rows_at_once * way.channels_at_once < layer.kernel_rows * layer.input_channels,
        "OF_ODD_CHANNELS": layer.output_channels % 2 != 0,
    }
    params = Conv2DColumnsParams(
        stream=stream(weights, sums, way.rows_at_once * way.channels_at_once),
        padding=layer.padding,
        rows_at_once=way.rows_at_once,
        channels_at_once=way.channels_at_once,
        outputs_at_once=way.outputs_at_once,
        pixels=way.pixels,
        blocks=way.blocks,
        **layer.scalars_for(Conv2DColumnsParams),
    )
    return KernelCall(
        "kibi_conv2d_s8_columns",
        params,
        way.scratch_bytes,
        inplace_distance_bytes=(blocks_distance(call, block_sizes(layer.output_width, way.pixels)),),
        features=frozenset(f"KIBI_CONV2D_COLUMNS_{name}" for name, is_needed in parts.items() if is_needed),
    )


def is_three_wide(layer: Conv2DS8Params) -> bool:
    """True if windows are three neighbouring columns of whole fours of channels."""
    return layer.groups == 1 and convolution_blocks.is_three_wide(
        layer.kernel_width, layer.dilation, layer.input_channels
    )


def weights_and_sums(
    layer: Conv2DS8Params, limit: int, inputs: tuple[int, int]
) -> tuple[NDArray[np.int8], SimpleSums | None]:
    """Returns weights `[O, kernel rows, 3, C]`, and constants for simple sums below the limit in magnitude, if there are some."""
    channels = channels_of(layer, layer.filter.reshape(layer.output_channels, -1), limit=limit, inputs=inputs)
    return channels.weights.reshape(layer.output_channels, layer.kernel_rows, 3, -1), sums_of(channels, limit=limit)


def stream(weights: NDArray[np.int8], sums: SimpleSums, at_once: int) -> NDArray[np.int32]:
    """Returns the sums' initial values, weights and multipliers in the order in which `kibi_conv2d_s8_columns` reads them.

    Args:
        weights: `[O, kernel rows, 3, C]`.
        sums: constants `[O]`.
        at_once: elements of a column in each pass.
    """
    channels, rows, columns, depth = weights.shape
    even = np.pad(weights, ((0, channels % 2), (0, 0), (0, 0), (0, 0)))
    fours = even.reshape(-1, 2, rows, columns, depth // 4, 4).transpose(0, 2, 4, 3, 1, 5)
    packed = words(packed_pairs(fours))  # [pair, row, group, column, 2, 1]
    passes = packed.reshape(len(packed), rows * depth // at_once, -1).transpose(1, 0, 2)
    parts = list(passes.astype(np.int64))
    parts[0] = np.hstack([pairs(starts(sums.bias, packed_pairs(weights), sums.shift)), parts[0]])
    parts[-1] = np.hstack([parts[-1], pairs(sums.multiplier)])
    return np.concatenate([part.reshape(-1) for part in parts]).astype(np.int32)


def pairs(values: Array) -> NDArray[np.int64]:
    """Returns values `[O]` as `[pairs, 2]`, with 0 after an odd last one."""
    return np.pad(values.astype(np.int64), (0, len(values) % 2)).reshape(-1, 2)


CONV2D_COLUMNS = Variant(
    "kibi_conv2d_s8_columns", "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack,
    scratch_bytes=blocks_scratch,
)  # fmt: skip
