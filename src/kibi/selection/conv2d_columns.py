"""CONV_2D with a kernel three columns wide, in blocks whose pixels share the columns that they read."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall, Param
from kibi.ops.convolution_blocks import block_sizes, shared_columns
from kibi.selection.convolution_call import blocks_distance, blocks_scratch
from kibi.selection.halves import SUM_LIMIT, fit_words, halves, starts, words
from kibi.selection.sums import SimpleSums, simple_sums
from kibi.selection.variant import Goal, Variant

KEPT = (
    "input_width", "input_channels", "output_width", "output_channels", "output_zero_point", "activation_min",
    "activation_max", "kernel_rows", "pad",
)  # fmt: skip
"""The general kernel's sizes that kernels of three columns take, too."""


def pack(call: KernelCall) -> KernelCall | None:
    """Weights and constants in the order of reading; None for other kernels, little scratch, or sums that are not simple."""
    sizes, arrays = three_wide(call)
    if not sizes:
        return None
    channels = (sizes["input_channels"], sizes["output_channels"])
    way = shared_columns(sizes["output_width"], sizes["kernel_rows"], channels, most_bytes=call.scratch_bytes)
    weights, sums = weights_and_sums(sizes, arrays, SUM_LIMIT)
    if way is None or sums is None or not fit_words(halves(weights)):
        return None
    params = (
        Param("stream", stream(weights, sums, way.rows_at_once * way.channels_at_once)),
        Param("padding", arrays["padding"]),
        *(Param(name, sizes[name]) for name in KEPT),
        Param("rows_at_once", way.rows_at_once),
        Param("channels_at_once", way.channels_at_once),
        Param("pixels", way.pixels),
    )
    return KernelCall(
        "kibi_conv2d_s8_columns",
        params,
        way.scratch_bytes,
        overlap_bytes=(blocks_distance(call, block_sizes(sizes["output_width"], way.pixels)),),
        features=frozenset({"KIBI_CONV2D_COLUMNS_OF_ODD_CHANNELS"} if sizes["output_channels"] % 2 else ()),
    )


def three_wide(call: KernelCall) -> tuple[dict[str, int], dict[str, Array]]:
    """Sizes and arrays of a general call whose windows are three neighbouring columns, one apart; else nothing."""
    sizes = {param.name: param.value for param in call.params if isinstance(param.value, int)}
    arrays = {param.name: param.value for param in call.params if isinstance(param.value, np.ndarray)}
    plain = (sizes["kernel_width"], sizes["stride"], sizes["dilation"], sizes["groups"]) == (3, 1, 1, 1)
    return (sizes, arrays) if plain and sizes["input_channels"] % 4 == 0 else ({}, {})


def weights_and_sums(
    sizes: dict[str, int], arrays: dict[str, Array], limit: int
) -> tuple[NDArray[np.int8], SimpleSums | None]:
    """Weights as `[O, kernel rows, 3, C]`, and constants for simple sums below the limit in magnitude, if there are some."""
    weights = arrays["filter"].astype(np.int8).reshape(sizes["output_channels"], -1)
    sums = simple_sums(weights, arrays["bias"], arrays["multiplier"], arrays["shift"], limit=limit)
    return weights.reshape(len(weights), sizes["kernel_rows"], 3, -1), sums


def stream(weights: NDArray[np.int8], sums: SimpleSums, at_once: int) -> NDArray[np.int32]:
    """What sums begin with, weights and the scaling's constants as `kibi_conv2d_s8_columns` reads them.

    Args:
        weights: `[O, kernel rows, 3, C]`.
        sums: constants `[O]`.
        at_once: elements of a column in each pass.
    """
    channels, rows, columns, depth = weights.shape
    even = np.pad(weights, ((0, channels % 2), (0, 0), (0, 0), (0, 0)))
    fours = even.reshape(-1, 2, rows, columns, depth // 4, 4).transpose(0, 2, 4, 3, 1, 5)
    packed = words(halves(fours))  # [pair, row, group, column, 2, 1]
    passes = packed.reshape(len(packed), rows * depth // at_once, -1).transpose(1, 0, 2)
    parts = list(passes.astype(np.int64))
    parts[0] = np.hstack([pairs(starts(sums.bias, halves(weights))), parts[0]])
    parts[-1] = np.hstack([parts[-1], scaling(sums)])
    return np.concatenate([part.reshape(-1) for part in parts]).astype(np.int32)


def pairs(values: Array) -> NDArray[np.int64]:
    """Values `[O]` as `[pairs, 2]`, with 0 behind an odd last one."""
    return np.pad(values.astype(np.int64), (0, len(values) % 2)).reshape(-1, 2)


def scaling(sums: SimpleSums) -> NDArray[np.int64]:
    """Exponents and multipliers as `[pairs, 3]`: both inverted shifts in the two lowest bytes, then both multipliers."""
    inverted = pairs(~sums.shift) & 0xFF
    return np.hstack([inverted[:, :1] | inverted[:, 1:] << 8, pairs(sums.multiplier)])


CONV2D_COLUMNS = Variant(
    "kibi_conv2d_s8_columns", "kibi_conv2d_s8", "armv7em", frozenset({Goal.SPEED, Goal.BALANCED}), pack,
    scratch_bytes=blocks_scratch,
)  # fmt: skip
