"""Constants with which one product makes outputs of sums of either sign, which N4 rounds away from zero: rule N55."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.quant import Multiplier

_SUM_BITS = 8
"""Kernels multiply sums that are 256 times the true ones."""
_MOST_FACTOR = (1 << 31) - 1
_MOST_SUM = (1 << 31) - 1
_ANY = 1 << 40
"""More than any sum."""
_TRIED = 20
"""Factors on both sides of the exact scale that are tried."""
_STEPS = 4
"""Of the factor, so many change the product of the largest sum that matters by what 1 / 256 of a sum does."""


@dataclass(frozen=True, slots=True)
class SwitchedRounding:
    """Constants: with `y = 256 * sum + addend`, an output is `(switch if y >= 0 else 0) + (y * factor >> 32) >> bits`.

    Attributes:
        factor: 1 … 2**31 - 1.
        switch: at least 0.
        addend: s32.
        least: the least `y` of all sums.
        most: the largest one.
    """

    factor: int
    switch: int
    addend: int
    least: int
    most: int


def switched_rounding(
    scale: Multiplier, ends: tuple[int, int], levels: tuple[int, int], *, bits: int, most_switch: int
) -> SwitchedRounding | None:
    """Returns constants with which every sum reaches the same levels as by rule N4; None if there are none.

    Args:
        scale: of the sums.
        ends: the least and the largest sum.
        levels: the least and the largest output, before a zero point is added, that differs from the one below it.
        bits: of an output's fraction, which the kernel has.
        most_switch: the largest switch that the kernel takes.
    """
    if scale.shift >= 0 or scale.value <= 0:
        return None
    power = -scale.shift
    # Where all levels are above 0, what is below it does not matter.
    switch = 0 if levels[0] > 0 else 1 << bits - power if bits >= power else most_switch + 1
    if switch > most_switch:
        return None
    reached = np.arange(levels[0], levels[1] + 1, dtype=np.int64)
    sums = _least_sums(reached, scale.value, power, ends)
    ideal = round(scale.value * 2.0 ** (bits - power + 1 - _SUM_BITS))
    farthest = max(abs(levels[0]), abs(levels[1])) * 2.0 ** (_SUM_BITS + 31 + power) / scale.value
    step = max(1, round(ideal / (_STEPS * farthest)))
    for factor in (ideal + step * each for each in sorted(range(-_TRIED, _TRIED + 1), key=abs)):
        if not 1 <= factor <= _MOST_FACTOR:
            continue
        lower, upper = _bounds(reached, sums, ends, factor, switch, bits)
        if lower <= upper:
            addend = min(max((lower + upper) // 2, -_MOST_SUM), _MOST_SUM)
            least, most = ((each << _SUM_BITS) + addend for each in ends)
            return SwitchedRounding(factor, switch, addend, least, most) if max(-least, most) <= _MOST_SUM else None
    return None


def with_near_ends(
    scale: Multiplier, least: NDArray[np.int64], most: NDArray[np.int64], levels: tuple[int, int]
) -> NDArray[np.int64]:
    """Returns what to add to sums `[O]` that all reach the last level, or all miss the first one, so that they just do so.

    Args:
        scale: of the sums.
        least: `[O]`, of the sums of a channel.
        most: `[O]`, likewise.
        levels: as of `switched_rounding`.
    """
    if scale.shift >= 0 or scale.value <= 0:
        return np.zeros_like(least)
    first, last = _least_sums(np.array(levels, np.int64), scale.value, -scale.shift, (-_ANY, _ANY))
    near: NDArray[np.int64] = np.maximum(first - 1 - most, 0) - np.maximum(least - last, 0)
    return near


def _least_sums(levels: NDArray[np.int64], multiplier: int, power: int, ends: tuple[int, int]) -> NDArray[np.int64]:
    """The least sum that reaches each level; one more than the largest sum where none does.

    The first rounding goes up at halves, and so does the second one above 0; below, it goes down.
    """
    power = min(power, 26)
    halves = (np.int64(1) << power - 1) - (levels <= 0)
    ratios = np.clip((levels << power) - halves, -(1 << 31), (1 << 31) - 1)
    least: NDArray[np.int64] = np.clip(-(-((ratios << 31) - (1 << 30)) // multiplier), ends[0], ends[1] + 1)
    return least


def _bounds(
    levels: NDArray[np.int64], sums: NDArray[np.int64], ends: tuple[int, int], factor: int, switch: int, bits: int
) -> tuple[int, int]:
    """Returns the least and the largest addend with which the least sum of each level reaches it, and the sum before does not."""
    # Both divisions round down: y reaches a level above 0 from here on; 0 where it has no minus; and one below likewise.
    products = (levels << bits) - np.where(levels > 0, switch, 0) << 32
    exact = -(-products // factor)
    exact = np.where(levels > 0, np.maximum(exact, 0), np.minimum(exact, 0))
    reached, missed = sums <= ends[1], sums > ends[0]
    lower = (exact - (sums << _SUM_BITS))[reached]
    upper = (exact - 1 - (sums - 1 << _SUM_BITS))[missed]
    return int(lower.max(initial=-_MOST_SUM)), int(upper.min(initial=_MOST_SUM))
