"""FULLY_CONNECTED with eight output channels at once, two of which share a word and a multiplication."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.kernels.params.halves import FullyConnectedHalvesParams
from kibi.ops.overlap import least_distance
from kibi.selection.conv2d_halves import fit_halves, flag_words
from kibi.selection.fully_connected_blocks import Vectors, vectors_of, vectors_of_window
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_fully_connected_s8_halves"
_BLOCK = 8
"""Output channels of a block."""
_FLAGS = 32
"""Pairs of elements that share a word of breaks."""
_RAISED = 128
"""What is added to weights."""
_MOST_PADDED = 8
"""Of the channels, at most one part in so many may be without weights: they take as much flash as others."""


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """Weights of two channels and two elements in a word; None for odd pieces or sizes, or for products that do not fit 16 bits."""
    return _packed(call, call.params_as(FullyConnectedS8Params), vectors_of(call))


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """The same of a convolution with rows of one pixel and a window of neighbouring columns; None for others, too."""
    read = vectors_of_window(call)
    return None if read is None else _packed(call, call.params_as(Conv2DS8Params), read)


def _packed(call: KernelCall, given: Conv2DS8Params | FullyConnectedS8Params, layer: Vectors) -> KernelCall | None:
    channels, pieces, piece = layer.weights.shape
    padded = -channels % _BLOCK
    if piece % 2 or padded * _MOST_PADDED > channels:
        return None
    weights = layer.weights.reshape(channels, -1, 2)
    blocks = np.pad(weights, ((0, padded), (0, 0), (0, 0))).reshape(-1, _BLOCK // 2, 2, weights.shape[1], 2)
    if not fit_halves(blocks):
        return None
    raised = (blocks + _RAISED).astype(np.uint8).transpose(0, 3, 1, 2, 4)
    params = FullyConnectedHalvesParams(
        filter=np.ascontiguousarray(raised).reshape(-1).view("<i4"),
        breaks=flag_words(_ends(blocks.reshape(len(blocks), _BLOCK, -1, 2), piece // 2)),
        bias=np.pad(layer.bias, (0, padded)).astype(np.int32),
        multiplier=layer.multiplier.astype(np.int32),
        shift=layer.shift.astype(np.int8),
        piece=piece,
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
    return KernelCall(_KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes)


def _ends(weights: NDArray[np.int64], piece: int) -> NDArray[np.bool_]:
    """True where sums of products end, `[blocks, pairs of elements]`: as late as they fit, for each of a block's channels.

    Args:
        weights: `[blocks, channels of a block, pairs of elements, 2]`.
        piece: pairs of elements of a piece: at its end, and at that of a word of breaks, sums end in any case.
    """
    above = np.maximum(weights, 0).sum(axis=-1)
    below = np.maximum(-weights, 0).sum(axis=-1)
    ends = np.zeros((len(weights), weights.shape[2]), bool)
    sums = np.zeros((2, *above.shape[:2]), np.int64)
    for step in range(weights.shape[2]):
        each = np.stack([above[:, :, step], below[:, :, step]])
        if step % piece == 0 or step % _FLAGS == 0:
            sums = each
            continue
        more = sums + each
        fit = (127 * more[0] + 128 * more[1] < 1 << 15) & (128 * more[0] + 127 * more[1] <= 1 << 15)
        ends[:, step - 1] = ~fit.all(axis=1)
        sums = np.where(ends[:, step - 1, None], each, more)
    return ends


FULLY_CONNECTED_HALVES = (
    Variant(_KERNEL, "kibi_fully_connected_s8", "riscv", frozenset(Goal), pack_fully_connected),
    Variant(_KERNEL, "kibi_conv2d_s8", "riscv", frozenset(Goal), pack_convolution),
)
