"""FULLY_CONNECTED with eight output channels at once, two of which share a word and a multiplication."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.kernels.params.halves import FullyConnectedHalvesParams
from kibi.kernels.params.needed_parts import needed_parts
from kibi.ops.overlap import least_distance
from kibi.quant import wrap_s32
from kibi.selection.conv2d_halves import flag_words
from kibi.selection.fully_connected_blocks import LEAST_WEIGHTS_BY_ZEROS, Vectors, vectors_of, vectors_of_window
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_fully_connected_s8_halves"
_BLOCK = 8
"""Output channels of a block."""
_RAISED = 128
"""What is added to weights, and to elements that are small then."""
_MOST_PRODUCTS = (1 << 15) - 1
"""Of a sum of products in a half."""
_MOST_PADDED = 8
"""Of the channels, at most one part in so many may be without weights: they take as much flash as others."""
_NUMBERS = 2 + _BLOCK
"""Of a block of channels, where zeros may be left out."""


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """Weights of four channels in a word; None where too many channels of the last block would have none."""
    return _packed(call, call.params_as(FullyConnectedS8Params), vectors_of(call))


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """The same of a convolution with rows of one pixel and a window of neighbouring columns; None for others, too."""
    read = vectors_of_window(call)
    return None if read is None else _packed(call, call.params_as(Conv2DS8Params), read)


def _packed(call: KernelCall, given: Conv2DS8Params | FullyConnectedS8Params, layer: Vectors) -> KernelCall | None:
    channels, pieces, piece = layer.weights.shape
    padded = -channels % _BLOCK
    if padded * _MOST_PADDED > channels:
        return None
    weights = np.pad(layer.weights.reshape(channels, -1), ((0, padded), (0, 0)))
    blocks = weights.reshape(-1, _BLOCK, weights.shape[1])
    bias = np.pad(layer.bias, (0, padded))
    raised = np.ascontiguousarray((blocks + _RAISED).astype(np.uint8).transpose(0, 2, 1))
    numbers = _NUMBERS if call.is_often_least and channels * pieces * piece >= LEAST_WEIGHTS_BY_ZEROS else 0
    params = FullyConnectedHalvesParams(
        filter=raised.reshape(-1).view("<i4"),
        breaks=_breaks(blocks, bias, numbers),
        bias=bias.astype(np.int32),
        multiplier=layer.multiplier.astype(np.int32),
        shift=layer.shift.astype(np.int8),
        piece=piece,
        numbers=numbers,
        pieces=pieces,
        vectors=layer.vectors,
        vectors_per_row=layer.vectors_per_row,
        output_channels=channels,
        output_zero_point=given.output_zero_point,
        activation_min=given.activation_min,
        activation_max=given.activation_max,
    )
    # A vector is read again for each block of eight.
    last = (channels - 1) // _BLOCK * _BLOCK
    reads = ((vector * pieces * piece, vector * channels + last) for vector in range(layer.vectors))
    distance = call.inplace_distance_bytes[0] if call.inplace_distance_bytes else None
    if distance is not None and distance < least_distance(reads):
        return None
    return KernelCall(
        _KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes, features=needed_parts(params)
    )


def _breaks(weights: NDArray[np.int64], bias: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    """Where sums of products end in blocks `[blocks, channels of a block, K]`: numbers, if any, and the flags of each, in a row."""
    ends = _ends(weights)
    limits = _MOST_PRODUCTS // np.maximum(1, np.abs(weights).max(axis=(1, 2)))
    numbers = np.stack([limits, ends.sum(axis=1)], axis=1).astype(np.int32)
    raised = wrap_s32(bias.reshape(-1, _BLOCK) - _RAISED * weights.sum(axis=2)).astype(np.int32)
    head = np.concatenate([numbers, raised], axis=1)[:, :count]
    return np.concatenate([head, flag_words(ends).reshape(len(ends), -1)], axis=1).reshape(-1)


def _ends(weights: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True where sums of products end, `[blocks, K]`: as late as they fit 16 bits, for each of a block's channels.

    Args:
        weights: `[blocks, channels of a block, K]`.
    """
    parts = np.stack([np.maximum(weights, 0), np.maximum(-weights, 0)])
    ends = np.zeros((len(weights), weights.shape[2]), bool)
    sums = parts[..., 0]
    for element in range(1, weights.shape[2]):
        more = sums + parts[..., element]
        fit = (127 * more[0] + 128 * more[1] < 1 << 15) & (128 * more[0] + 127 * more[1] <= 1 << 15)
        ends[:, element - 1] = ~fit.all(axis=1)
        sums = np.where(ends[:, element - 1, None], parts[..., element], more)
    return ends


FULLY_CONNECTED_HALVES = (
    Variant(_KERNEL, "kibi_fully_connected_s8", "riscv", frozenset(Goal), pack_fully_connected),
    Variant(_KERNEL, "kibi_conv2d_s8", "riscv", frozenset(Goal), pack_convolution),
)
