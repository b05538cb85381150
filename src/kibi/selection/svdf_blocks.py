"""SVDFs of s8 with one filter a unit, four units in a block of weights; what filters keep is of s8 or of s16."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.needed_parts import needed_parts
from kibi.kernels.params.recurrent import (
    SvdfS8BlocksParams,
    SvdfS8Params,
    SvdfS8S16BlocksParams,
    SvdfS8S16Params,
)
from kibi.quant import Multiplier, wrap_s32
from kibi.selection.packed_pairs import SUM_LIMIT, fit_words, packed_pairs, starts, words
from kibi.selection.switched_rounding import SwitchedRounding, switched_rounding, with_near_ends
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_svdf_s8_blocks"
_KERNEL_S16 = "kibi_svdf_s8_s16_blocks"

_BLOCK = 4
_LEAST_MEMORY = 8
_RESULT_BITS = 12
_OUTPUT_BITS = 8
"""Of fractions, as the kernel has them."""
_MOST_RESULT_SWITCH = 1 << _RESULT_BITS
_MOST_OUTPUT_SWITCH = 31
_SWITCHED_SUM = 1 << 27
"""Of outputs, sums that have a switch stay below it in magnitude."""
_MOST_SHIFT = 6
"""Of results of s16: with it, twice the sum has as many bits as 256 times the sum."""
_LEAST_MULTIPLIER = 1 << 30
"""Of outputs of what is kept in s16: the kernel takes twice the multiplier as a number below zero."""


def pack(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_svdf_s8`; returns None for other shapes, or where one product does not round its sums."""
    given = call.params_as(SvdfS8Params)
    if not _has_blocks(given):
        return None
    times = given.weights_time.reshape(given.units, given.memory).astype(np.int64)
    weights = given.weights_feature.reshape(given.units, given.depth).astype(np.int64)
    rounded = _rounded(given, weights, times)
    if rounded is None:
        return None
    results, outputs, bias = rounded
    kept = _in_bytes(times, bias, outputs.addend)
    first = given.memory // 4 - 2
    ordered = np.concatenate([kept[:, 1 : 1 + first], kept[:, :1], kept[:, 1 + first :]], axis=1)
    blocks, paired_blocks = _blocks(given, results.addend, ordered)
    params = SvdfS8BlocksParams(
        weights=blocks,
        batches=given.batches,
        depth=given.depth,
        units=given.units,
        memory=given.memory,
        state_zero_point=given.state_zero_point,
        paired_blocks=paired_blocks,
        result_factor=results.factor,
        result_switch=results.switch,
        output_factor=outputs.factor,
        output_switch=(given.output_zero_point << _OUTPUT_BITS) + outputs.switch,
    )
    # A vector is read until its last block is computed, which is before its last unit is: the general kernel's distance is enough.
    return KernelCall(
        _KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes, features=needed_parts(params)
    )


