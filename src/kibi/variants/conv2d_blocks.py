"""CONV_2D in blocks of two output channels and two or three pixels."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall, Param
from kibi.ops.convolution_blocks import block_bytes, block_pixels
from kibi.variants.sums import SimpleSums, simple_sums
from kibi.variants.variant import Goal, Variant

_KEPT = (
    "input_width", "input_channels", "output_width", "output_channels", "output_zero_point", "activation_min",
    "activation_max", "kernel_rows", "kernel_width", "stride", "dilation", "pad",
)  # fmt: skip


def pack(call: KernelCall) -> KernelCall | None:
    """Weights in the order of blocks; None for groups, narrow rows, large windows, or sums that are not simple."""
    values = {param.name: param.value for param in call.params}
    size = {name: int(value) for name, value in values.items() if isinstance(value, int)}
    array = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    channels = size["output_channels"]
    weights = array["filter"].reshape(channels, -1)
    is_whole = size["input_channels"] % 4 == 0
    pixels = block_pixels(size["output_width"], weights.shape[1], is_whole=is_whole)
    if size["groups"] > 1 or not pixels:
        return None
    sums = simple_sums(weights, array["bias"], array["multiplier"], array["shift"])
    if sums is None:
        return None
    params = (
        Param("filter", paired_words(weights)),
        Param("channels", paired_channels(sums)),
        Param("padding", array["padding"]),
        *(Param(name, size[name]) for name in _KEPT),
        Param("pixels", pixels),
    )
    return KernelCall(
        "kibi_conv2d_s8_blocks",
        params,
        block_bytes(pixels, weights.shape[1], is_whole=is_whole),
        overlap_bytes=call.overlap_bytes,
    )


def paired_words(weights: NDArray[np.int8]) -> NDArray[np.int32]:
    """Weights `[O, K]` as `[pairs, groups, 2]` words of four, the first in the lowest byte; zeros fill up pairs and groups."""
    channels, elements = weights.shape
    filled = np.pad(weights, ((0, channels % 2), (0, -elements % 4)))
    pairs = filled.reshape(-(-channels // 2), 2, -1, 4).transpose(0, 2, 1, 3)
    words: NDArray[np.int32] = np.ascontiguousarray(pairs).astype(np.int8).view("<i4").astype(np.int32)
    return words.reshape(-1)


def paired_channels(sums: SimpleSums) -> NDArray[np.int32]:
    """Biases, multipliers and shifts `[O]` as `[pairs, 5]` words: two of each, and both inverted shifts in two bytes."""
    columns = [each.astype(np.int64) for each in (sums.bias, sums.multiplier, ~sums.shift)]
    bias, multiplier, inverted = (np.pad(each, (0, len(each) % 2)).reshape(-1, 2) for each in columns)
    exponents = (inverted[:, :1] & 0xFF) | (inverted[:, 1:] & 0xFF) << 8
    return np.hstack([bias, multiplier, exponents]).astype(np.int32).reshape(-1)


CONV2D_BLOCKS = Variant(
    "kibi_conv2d_s8_blocks", "kibi_conv2d_s8", "armv7em", frozenset({Goal.SPEED, Goal.BALANCED}), pack
)
