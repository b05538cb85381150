"""Proves the range of a layer's sums, so that a kernel may requantize them in few instructions: rules N20 and N52."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.quant import requantize

MOST_SIZE = (1 << 15) - 1
"""The limit of a layer's sizes in a packed struct, which has 16 bits for each."""
_MOST_MAGNITUDE = 1 << 30
"""Sums below it can be doubled in 32 bits."""
_QUARTER = 1 << 30
"""The multiplier that, with a shift to the right by one, divides by four."""

ALL_INPUTS = (-128, 127)
"""The least and the largest element of s8."""

_Layer = Conv2DS8Params | DepthwiseS8Params | FullyConnectedS8Params


@dataclass(frozen=True, slots=True, eq=False)
class SimpleSums:
    """Constants `[O]` with which six instructions requantize every sum: it can be doubled, and is shifted to the right.

    Attributes:
        bias: s32, with the input's zero point folded in, so that sums are of inputs as they are stored: -128 … 127.
        multiplier: 0 … 2**31 - 1.
        shift: -31 … -1.
    """

    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Channels:
    """Weights and constants of the output channels of a layer, as a general call has them.

    Attributes:
        weights: `[O, K]`.
        bias: `[O]` s32, with the input's zero point folded in.
        multiplier: `[O]`, rule N4.
        shift: `[O]`, rule N4.
        inputs: the least and the largest element of the input.
    """

    weights: NDArray[np.int8]
    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int8]
    inputs: tuple[int, int] = ALL_INPUTS

    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the least and the largest sum `[O]` of each channel."""
        low, high = self.inputs
        above = np.maximum(self.weights, 0).sum(axis=1, dtype=np.int64)
        below = np.minimum(self.weights, 0).sum(axis=1, dtype=np.int64)
        return self.bias + low * above + high * below, self.bias + high * above + low * below

    def with_constants(self, zero_point: int, low: int, high: int, *, limit: int = _MOST_MAGNITUDE) -> "Channels":
        """Returns channels with the same outputs, where some of those that have one output for all inputs lose their weights.

        These are the ones that fast kernels could not compute: their sums are large, or are not shifted to the right. Outputs never
        fall while sums rise, so a channel has one output if its least and its largest sum give the same. Where such a sum, or
        what a shift to the left makes of it, is beyond 32 bits, that is not known.

        Args:
            zero_point: of the output.
            low: the activation's lower bound.
            high: its upper bound.
            limit: sums that kernels can compute stay below it in magnitude.
        """
        left = np.maximum(self.shift.astype(np.int64), 0)
        ends = self.sums()
        fits = np.all([abs(each) << left < 1 << 31 for each in ends], axis=0) & (self.multiplier >= 0)
        least, most = (
            np.clip(
                requantize(np.where(fits, each, 0), self.multiplier, self.shift.astype(np.int32)) + zero_point,
                low,
                high,
            )
            for each in ends
        )
        is_large = np.any([abs(each) >= limit for each in ends], axis=0)
        is_odd = is_large | (self.shift >= 0)
        is_constant = fits & (least == most) & is_odd
        return Channels(
            np.where(is_constant[:, None], 0, self.weights).astype(np.int8),
            np.where(is_constant, 4 * (least - zero_point), self.bias).astype(np.int32),
            np.where(is_constant, _QUARTER, self.multiplier).astype(np.int32),
            np.where(is_constant, -1, self.shift).astype(np.int8),
            self.inputs,
        )


def channels_of(
    layer: _Layer,
    weights: Array,
    bias: Array | None = None,
    *,
    limit: int = _MOST_MAGNITUDE,
    inputs: tuple[int, int] = ALL_INPUTS,
) -> Channels:
    """Returns the output channels of a layer for fast kernels, as `Channels.with_constants` says.

    Args:
        layer: of a general call.
        weights: `[O, K]`, s8 in any type.
        bias: `[O]`; None: that of the layer.
        limit: as there.
        inputs: as in the result.
    """
    given = Channels(
        weights.astype(np.int8),
        (layer.bias if bias is None else bias).astype(np.int32),
        layer.multiplier.astype(np.int32),
        layer.shift.astype(np.int8),
        inputs,
    )
    return given.with_constants(layer.output_zero_point, layer.activation_min, layer.activation_max, limit=limit)


def simple_sums(
    weights: NDArray[np.int8],
    bias: Array,
    multiplier: Array,
    shift: Array,
    *,
    limit: int = _MOST_MAGNITUDE,
    inputs: tuple[int, int] = ALL_INPUTS,
) -> SimpleSums | None:
    """Returns constants for which the rule holds and that give the same outputs; None if there are none.

    Args:
        weights: `[O, K]`, of each output channel.
        bias: `[O]`, as in the result.
        multiplier: `[O]`, rule N4.
        shift: `[O]`, rule N4.
        limit: sums stay below it in magnitude.
        inputs: the least and the largest element of the input.
    """
    sums = _simplified(weights, SimpleSums(bias.astype(np.int32), multiplier.astype(np.int32), shift.astype(np.int8)))
    return sums if np.all(_are_simple(weights, sums, limit, inputs)) else None


def sums_of(channels: Channels, *, limit: int) -> SimpleSums | None:
    """Returns what `simple_sums` does, of channels with their weights."""
    given = (channels.weights, channels.bias, channels.multiplier, channels.shift)
    return simple_sums(*given, limit=limit, inputs=channels.inputs)


def odd_channels(channels: Channels, *, limit: int = _MOST_MAGNITUDE, least_multiplier: int = 0) -> NDArray[np.int64]:
    """Returns the numbers of the channels for which there are no constants as `simple_sums` makes them.

    Args:
        channels: of a layer.
        limit: sums stay below it in magnitude.
        least_multiplier: of the kernel, unless a multiplier is 0: such a channel has one output.
    """
    given = SimpleSums(channels.bias.copy(), channels.multiplier.copy(), channels.shift.copy())
    sums = _simplified(channels.weights, given)
    are_even = _are_simple(channels.weights, sums, limit, channels.inputs) & (sums.multiplier >= least_multiplier)
    if least_multiplier:
        are_even |= channels.multiplier == 0
    return np.flatnonzero(~are_even)


def _simplified(weights: NDArray[np.int8], sums: SimpleSums) -> SimpleSums:
    """Returns the same, changed: a channel without weights has one sum; a small one with the same scaled value replaces it."""
    empty = np.flatnonzero(~weights.any(axis=1))
    if len(empty):
        scaled = requantize(sums.bias[empty], sums.multiplier[empty], sums.shift[empty].astype(np.int32))
        is_small = abs(scaled) < _MOST_MAGNITUDE
        empty, scaled = empty[is_small], scaled[is_small]
        sums.bias[empty] = 4 * np.clip(scaled, -512, 512)
        sums.multiplier[empty], sums.shift[empty] = _QUARTER, -1
    return sums


def _are_simple(weights: NDArray[np.int8], sums: SimpleSums, limit: int, inputs: tuple[int, int]) -> NDArray[np.bool_]:
    """For each channel, true if its sums stay below the limit in magnitude, and are shifted to the right."""
    least, most = Channels(weights, sums.bias, sums.multiplier, sums.shift, inputs).sums()
    found: NDArray[np.bool_] = (most < limit) & (least > -limit) & (sums.shift < 0) & (sums.multiplier >= 0)
    return found


_SHIFTS = (-17, -1)
"""The least and the largest shift of wide sums that the factor of one multiplication can hold."""


def wide_factors(weights: NDArray[np.int8], bias: Array, multiplier: Array, shift: Array) -> NDArray[np.int32] | None:
    """Returns factors `[O]` with which one multiplication scales every wide sum of s16 inputs (rule N52); None if there are none.

    Args:
        weights: `[O, K]`, of each output channel.
        bias: `[O]` s64.
        multiplier: `[O]`, of rule N26.
        shift: `[O]`, of rule N26.
    """
    above = np.maximum(weights, 0).sum(axis=1, dtype=np.int64)
    below = np.minimum(weights, 0).sum(axis=1, dtype=np.int64)
    most = 32767 * above - 32768 * below + bias
    least = -32768 * above + 32767 * below + bias
    upper = np.minimum((multiplier.astype(np.int64) + (1 << 15)) >> 16, 0x7FFF)
    powers = shift.astype(np.int64)
    are_small = (most < 1 << 31) & (least >= -(1 << 31))
    if not np.all(are_small & (powers >= _SHIFTS[0]) & (powers <= _SHIFTS[1])):
        return None
    factors: NDArray[np.int32] = (upper << (17 + powers)).astype(np.int32)
    return factors