def pack_s16(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_svdf_s8_s16`; returns None for other shapes, or where sums or their scales are out of range."""
    given = call.params_as(SvdfS8S16Params)
    if not _has_blocks(given):
        return None
    weights = given.weights_feature.reshape(given.units, given.depth).astype(np.int64)
    least, most = _both(*_ends(weights, given.feature_bias))
    are_scaled = given.feature_shift <= _MOST_SHIFT and given.output_shift < 0
    if max(-least, most) >= SUM_LIMIT or not are_scaled or given.output_multiplier < _LEAST_MULTIPLIER:
        return None
    pairs = np.ascontiguousarray(given.weights_time.astype(np.int16)).view("<i4").reshape(given.units, -1)
    blocks, paired_blocks = _blocks(given, 0, np.concatenate([given.bias[:, None], pairs], axis=1).astype(np.int32))
    params = SvdfS8S16BlocksParams(
        weights=blocks,
        batches=given.batches,
        depth=given.depth,
        units=given.units,
        memory=given.memory,
        paired_blocks=paired_blocks,
        result_multiplier=given.feature_multiplier,
        result_shift=given.feature_shift,
        output_multiplier=given.output_multiplier,
        output_shift=given.output_shift,
        output_zero_point=given.output_zero_point,
    )
    return KernelCall(
        _KERNEL_S16, params, inplace_distance_bytes=call.inplace_distance_bytes, features=needed_parts(params)
    )


def _has_blocks(given: SvdfS8Params | SvdfS8S16Params) -> bool:
    """True if the kernels compute layers of this shape."""
    is_one = given.filters_per_unit == 1 and given.units % _BLOCK == 0
    return is_one and given.memory % 4 == 0 and given.memory >= _LEAST_MEMORY


def _blocks(
    given: SvdfS8Params | SvdfS8S16Params, addend: int, kept: NDArray[np.int32]
) -> tuple[NDArray[np.int32], int]:
    """Returns all blocks of weights, and how many of them have packed pairs.

    Args:
        given: the layer.
        addend: what all sums over the input start from beside 256 times their bias.
        kept: `[units, words]`, what a unit's results are weighted with.
    """
    depth = given.depth
    weights = given.weights_feature.reshape(given.units, depth).astype(np.int64)
    whole = depth - depth % 4
    rest = np.pad(weights[:, whole:], ((0, 0), (0, -depth % 4)))
    features = np.concatenate([rest, weights[:, :whole]], axis=1) if depth % 4 else weights
    units = [slice(unit, unit + _BLOCK) for unit in range(0, given.units, _BLOCK)]
    are_paired = [fit_words(packed_pairs(features[block])) for block in units]
    made = [
        np.concatenate([_sums(features[block], given.feature_bias[block], addend, is_paired), kept[block].reshape(-1)])
        for block, is_paired in zip(units, are_paired, strict=True)
    ]
    return np.concatenate(made), sum(are_paired)


def _rounded(
    given: SvdfS8Params, weights: NDArray[np.int64], times: NDArray[np.int64]
) -> tuple[SwitchedRounding, SwitchedRounding, NDArray[np.int64]] | None:
    """Returns how sums become results and outputs, and the biases of outputs `[filters]`; None if one product cannot round them."""
    # What is kept has a zero point, which the bias takes away.
    bias = given.bias.astype(np.int64) - given.state_zero_point * times.sum(axis=1)
    least, most = _ends(times, bias)
    if max(-least.min() - 1, most.max()) >= 1 << 31:
        return None
    levels = (-127 - given.output_zero_point, 127 - given.output_zero_point)
    output_scale = Multiplier(given.output_multiplier, given.output_shift)
    # A large bias makes one output of all sums; a smaller one does, too.
    near = with_near_ends(output_scale, least, most, levels)
    results = switched_rounding(
        Multiplier(given.feature_multiplier, given.feature_shift), _both(*_ends(weights, given.feature_bias)), (-127, 127),
        bits=_RESULT_BITS, most_switch=_MOST_RESULT_SWITCH,
    )  # fmt: skip
    outputs = switched_rounding(
        output_scale, _both(least + near, most + near), levels, bits=_OUTPUT_BITS, most_switch=_MOST_OUTPUT_SWITCH
    )
    if results is None or outputs is None or (outputs.switch and not _is_small(outputs)):
        return None
    return results, outputs, bias + near


def _is_small(rounding: SwitchedRounding) -> bool:
    """True if the kernel tells the signs of all sums of outputs."""
    return -_SWITCHED_SUM <= rounding.least <= rounding.most < _SWITCHED_SUM


def _ends(weights: NDArray[np.int64], bias: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least and the largest sums `[filters]` of elements of s8."""
    above, below = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
    return bias - 128 * above + 127 * below, bias + 127 * above - 128 * below


def _both(least: NDArray[np.int64], most: NDArray[np.int64]) -> tuple[int, int]:
    """The ends of all filters."""
    return int(least.min()), int(most.max())


def _sums(weights: NDArray[np.int64], bias: Array, addend: int, is_paired: bool) -> NDArray[np.int32]:
    """The words of a block for its sums over the input: what they start from, the form, weights of all filters side by side."""
    words = (_in_pairs if is_paired else _in_bytes)(weights, bias, addend)
    return np.concatenate([words[:, 0], np.array([1 - is_paired], np.int32), words[:, 1:].T.reshape(-1)])


def _in_pairs(weights: NDArray[np.int64], bias: Array, addend: int) -> NDArray[np.int32]:
    """Returns `[filters, 1 + fours]`: what a sum starts from, modulo 2**32, and four weights to a word, in packed pairs."""
    packed = packed_pairs(weights)
    return np.concatenate([_raised(starts(bias, packed), 1, addend), words(packed)], axis=1)


def _in_bytes(weights: NDArray[np.int64], bias: Array, addend: int) -> NDArray[np.int32]:
    """The same with a weight in each byte."""
    packed = np.ascontiguousarray(weights.astype(np.int8)).view("<i4").astype(np.int32)
    return np.concatenate([_raised(bias, 256, addend), packed], axis=1)


def _raised(bias: Array, factor: int, addend: int) -> NDArray[np.int32]:
    """Returns `[filters, 1]`: so many times the bias, plus the addend, modulo 2**32."""
    raised: NDArray[np.int32] = wrap_s32(bias.astype(np.int64) * factor + addend).astype(np.int32)[:, None]
    return raised


SVDF_BLOCKS = (
    Variant(_KERNEL, "kibi_svdf_s8", "armv7em", frozenset(Goal), pack),
    Variant(_KERNEL_S16, "kibi_svdf_s8_s16", "armv7em", frozenset(Goal), pack_s16),
)
