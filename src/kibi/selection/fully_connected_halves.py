"""FULLY_CONNECTED with eight output channels at once, two of which share a word and a multiplication."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.kernels.params.halves import FullyConnectedHalvesParams
from kibi.selection.conv2d_halves import fit_halves, flag_words
from kibi.selection.variant import Goal, Variant

_BLOCK = 8
"""Output channels of a block."""
_FLAGS = 32
"""Pairs of elements that share a word of breaks."""
_RAISED = 128
"""What is added to weights."""
_MOST_PADDED = 8
"""Of the channels, at most one part in so many may be without weights: they take as much flash as others."""


def pack(call: KernelCall) -> KernelCall | None:
    """Weights of two channels and two elements in a word; None for odd pieces or sizes, or for products that do not fit 16 bits."""
    layer = call.params_as(FullyConnectedS8Params)
    channels = layer.output_channels
    padded = -channels % _BLOCK
    if layer.piece % 2 or padded * _MOST_PADDED > channels:
        return None
    weights = layer.filter.reshape(channels, -1, 2).astype(np.int64)
    blocks = np.pad(weights, ((0, padded), (0, 0), (0, 0))).reshape(-1, _BLOCK // 2, 2, weights.shape[1], 2)
    if not fit_halves(blocks):
        return None
    raised = (blocks + _RAISED).astype(np.uint8).transpose(0, 3, 1, 2, 4)
    params = FullyConnectedHalvesParams(
        filter=np.ascontiguousarray(raised).reshape(-1).view("<i4"),
        breaks=flag_words(_ends(blocks.reshape(len(blocks), _BLOCK, -1, 2), layer.piece // 2)),
        bias=np.pad(layer.bias, (0, padded)),
        multiplier=layer.multiplier,
        shift=layer.shift,
        **layer.scalars_for(FullyConnectedHalvesParams),
    )
    return KernelCall("kibi_fully_connected_s8_halves", params, inplace_distance_bytes=call.inplace_distance_bytes)


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


FULLY_CONNECTED_HALVES = Variant(
    "kibi_fully_connected_s8_halves", "kibi_fully_connected_s8", "riscv", frozenset(Goal), pack
)
