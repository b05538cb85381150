"""SVDFs of s8 with one filter a unit, four units in a block of weights."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.recurrent import SvdfS8BlocksParams, SvdfS8Params
from kibi.quant import wrap_s32
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_svdf_s8_blocks"

_BLOCK = 4
_LEAST_MEMORY = 8


def pack(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_svdf_s8`; returns None for other shapes, or where sums are shifted to the left."""
    given = call.params_as(SvdfS8Params)
    memory, depth, units = given.memory, given.depth, given.units
    if given.filters_per_unit > 1 or units % _BLOCK or memory % 4 or memory < _LEAST_MEMORY:
        return None
    if max(given.feature_shift, given.output_shift) >= 0:
        return None
    times = given.weights_time.reshape(units, memory).astype(np.int64)
    # What is kept has a zero point, which the bias takes away.
    bias = given.bias.astype(np.int64) - given.state_zero_point * times.sum(axis=1)
    weights = given.weights_feature.reshape(units, depth).astype(np.int64)
    whole = depth - depth % 4
    rest = np.pad(weights[:, whole:], ((0, 0), (0, -depth % 4)))
    features = _words(np.concatenate([rest, weights[:, :whole]], axis=1), given.feature_bias)
    kept = _words(times, bias)
    scales = [
        [2 * given.feature_multiplier, ~given.feature_shift, 1],
        [2 * given.output_multiplier, ~given.output_shift, 2 * given.output_zero_point + 1],
    ]
    first = memory // 4 - 2
    ordered = np.concatenate([kept[:, 1 : 1 + first], kept[:, :1], kept[:, 1 + first :]], axis=1)
    blocks = [
        np.concatenate([features[unit : unit + _BLOCK].T.reshape(-1), ordered[unit : unit + _BLOCK].reshape(-1)])
        for unit in range(0, units, _BLOCK)
    ]
    params = SvdfS8BlocksParams(
        weights=np.concatenate(blocks),
        scales=wrap_s32(np.array(scales, np.int64)).astype(np.int32).reshape(-1),
        batches=given.batches,
        depth=depth,
        units=units,
        memory=memory,
        state_zero_point=given.state_zero_point,
    )
    # A vector is read until its last block is computed, which is before its last unit is: the general kernel's distance is enough.
    return KernelCall(_KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes)


def _words(weights: NDArray[np.int64], bias: Array) -> NDArray[np.int32]:
    """Returns `[filters, 1 + fours]`: what a sum starts from, modulo 2**32, and four weights to a word."""
    fours = np.ascontiguousarray(weights.astype(np.int8)).view("<i4")
    return np.concatenate([wrap_s32(np.asarray(bias, np.int64)).astype(np.int32)[:, None], fours], axis=1)


SVDF_BLOCKS = Variant(_KERNEL, "kibi_svdf_s8", "armv7em", frozenset(Goal), pack)
