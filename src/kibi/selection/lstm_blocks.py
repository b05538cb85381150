"""LSTMs of s8 with the four gates of a unit in one block of packed weights."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.recurrent import LstmS8BlocksParams, LstmS8Params
from kibi.selection.packed_pairs import SUM_LIMIT, fit_words, packed_pairs, starts, words
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_lstm_s8_blocks"

_GATES = ("input", "forget", "cell", "output")
_FORGET = (1 << 30, -14)
"""The factor of the forget gate's products: a gate has 15 bits of fraction, and a cell keeps its scale."""
_LEAST_SHIFT, _MOST_SHIFT = -23, 6
"""Of sums of gates."""
_PRODUCT_LIMIT = 1 << 30
"""Products times multipliers are below it in magnitude, and so is what is added to them."""


def pack(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_lstm_s8`; returns None if sums or shifts are out of range."""
    given = call.params_as(LstmS8Params)
    shifts = np.concatenate([given.input_shift, given.recurrent_shift])
    if (
        shifts.min() < _LEAST_SHIFT
        or shifts.max() > _MOST_SHIFT
        or (given.forget_multiplier, given.forget_shift) != _FORGET
    ):
        return None
    if max(given.update_shift, given.output_shift) >= 0:
        return None
    update_rounding = 1 << ~given.update_shift
    output_rounding = (1 << ~given.output_shift) + given.output_zero_point * (1 << -given.output_shift)
    if max(update_rounding, abs(output_rounding)) >= _PRODUCT_LIMIT:
        return None
    inputs = _words(given, "input", given.depth, given.input_bias)
    recurrent = _words(given, "recurrent", given.units, given.recurrent_bias)
    if inputs is None or recurrent is None:
        return None
    params = LstmS8BlocksParams(
        weights=np.concatenate([inputs, recurrent], axis=1).reshape(-1),
        scales=np.concatenate(
            [
                _scales(given.input_multiplier, given.input_shift),
                _scales(given.recurrent_multiplier, given.recurrent_shift),
            ]
        ).reshape(-1),
        batches=given.batches,
        times=given.times,
        depth=given.depth,
        units=given.units,
        update_multiplier=given.update_multiplier,
        update_rounding=update_rounding,
        update_shift=-given.update_shift,
        cell_min=given.cell_min,
        cell_max=given.cell_max,
        tanh_multiplier=given.tanh_multiplier,
        tanh_rounding=(1 << given.tanh_shift) >> 1,
        tanh_shift=given.tanh_shift,
        output_multiplier=given.output_multiplier,
        output_rounding=output_rounding,
        output_shift=-given.output_shift,
    )
    return KernelCall(_KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes)


def _words(given: LstmS8Params, kind: str, depth: int, bias: Array) -> NDArray[np.int32] | None:
    """Returns `[units, words]`, a block's part for one vector; None where halves or sums are out of range."""
    each = [getattr(given, f"{kind}_to_{gate}").reshape(given.units, depth) for gate in _GATES]
    weights = np.stack(each, axis=1).astype(np.int64)
    first = np.asarray(bias, np.int64).reshape(len(_GATES), given.units).T
    ends = np.stack([-128 * weights, 127 * weights])
    most, least = first + ends.max(axis=0).sum(axis=2), first + ends.min(axis=0).sum(axis=2)
    whole = depth - depth % 4
    rest = np.pad(weights[..., whole:], ((0, 0), (0, 0), (0, -depth % 4)))
    packed = packed_pairs(np.concatenate([rest, weights[..., :whole]], axis=2))
    if least.min() <= -SUM_LIMIT or most.max() >= SUM_LIMIT or not fit_words(packed):
        return None
    begin = starts(first.reshape(-1), packed.reshape(given.units * len(_GATES), -1)).reshape(
        given.units, 1, len(_GATES)
    )
    return np.concatenate([begin, words(packed).transpose(0, 2, 1)], axis=1).reshape(given.units, -1)


def _scales(multiplier: Array, shift: Array) -> NDArray[np.int32]:
    """Returns `[4, 4]`: of each gate the multiplier, what is added to the product's high half, the mask, and what is shifted out.

    A sum is 256 times the true one, so the high half is to be shifted by 7 bits more. Shifted to the right, a sum is rounded twice,
    halves away from zero at last. That is one rounding of what is half a unit of the first rounding higher, or lower where the sum
    is negative: rule N37.
    """
    to_right = -np.asarray(shift, np.int64)
    is_twice = to_right > 0
    added = (1 << 6 + to_right) + np.where(is_twice, 64, 0)
    return np.stack([multiplier, added, np.where(is_twice, -128, 0), 7 + to_right], axis=1).astype(np.int32)


LSTM_BLOCKS = Variant(_KERNEL, "kibi_lstm_s8", "armv7em", frozenset(Goal), pack)
