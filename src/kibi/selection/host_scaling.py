"""How sums of a layer become outputs by two products of floats, where that is proved to give the general kernel's bits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

_BLOCK = 16
"""Channels that a kernel scales at once: in one way or the other."""
_PRODUCT_BITS = 31
"""Fraction bits of a multiplier."""
_EXACT_LIMIT = 1 << 24
"""Up to here, floats hold all integers."""
_MOST_RIGHT = 22
"""With longer shifts, products at the edges of outputs could need more than 64 bits."""
_TOLERANCE = 2.0**-23
"""Kernels add a float that is rounded once, and is below 2: it differs from the exact one by less."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums, and how they are scaled; arrays `[channels]`, in whole blocks of 16.

    Attributes:
        multiplier: 0 … 2**31 - 1.
        left: the shift of the sum to the left.
        right: the shift of the product to the right.
        reach: no sum is farther from zero.
        least, most: of the outputs, less the zero point.
    """

    multiplier: Int64
    left: Int64
    right: Int64
    reach: Int64
    least: int
    most: int


def halves(sums: Sums) -> Float32:
    """What is added to the product of a sum and its scale, away from zero, so that it is the output and a fraction.

    TFLM rounds twice. Outputs never fall while sums rise: it is enough to try the sums on both sides of each edge, at which an
    output follows another one.

    Returns:
        `[channels]`: above 0 and up to 1; 0 for all channels of a block where one of them has no such number.
    """
    least, most = _bounds(sums)
    found = ((least + most) / 2).astype(np.float32)
    greatest = np.ldexp(sums.multiplier.astype(np.float64) * sums.reach, -_PRODUCT_BITS - sums.right)
    is_long = sums.right > _MOST_RIGHT
    # With a shift so long, sums have the output 0 alone, or are not tried. Others may not wrap when the zero point is added.
    is_proved = np.where(is_long, greatest < 1 / 4, (least <= found) & (found <= most) & (greatest < 1 << 30))
    found = np.where(is_long, np.float32(1 / 2), found)
    blocks = (is_proved & (sums.left == 0)).reshape(-1, _BLOCK).all(axis=1)
    return np.where(np.repeat(blocks, _BLOCK), found, np.float32(0)).astype(np.float32)


def _bounds(sums: Sums) -> tuple[Float64, Float64]:
    """The least and the greatest number that can be added, `[channels]`; the first is above the second if no number fits."""
    factor, right, reach = (array[:, None] for array in (sums.multiplier, sums.right, sums.reach))
    shift = np.minimum(right, _MOST_RIGHT)
    output = np.arange(sums.least + 1, sums.most + 1, dtype=np.int64)[None]
    first = _first_sums(factor, shift, output)
    is_positive = output > 0
    whole = np.where(is_positive, output, 1 - output) << (_PRODUCT_BITS + shift)
    least, most = np.zeros(len(factor)), np.ones(len(factor))
    for edge, has_output in ((first, True), (first - 1, False)):
        is_reached = np.abs(edge) <= reach
        exact = np.clip(edge, -_EXACT_LIMIT, _EXACT_LIMIT)
        # How far the product is from the output, or a negative one from the next output.
        missing = np.ldexp(
            (whole + np.where(is_positive, -exact, exact) * factor).astype(np.float64), -_PRODUCT_BITS - shift
        )
        is_least = is_reached & (is_positive == has_output)
        least = np.maximum(least, np.where(is_least, missing, 0.0).max(axis=1, initial=0.0))
        most = np.minimum(most, np.where(is_reached & ~is_least, missing, 1.0).min(axis=1, initial=1.0))
        least = np.where((is_reached & (exact != edge)).any(axis=1), np.inf, least)
    return least + _TOLERANCE, most - _TOLERANCE


def _first_sums(multiplier: Int64, right: Int64, output: Int64) -> Int64:
    """The least sum with that output or a greater one, by rules N2 and N3; beyond all sums where the multiplier is 0."""
    half = (np.int64(1) << right) >> 1
    product = (output << right) - half + ((output <= 0) & (right > 0))
    exact = (product << _PRODUCT_BITS) - (1 << (_PRODUCT_BITS - 1))
    return np.where(multiplier > 0, -(-exact // np.maximum(multiplier, 1)), np.where(output > 0, 1 << 40, -(1 << 40)))
