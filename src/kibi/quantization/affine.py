"""Scales and zero points from ranges, and elements from real numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType

Reals = NDArray[np.float64]
MOST_REAL = 1e30
"""What is beyond this is an infinity in disguise, as padding of a maximum has it."""
_LEAST_SPAN, _USUAL = 2.0**-20, 1.0
"""The least span of a range, and the ends of the range of what is always 0."""
_COARSE = 16
"""With fewer elements than this on each side of 0, the largest weights may be cut for the sake of the others."""
_PARTS = np.linspace(1.0, 0.4, 25)
"""The parts of the scale that are tried then."""
_MOST_BIAS = {DType.S32: 2.0**30, DType.S64: 2.0**39}
"""The largest element of a bias that we make: half of what a kernel holds, so that sums have room."""


@dataclass(frozen=True, slots=True)
class Range:
    """The closed range of a tensor's real values; it holds 0."""

    low: float
    high: float

    @staticmethod
    def around(low: float, high: float) -> "Range":
        """The least range that holds two values and 0."""
        return Range(min(low, 0.0), max(high, 0.0))

    def union(self, other: "Range") -> "Range":
        """The least range that holds both."""
        return Range(min(self.low, other.low), max(self.high, other.high))

    def symmetric(self) -> "Range":
        """The least range around 0 that holds this one: its zero point is 0."""
        largest = max(-self.low, self.high)
        return Range(-largest, largest)

    def shrunk(self, part: float) -> "Range":
        """The range with both ends nearer to 0 by this factor."""
        return Range(self.low * part, self.high * part)


@dataclass(frozen=True, slots=True)
class Affine:
    """The type of a quantized tensor: real = scale * (element - zero point).

    Attributes:
        dtype: s8 or s16.
        scale: a float32 value.
        zero_point: of s16 it is 0.
    """

    dtype: DType
    scale: float
    zero_point: int

    @staticmethod
    def of(values: Range, dtype: DType) -> "Affine":
        """The type whose elements reach the ends of a range; s8 use all elements, and 0 is one; s16 are symmetric.

        Args:
            values: the range.
            dtype: s8 or s16.
        """
        lowest, highest = dtype.limits
        if values.low == values.high:  # always 0: any scale will do, and one near others' suits the kernels
            values = Range(-_USUAL, _USUAL)
        if dtype is not DType.S8:
            largest = max(-values.low, values.high, _LEAST_SPAN)
            return Affine(dtype, float(np.float32(largest / highest)), 0)
        span = max(values.high - values.low, _LEAST_SPAN)
        scale = float(np.float32(span / (highest - lowest)))
        zero_point = round(lowest - values.low / scale)
        return Affine(dtype, scale, min(max(zero_point, lowest), highest))

    def elements(self, reals: Array) -> Array:
        """The nearest elements to real numbers; what is outside of the range becomes its end."""
        lowest, highest = self.dtype.limits
        scaled = np.rint(reals.astype(np.float64) / self.scale) + self.zero_point
        return np.asarray(np.clip(scaled, lowest, highest), self.dtype.numpy)

    def reals(self, elements: Array) -> Reals:
        """The real numbers that elements mean."""
        return (elements.astype(np.float64) - self.zero_point) * self.scale


@dataclass(frozen=True, slots=True)
class QuantizedWeights:
    """Weights of s8 with a scale for each channel, or one for all; zero points are 0.

    Attributes:
        elements: of the weights' shape.
        scales: `[C]` or `[1]`, float32 values.
    """

    elements: Array
    scales: Reals


def quantize_weights(
    weights: Array, axis: int | None, bias: Array | None, input_scale: float, bias_type: DType, most: int = 127
) -> QuantizedWeights:
    """Weights as s8 from -127 to 127, or in a smaller range.

    A scale grows where the bias would not fit into its type, whose scale is that of the input times that of the weights.

    Args:
        weights: f32.
        axis: of the output channels; None: one scale for all.
        bias: f32 `[C]`, or None.
        input_scale: of the data.
        bias_type: s32 or s64.
        most: the largest element; the least is its negative.
    """
    reals = weights.astype(np.float64)
    others = tuple(number for number in range(reals.ndim) if number != axis)
    largest = np.abs(reals).max(axis=others if axis is not None else None, initial=0.0).reshape(-1)
    floor = max(float(largest.max()), _LEAST_SPAN)
    scales = np.where(largest > floor * 2.0**-30, largest, floor) / most
    along = [1] * reals.ndim
    if axis is not None:
        along[axis] = -1
    if most < _COARSE:
        scales = _nearest(reals, scales, others if axis is not None else None, along, most)
    if bias is not None:
        magnitudes = np.abs(bias.astype(np.float64)).reshape(-1)
        magnitudes = magnitudes if len(scales) > 1 or len(magnitudes) == 1 else magnitudes.max(keepdims=True)
        scales = np.maximum(scales, magnitudes / (input_scale * _MOST_BIAS[bias_type]))
    scales = scales.astype(np.float32).astype(np.float64)
    elements = np.clip(np.rint(reals / scales.reshape(along)), -most, most).astype(np.int8)
    return QuantizedWeights(elements, scales)


def _nearest(reals: Reals, scales: Reals, others: tuple[int, ...] | None, along: Sequence[int], most: int) -> Reals:
    """The parts of scales `[C]` with which elements differ least from the real weights: a few large ones are cut.

    Args:
        reals: the weights.
        scales: with which elements reach the largest weight of each channel.
        others: the axes that share a scale; None: all.
        along: the shape of scales that goes with that of the weights.
        most: the largest element.
    """
    tried = [scales * part for part in _PARTS]
    errors = []
    for each in tried:
        wide = each.reshape(along)
        kept = np.clip(np.rint(reals / wide), -most, most) * wide
        errors.append(np.square(kept - reals).sum(axis=others).reshape(-1))
    best = np.argmin(errors, axis=0)
    found: Reals = np.asarray(tried)[best, np.arange(len(scales))]
    return found


def quantize_time_weights(weights: Array, rank: int, bias: Array | None, state_scale: float) -> QuantizedWeights:
    """The weights over time of an SVDF as s16, with one scale: no sum of a unit leaves 32 bits, whatever the state holds.

    Args:
        weights: f32 `[F, M]`.
        rank: how many of the F filters add up to a unit.
        bias: f32 `[F / rank]`, or None.
        state_scale: of the state, which is s16.
    """
    reals = np.abs(weights.astype(np.float64))
    largest = 0.0 if bias is None else float(np.abs(bias.astype(np.float64)).max(initial=0))
    sums = reals.reshape(-1, rank * weights.shape[1]).sum(axis=1)
    scale = max(
        float(sums.max(initial=0)) / 32767,  # so that the sum of products with elements of s16 is at most 2^30
        largest / (state_scale * _MOST_BIAS[DType.S32]),
        _LEAST_SPAN / 32767,
    )
    rounded = float(np.float32(scale))
    elements = np.clip(np.rint(weights.astype(np.float64) / rounded), -32767, 32767).astype(np.int16)
    return QuantizedWeights(elements, np.array([rounded]))


def quantize_bias(bias: Array, input_scale: float, scales: Reals, bias_type: DType) -> tuple[Array, Reals]:
    """A bias `[C]` as integers, and its scales: those of the sums."""
    products = (np.float32(input_scale) * scales.astype(np.float32)).astype(np.float64)
    lowest, highest = bias_type.limits
    scaled = np.rint(bias.astype(np.float64).reshape(-1) / products)
    return np.clip(scaled, lowest, highest).astype(bias_type.numpy).reshape(bias.shape), products
