"""CONV_2D with a kernel three columns wide by Winograd's F(2,3) along the width, in exact integers: rule N21."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_winograd import Conv2DWinogradParams
from kibi.ops.windows.convolution_blocks import block_sizes, tiles_bytes, tiles_of_block
from kibi.selection.conv2d_columns import is_three_wide, pairs, weights_and_sums
from kibi.selection.convolution_call import blocks_distance, blocks_scratch, inputs_of
from kibi.selection.sums import SimpleSums
from kibi.selection.variant import Goal, Variant

_SUM_LIMIT = 1 << 30
"""True sums stay below it in magnitude: they are doubled."""


def pack(call: KernelCall) -> KernelCall | None:
    """Weights and constants in the order of reading; None for other kernels, little scratch, or sums that are not simple.

    Weights take 8 / 3 of the flash.
    """
    layer = call.params_as(Conv2DS8Params)
    if not is_three_wide(layer) or layer.stride != 1:
        return None
    rows, depth = layer.kernel_rows, layer.input_channels
    tiles = tiles_of_block(layer.output_width, rows, depth, most_bytes=call.scratch_bytes)
    weights, sums = weights_and_sums(layer, _SUM_LIMIT, inputs_of(call))
    if not tiles or sums is None:
        return None
    params = Conv2DWinogradParams(
        stream=stream(weights, sums),
        padding=np.full(depth, layer.padding[0], np.int8),
        tiles=tiles,
        **layer.scalars_for(Conv2DWinogradParams),
    )
    return KernelCall(
        "kibi_conv2d_s8_winograd",
        params,
        tiles_bytes(tiles, rows, depth),
        inplace_distance_bytes=(
            blocks_distance(call, [2 * each for each in block_sizes(-(-layer.output_width // 2), tiles)]),
        ),
        features=frozenset({"KIBI_CONV2D_WINOGRAD_OF_ODD_CHANNELS"} if layer.output_channels % 2 else ()),
    )


def stream(weights: NDArray[np.int8], sums: SimpleSums) -> NDArray[np.int32]:
    """Biases, weights `[O, kernel rows, 3, C]` and the scaling's constants as `kibi_conv2d_s8_winograd` reads them.

    All sums are doubled, so that the transformed weights are integers, of 10 bits: the true sums' bounds say that nothing is lost
    modulo 2**32.
    """
    a, b, c = weights.astype(np.int64).transpose(2, 0, 1, 3)
    scales = scaling_words(sums)
    parts = (
        2 * pairs(sums.bias), element_words(a + b + c), element_words(a - b + c), element_words(2 * c), scales,
        element_words(2 * a), scales,
    )  # fmt: skip
    return np.hstack(parts).astype(np.int32).reshape(-1)


def element_words(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns weights `[O, …]` as `[pairs, words]` of two: of each four, 0 and 2 of both channels, then 1 and 3."""
    channels = len(weights)
    even = np.pad(weights.reshape(channels, -1), ((0, channels % 2), (0, 0)))
    fours = even.reshape(-1, 2, even.shape[1] // 4, 2, 2).transpose(0, 2, 4, 1, 3)  # [pair, group, odd, channel, half]
    return np.ascontiguousarray(fours).astype("<i2").view("<i4").astype(np.int64).reshape(len(fours), -1)


def scaling_words(sums: SimpleSums) -> NDArray[np.int64]:
    """Returns exponents and multipliers as `[pairs, 3]`: both inverted shifts in the two lowest bytes, then both multipliers."""
    inverted = pairs(~sums.shift) & 0xFF
    return np.hstack([inverted[:, :1] | inverted[:, 1:] << 8, pairs(sums.multiplier)])


CONV2D_WINOGRAD = Variant(
    "kibi_conv2d_s8_winograd", "kibi_conv2d_s8", "armv7em", frozenset({Goal.SPEED}), pack, scratch_bytes=blocks_scratch
)
