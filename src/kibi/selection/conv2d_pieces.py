"""CONV_2D in blocks of two channels and two pixels, whose windows, of any size, are multiplied piece by piece."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2DPiecesParams
from kibi.ops.overlap import least_distance
from kibi.selection.conv2d_blocks import constants_of, paired_words
from kibi.selection.convolution_call import inputs_of, window_of
from kibi.selection.packed_pairs import SUM_LIMIT, fit_words, packed_pairs
from kibi.selection.sums import MOST_SIZE, channels_of, sums_of
from kibi.selection.variant import Goal, Variant

_FEW_BYTES = 512
"""The most scratch that is taken where the arena should be small."""
_SHARE = 4
"""Of the rows that a window reads, which the arena holds: then scratch has at most one part in so many of their bytes."""
_ROOMY_BYTES = 6144
"""The most scratch that is of use."""
_LEAST_ELEMENTS = 16
"""Of a piece: for fewer, it takes longer to load and store the sums than to multiply."""
_PAIR_BYTES, _ELEMENT_BYTES = 16, 4
_MOST_PARTS = 16
"""Of the channels: each reads the windows again."""
_PAIR, _WIDEN, _CALL = 12, 2, 90
"""Instructions: for a pair of channels and a piece beside its products, to widen an element of two windows, and for a piece."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces in which windows are multiplied.

    Attributes:
        elements: of a piece.
        pairs: pairs of channels whose sums are kept.
    """

    elements: int
    pairs: int

    @property
    def scratch_bytes(self) -> int:
        """The sums that are kept, and a piece of two windows with 16 bits for each element."""
        return _PAIR_BYTES * self.pairs + _ELEMENT_BYTES * self.elements

    def cost(self, size: int, pairs: int) -> float:
        """Instructions beside those for products, of two pixels with windows of that size and so many pairs of channels."""
        parts, pieces = -(-pairs // self.pairs), -(-size // self.elements)
        return pairs * pieces * _PAIR + parts * (size * _WIDEN + pieces * _CALL)


def pieces_of(size: int, depth: int, pairs: int, most_bytes: int) -> Pieces | None:
    """Returns the fastest pieces for which there is scratch; None if there are none.

    Args:
        size: elements of a window.
        depth: input channels, a multiple of 4.
        pairs: of output channels.
        most_bytes: of scratch.
    """
    found = [each for each in _ways(size, depth, pairs, most_bytes) if each.elements >= min(size, _LEAST_ELEMENTS)]
    return min(found, key=lambda each: (each.cost(size, pairs), each.scratch_bytes), default=None)


def _ways(size: int, depth: int, pairs: int, most_bytes: int) -> Iterator[Pieces]:
    """For each number of parts of the channels, the largest piece: whole columns, or a part of one that makes it up."""
    for parts in range(1, min(pairs, _MOST_PARTS) + 1):
        kept = -(-pairs // parts)
        room = (most_bytes - _PAIR_BYTES * kept) // _ELEMENT_BYTES
        columns = min(size, room) // depth * depth
        within = (each for each in range(min(depth, room) // 4 * 4, 0, -4) if depth % each == 0)
        elements = columns or next(within, 0)
        if elements:
            yield Pieces(elements, kept)


def pack(call: KernelCall) -> KernelCall | None:
    """Weights in the order of blocks; None for groups, rows of one pixel, sums that are not simple, or too little scratch."""
    layer = call.params_as(Conv2DS8Params)
    if (
        layer.groups > 1
        or layer.output_width < 2
        or layer.input_channels % 4
        or max(layer.scalars.values()) > MOST_SIZE
    ):
        return None
    weights = layer.filter.reshape(layer.output_channels, -1)
    pieces = _pieces(layer, call.scratch_bytes)
    channels = channels_of(layer, weights, limit=SUM_LIMIT, inputs=inputs_of(call))
    sums = sums_of(channels, limit=SUM_LIMIT)
    packed = packed_pairs(channels.weights)
    if pieces is None or sums is None or not fit_words(packed):
        return None
    constants, rounds_once = constants_of(layer, channels.weights, sums, packed)
    params = Conv2DPiecesParams(
        filter=_in_pieces(paired_words(packed).reshape(-(-len(packed) // 2), -1), pieces.elements // 2),
        channels=constants,
        rounds_once=int(rounds_once),
        padding=np.full(layer.input_channels, layer.padding[0], np.int8),
        elements_at_once=pieces.elements,
        pairs_at_once=pieces.pairs,
        **layer.scalars_for(Conv2DPiecesParams),
    )
    distance = _distance(call, 2 * pieces.pairs)
    parts = {
        "ROUNDED_ONCE": rounds_once,
        "ROUNDED_TWICE": not rounds_once,
        "OF_CLAMPS": (layer.activation_min, layer.activation_max) != (-128, 127),
    }
    features = frozenset(f"KIBI_CONV2D_PIECES_{name}" for name, is_needed in parts.items() if is_needed)
    return KernelCall(
        "kibi_conv2d_s8_pieces",
        params,
        pieces.scratch_bytes,
        inplace_distance_bytes=(distance,),
        features=features,
    )


def _in_pieces(words: NDArray[np.int32], at_once: int) -> NDArray[np.int32]:
    """The words `[pairs, N]` of one piece of all pairs after the other; a piece has so many of a pair's words."""
    return np.concatenate(
        [words[:, first : first + at_once].reshape(-1) for first in range(0, words.shape[1], at_once)]
    )


def _pieces(layer: Conv2DS8Params, most_bytes: int) -> Pieces | None:
    size = layer.kernel_rows * layer.kernel_width * layer.input_channels
    return pieces_of(size, layer.input_channels, -(-layer.output_channels // 2), most_bytes)


def _distance(call: KernelCall, channels: int) -> int:
    """The least distance in place where a block's windows are read until so many channels, or fewer, are still to be written."""
    window, outputs = window_of(call), call.params_as(Conv2DS8Params).output_channels
    written = (outputs - 1) // channels * channels
    reads = []
    for x in range(window.output_width):
        first = x - x % 2
        last = min(first + 1, window.output_width - 1)
        end = last * outputs + written if written else first * outputs
        reads.append((window.first_inside(x) * window.channels, end))
    return least_distance(reads)


def _scratch(call: KernelCall, goal: Goal) -> int:
    """The scratch of the fastest pieces: a little, or, for speed, as much as is of use."""
    layer = call.params_as(Conv2DS8Params)
    if layer.groups > 1 or layer.input_channels % 4:
        return 0
    few_bytes = min(_FEW_BYTES, layer.kernel_rows * layer.input_width * layer.input_channels // _SHARE)
    found = _pieces(layer, _ROOMY_BYTES if goal is Goal.SPEED else few_bytes)
    return 0 if found is None else found.scratch_bytes


CONV2D_PIECES = Variant(
    "kibi_conv2d_s8_pieces", "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack, scratch_bytes=_scratch, is_frugal=False
)
