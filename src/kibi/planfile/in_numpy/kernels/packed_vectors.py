"""Layers of s8 of whole vectors, or of vectors row by row, whose constants are packed: they are unpacked once."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kibi.dtypes import DType
from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.products import Scaling, finish, products, vectors_of
from kibi.planfile.in_numpy.registry import kernel
from kibi.planfile.in_numpy.unpacking import (
    CONVOLUTION_BITS,
    Unpacked,
    first_channels,
    low_part,
    of_codebook,
    of_int4,
    packed_pairs,
    pairs_of_channels,
    raised_bias,
    rounded_once,
    with_odd_channels,
)
from kibi.quant import wrap_s32
from kibi.selection.rice import decode

_RICE_BY_ROWS = "kibi_fully_connected_s8_rice_accumulate"


def _of_vector_blocks(call: Call) -> Unpacked:
    """Blocks of eight channels, and of two for the rest: what sums start from, then four elements of each channel in turns."""
    p = call.numbers
    fours = p.pieces * -(-p.piece // 4)
    pairs = -(-p.output_channels // 2)
    words = call.array("filter", 2 * pairs * (1 + fours))
    eights = p.output_channels // 8 * 8
    by_eight = words[: eights * (1 + fours)].reshape(-1, 1 + fours, 8)
    by_two = words[eights * (1 + fours) :].reshape(-1, 1 + fours, 2)
    each = np.concatenate([part.transpose(0, 2, 1).reshape(-1, 1 + fours) for part in (by_eight, by_two)])
    found = packed_pairs(each[:, 1:])
    weights = found.reshape(2 * pairs, p.pieces, -1)[..., : p.piece].reshape(2 * pairs, -1)
    step = p.scale_step // 4
    scales = call.array("scales", 3 + (pairs - 1) * step)
    scaling = scales[np.arange(pairs)[:, None] * step + np.arange(3)]
    raised, (multiplier, shift) = raised_bias(each[:, 0], found), pairs_of_channels(scaling)
    once = rounded_once(raised, multiplier, CONVOLUTION_BITS) if p.rounds_once else None
    return weights[: p.output_channels], first_channels(
        once or Scaling(raised >> 8, multiplier, shift), p.output_channels
    )


def _of_nonzero(call: Call) -> Unpacked:
    """Blocks of eight channels: what two sums of four channels start from, then the weights of each element."""
    p = call.numbers
    blocks, depth = p.output_channels // 8, p.pieces * p.piece
    numbers = call.array("filter", blocks, 4 + depth)
    raised = np.ascontiguousarray(numbers[:, 4:]).view(np.uint8).reshape(blocks, depth, 8).transpose(0, 2, 1)
    weights = raised.astype(np.int64).reshape(-1, depth) - 128
    first, second = numbers[:, :4].reshape(-1, 2).T
    two = low_part(second)
    one = wrap_s32(second - two >> 24)
    rest = first - (one << 8) - (two << 16)
    zero = low_part(rest)
    bias = np.stack([zero, one, two, wrap_s32(rest - zero >> 24)], axis=1).reshape(-1) + 128 * weights.sum(axis=1)
    pairs, step = p.output_channels // 2, p.scale_step // 4
    scales = call.array("scales", 3 + (pairs - 1) * step)
    return weights, Scaling(bias, *pairs_of_channels(scales[np.arange(pairs)[:, None] * step + np.arange(3)]))


def _of_rice(call: Call) -> Unpacked:
    """Golomb-Rice codes; the scaling of each channel, or one of all."""
    p = call.numbers
    stream, codings = call.array("weights", p.weights_bytes), call.array("codings", p.output_channels)
    count = 1 + (p.output_channels - 1) * p.scale_step
    shared = (np.broadcast_to(call.array(name, count), p.output_channels) for name in ("multiplier", "shift"))
    weights = decode(stream, codings, p.pieces, p.piece, by_piece=call.kernel == _RICE_BY_ROWS)
    return weights, Scaling(call.array("bias", p.output_channels), *shared)


def _of_vectors_in_halves(call: Call) -> Unpacked:
    """Words of four channels, in blocks of eight channels; weights are raised by 128, and have no sign."""
    p = call.numbers
    blocks, depth = -(-p.output_channels // 8), p.piece * p.pieces
    raised = call.array("filter", blocks, depth, 2).view(np.uint8).reshape(blocks, depth, 8).transpose(0, 2, 1)
    weights = (raised.astype(np.int64).reshape(8 * blocks, depth) - 128)[: p.output_channels]
    return weights, Scaling.of(call, p.output_channels)


def _of_int4_fours(call: Call) -> Unpacked:
    """Words for four elements: a half has four bits for each channel of a block; the first word those for elements 0 and 2."""
    p = call.numbers
    fours = -(-p.piece // 4)
    words = call.array("filter", -(-p.output_channels // 4), p.pieces, fours, 2).astype(np.int64)
    halves = np.stack([words, words >> 16], axis=-2)
    nibbles = halves[:, None] >> np.array([0, 4, 8, 12])[:, None, None, None, None] & 15
    weights = np.concatenate([nibbles[:, :3] - 8, (nibbles[:, 3:] ^ 8) - 8], axis=1)
    weights = weights.reshape(-1, p.pieces, 4 * fours)[: p.output_channels, :, : p.piece]
    return weights.reshape(p.output_channels, -1), Scaling.of(call, p.output_channels)


_VECTORS: dict[str, Callable[[Call], Unpacked]] = {
    "kibi_fully_connected_s8_blocks": _of_vector_blocks,
    "kibi_fully_connected_s8_codebook": of_codebook,
    "kibi_fully_connected_s8_halves": _of_vectors_in_halves,
    "kibi_fully_connected_s8_int4": of_int4,
    "kibi_fully_connected_s8_int4_blocks": _of_int4_fours,
    "kibi_fully_connected_s8_nonzero": _of_nonzero,
    "kibi_fully_connected_s8_rice": _of_rice,
}
_VECTORS |= {"kibi_fully_connected_s8_blocks_odd": partial(with_odd_channels, fast=_of_vector_blocks)}


@kernel(*_VECTORS)
def fully_connected(call: Call) -> None:
    """FULLY_CONNECTED of whole vectors."""
    weights, scaling = call.once(lambda: _VECTORS[call.kernel](call))
    finish(call, products(vectors_of(call, DType.S8), weights.T[None])[0], scaling)


_BY_ROWS: Mapping[str, Callable[[Call], Unpacked]] = {
    _RICE_BY_ROWS: _of_rice,
    "kibi_fully_connected_s8_int4_accumulate": of_int4,
    "kibi_fully_connected_s8_int4_blocks_accumulate": _of_int4_fours,
}


@kernel(*_BY_ROWS)
def fully_connected_by_rows(call: Call) -> None:
    """FULLY_CONNECTED of vectors whose rows come step by step; the scratch holds the sums."""
    p = call.numbers
    vectors = 1 if call.kernel == _RICE_BY_ROWS else p.vectors
    weights, scaling = call.once(lambda: _BY_ROWS[call.kernel](call))
    kept = call.work(vectors * p.output_channels, "i4").reshape(vectors, p.output_channels)
    vector, piece = divmod(call.step, p.pieces)
    start = np.zeros(p.output_channels, np.int64) if piece == 0 else kept[vector].astype(np.int64)
    part = weights.reshape(p.output_channels, p.pieces, p.piece)[:, piece]
    kept[vector] = wrap_s32(start + part @ call.row(0, p.piece, "i1").astype(np.int64))
    if call.step == vectors * p.pieces - 1:
        finish(call, kept, scaling)
