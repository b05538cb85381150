"""CONV_2D in blocks of two channels and pairs of pixels, whose elements share a word and a multiplication."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.halves import Conv2DHalvesParams
from kibi.kernels.params.needed_parts import needed_parts
from kibi.selection.convolution_call import blocks_distance, dense
from kibi.selection.sums import MOST_SIZE
from kibi.selection.variant import Goal, Variant

_GROUP = 4
"""Elements whose products are added up in halves, where their sums fit."""
_FLAGS = 32
"""Groups that share a word of breaks."""
MOST_PIXELS = 6
"""Of a block."""
_MOST_OF_SINGLES = 8
"""Output channels from which on rows of one pixel have better kernels."""
_FEW_BYTES, _ROOMY_BYTES = 2048, 8192
"""The most scratch that is taken where the arena should be small, and the most that is of use."""
_BLOCK = (3.75, 2.4, 2.45, 2.05, 2.15, 1.9)
"""Instructions for a product in blocks of one to six pixels."""
_PIECE = 25
"""Instructions for each channel of a block, and each piece of its windows."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks in which rows are computed.

    Attributes:
        pixels: of a block.
        taps: of a window that are multiplied at once.
        scratch_bytes: their elements, and sums that are kept.
    """

    pixels: int
    taps: int
    scratch_bytes: int


def pack(call: KernelCall) -> KernelCall | None:
    """Weights of two channels side by side; None for other layers, two products that do not fit, or too little scratch."""
    call = dense(call)
    layer = call.params_as(Conv2DS8Params)
    if not _is_for(layer):
        return None
    blocks = _blocks(layer, call.scratch_bytes)
    weights = grouped_weights(layer)
    if blocks is None or not (fit_halves(weights[:, :, :2]) and fit_halves(weights[:, :, 2:])):
        return None
    pairs, groups = len(weights) // 2, weights.shape[1]
    params = Conv2DHalvesParams(
        filter=weights.reshape(pairs, 2, groups, _GROUP).transpose(0, 2, 3, 1).reshape(-1).astype(np.int8),
        breaks=_breaks(weights),
        bias=np.pad(layer.bias, (0, len(layer.bias) % 2)),
        multiplier=layer.multiplier,
        shift=layer.shift,
        padding=np.full(layer.input_channels, layer.padding[0], np.int8),
        pixels=blocks.pixels,
        taps=blocks.taps,
        **layer.scalars_for(Conv2DHalvesParams),
    )
    sizes = [min(blocks.pixels, layer.output_width - x) for x in range(0, layer.output_width, blocks.pixels)]
    return KernelCall(
        "kibi_conv2d_s8_halves",
        params,
        blocks.scratch_bytes,
        inplace_distance_bytes=(blocks_distance(call, sizes),),
        features=needed_parts(params),
    )


def _is_for(layer: Conv2DS8Params) -> bool:
    """True for rows of several pixels, without groups, and for rows of one pixel with few channels.

    Of single pixels half of the products are of no use. Where there are few, they cost less than the flash of one more kernel.
    """
    if layer.groups > 1 or max(layer.scalars.values()) > MOST_SIZE:
        return False
    return layer.output_width > 1 or layer.output_channels < _MOST_OF_SINGLES


def grouped_weights(layer: Conv2DS8Params) -> NDArray[np.int64]:
    """The weights `[channels in whole pairs, groups of four elements, 4]`."""
    weights = layer.filter.reshape(layer.output_channels, -1).astype(np.int64)
    whole = np.pad(weights, ((0, len(weights) % 2), (0, -weights.shape[1] % _GROUP)))
    return whole.reshape(len(whole), -1, _GROUP)


def fit_halves(weights: NDArray[np.int64]) -> bool:
    """True if each sum of products along the last axis fits 16 bits for all inputs -128 … 127."""
    return bool(_fit(weights).all())


def _fit(weights: NDArray[np.int64]) -> NDArray[np.bool_]:
    above, below = np.maximum(weights, 0).sum(axis=-1), np.maximum(-weights, 0).sum(axis=-1)
    found: NDArray[np.bool_] = (127 * above + 128 * below < 1 << 15) & (128 * above + 127 * below <= 1 << 15)
    return found


def _breaks(weights: NDArray[np.int64]) -> NDArray[np.int32]:
    """A bit for each pair of channels and group, in words: 1 where a sum of one of both may not fit."""
    are_broken: NDArray[np.bool_] = np.logical_not(np.all(_fit(weights).reshape(-1, 2, weights.shape[1]), axis=1))
    return flag_words(are_broken)


def flag_words(flags: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Returns words `[rows * words]` of the flags `[rows, N]`: the first is a word's highest bit."""
    whole = np.pad(flags, ((0, 0), (0, -flags.shape[1] % _FLAGS)))
    return np.packbits(whole, axis=1).view(">u4").astype(np.uint32).view(np.int32).reshape(-1)


def _blocks(layer: Conv2DS8Params, most_bytes: int) -> Blocks | None:
    """The fastest blocks for which there is scratch; None if there are none."""
    found = (each for each in _ways(layer) if each.scratch_bytes <= most_bytes)
    return min(found, key=lambda each: (_cost(layer, each), each.scratch_bytes), default=None)


def _ways(layer: Conv2DS8Params) -> Iterator[Blocks]:
    every, depth = layer.kernel_rows * layer.kernel_width, layer.input_channels
    channels = layer.output_channels + layer.output_channels % 2
    for pixels in range(1, min(MOST_PIXELS, layer.output_width) + 1):
        slots = -(-pixels // 2)
        words = -(-every * depth // _GROUP) * _GROUP
        yield Blocks(pixels, every, 4 * slots * words)
        if depth % _GROUP == 0:
            for taps in range(1, every):
                yield Blocks(pixels, taps, slots * (4 * taps * depth + 8 * channels))


def _cost(layer: Conv2DS8Params, blocks: Blocks) -> float:
    """Instructions of a row's products and of the blocks around them, about."""
    every, depth = layer.kernel_rows * layer.kernel_width, layer.input_channels
    pieces = -(-every // blocks.taps)
    whole, rest = divmod(layer.output_width, blocks.pixels)
    sizes = [blocks.pixels] * whole + [rest] * bool(rest)
    return sum(layer.output_channels * (each * every * depth * _BLOCK[each - 1] + pieces * _PIECE) for each in sizes)


def _scratch(call: KernelCall, goal: Goal) -> int:
    """The scratch of the fastest blocks: a little, or, for speed, as much as is of use."""
    layer = dense(call).params_as(Conv2DS8Params)
    if not _is_for(layer):
        return 0
    found = _blocks(layer, _ROOMY_BYTES if goal is Goal.SPEED else _FEW_BYTES)
    return 0 if found is None else found.scratch_bytes


CONV2D_HALVES = Variant(
    "kibi_conv2d_s8_halves", "kibi_conv2d_s8", "riscv", frozenset(Goal), pack, scratch_bytes=_scratch, is_frugal=False
)
