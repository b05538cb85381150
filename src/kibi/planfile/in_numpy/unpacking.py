"""Constants of layers of s8 that are packed for certain processors: what convolutions and layers of vectors have in common."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kibi.planfile.in_numpy.call import Call, Numbers
from kibi.planfile.in_numpy.products import Scaling
from kibi.quant import wrap_s32

Unpacked = tuple[Numbers, Scaling]
"""Weights, [O, kernel_rows, kernel_width, channels of a group] or [O, depth], and the scaling of the channels."""


CONVOLUTION_BITS = 11
"""Of the fraction of outputs of convolutions and of fully connected layers that are rounded once."""


def halves_of(words: NDArray[np.int32]) -> Numbers:
    """The lower and the upper half of each word, with their signs: [..., 2]."""
    return np.stack([words.astype(np.int16), words >> 16], axis=-1).astype(np.int64)


def packed_pairs(words: NDArray[np.int32]) -> Numbers:
    """The four weights of each word: a half is 256 times the first of two, plus the second: [..., 4]."""
    both = halves_of(words)
    second = both.astype(np.int8).astype(np.int64)
    weights: Numbers = np.stack([(both - second) >> 8, second], axis=-1)
    return weights.reshape(*words.shape, 4)


def low_part(sums: Numbers) -> Numbers:
    """The lowest 24 bits of each sum, with their sign."""
    part: Numbers = (sums + (1 << 23)) % (1 << 24) - (1 << 23)
    return part


def raised_bias(starts: Numbers, weights: Numbers) -> Numbers:
    """256 times the bias of channels whose sums start so, before four weights of each word of [O, words, 4] are added 256-fold.

    To that an inverted shift is added where sums bring it along.
    """
    raised: Numbers = wrap_s32(starts.astype(np.int64) + 127 * weights[..., 1::2].sum(axis=(1, 2)))
    return raised


def rounded_once(starts: Numbers, factors: Numbers, bits: int) -> Scaling:
    """The scaling of channels whose sums, 256 times the true ones, start so, of outputs that are rounded once."""
    return Scaling(starts >> 8, factors, starts & 0xFF, np.full(len(starts), bits))


def pairs_of_channels(scaling: NDArray[np.int32]) -> tuple[Numbers, Numbers]:
    """Multipliers and shifts of channels from [pairs, 3]: both inverted shifts in the lowest bytes of a word, both multipliers."""
    inverted = np.stack([scaling[:, 0] & 31, scaling[:, 0] >> 8 & 31], axis=1)
    return scaling[:, 1:].reshape(-1), ~inverted.reshape(-1)


def first_channels(scaling: Scaling, channels: int) -> Scaling:
    """The scaling of so many channels."""
    return picked_channels(scaling, slice(channels))


def picked_channels(scaling: Scaling, channels: slice | Numbers) -> Scaling:
    """The scaling of some channels."""
    bits = None if scaling.fraction_bits is None else scaling.fraction_bits[channels]
    return Scaling(scaling.bias[channels], scaling.multiplier[channels], scaling.shift[channels], bits)


def with_odd_channels(call: Call, fast: Callable[[Call], Unpacked]) -> Unpacked:
    """What a fast kernel computes, with other weights and scaling for some channels."""
    weights, scaling = fast(call)
    count = call.numbers.odd_count
    numbers, *others = (call.array(f"odd_{name}", count) for name in ("numbers", "bias", "multiplier", "shift"))
    unpacked = weights.astype(np.int64)
    shape = unpacked.shape[1:]
    unpacked[numbers] = call.array("odd_filter", count * int(np.prod(shape))).reshape(count, *shape)
    bias, multiplier, shift = (np.array(each, np.int64) for each in (scaling.bias, scaling.multiplier, scaling.shift))
    bias[numbers], multiplier[numbers], shift[numbers] = others
    if scaling.fraction_bits is None:
        return unpacked, Scaling(bias, multiplier, shift)
    bits = scaling.fraction_bits.copy()
    bits[numbers] = 0
    return unpacked, Scaling(bias, multiplier, shift, bits)


def of_codebook(call: Call) -> Unpacked:
    """Indices into tables."""
    p = call.numbers
    shape = (p.kernel_rows, p.kernel_width, p.input_channels) if hasattr(p, "kernel_rows") else (p.depth,)
    size = int(np.prod(shape))
    count = p.output_channels * size
    bits = np.unpackbits(call.array("indices", -(-count * p.bits // 8)).view(np.uint8))[: count * p.bits]
    indices = bits.reshape(p.output_channels, size, p.bits) @ (1 << np.arange(p.bits)[::-1])
    tables = call.array("tables", (p.output_channels - 1) * p.values + (1 << p.bits))
    weights = tables[indices + np.arange(p.output_channels)[:, None] * p.values]
    return weights.reshape(p.output_channels, *shape), Scaling.of(call, p.output_channels)


def of_int4(call: Call) -> Unpacked:
    """Words of a block's weights for two elements: a byte for each of the channels 0, 2, 1 and 3, the first element's first."""
    p = call.numbers
    shape = (1, p.kernel_rows * p.kernel_width * p.input_channels) if hasattr(p, "kernel_rows") else (p.pieces, p.piece)
    words = call.array("filter", -(-p.output_channels // 4), shape[0], -(-shape[1] // 2))
    places = np.array([0, 16, 8, 24])[:, None] + np.array([0, 4])
    raised = words[:, None, :, :, None] >> places[None, :, None, None] & 15
    weights = (raised.astype(np.int64) - 8).reshape(4 * len(words), shape[0], -1)
    weights = weights[: p.output_channels, :, : shape[1]]
    windows = (p.kernel_rows, p.kernel_width, p.input_channels) if hasattr(p, "kernel_rows") else (-1,)
    return weights.reshape(p.output_channels, *windows), Scaling.of(call, p.output_channels)
