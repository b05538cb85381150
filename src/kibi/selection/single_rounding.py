"""Constants with which one product makes outputs of sums where an activation cuts off what is below the zero point: rule N53."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.selection.sums import Channels, SimpleSums

_SUM_BITS = 8
"""Kernels multiply sums that are 256 times the true ones."""
_MOST_RATIO = 1 << 26
"""No sum, divided by a power of two, reaches it: replaces thresholds that are larger."""
_MOST_FACTOR = (1 << 31) - 1
_STEPS = 48
"""Of the search for a factor, each of which leaves two thirds."""
_NEAR = 6
"""Factors on both sides of one that are tried."""
_WIDTH = 2.0**-8
"""The part of a factor by which the search moves it at most."""
_NONE = np.int64(1) << 60
"""More in magnitude than any bound of an addend."""
_MOST_KEPT = 512
"""Layers whose constants are kept: a layer is packed several times for one plan."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleRounding:
    """Constants `[O]`: an output is `(zero_point << bits) + ((256 * sum + addend) * factor >> 32) >> bits`, cut to the activation.

    If the kernel rounds to the nearest, it is `(256 * sum + addend) * factor / 2**(32 + bits)`, rounded, with halves up.

    Attributes:
        addend: s32.
        factor: 0 … 2**31 - 1.
    """

    addend: NDArray[np.int32]
    factor: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Steps:
    """Where the outputs of channels change.

    Attributes:
        levels: `[N]`, twice what a product reaches for outputs above the activation's lower bound.
        sums: `[O, N]`, the least sum with such an output.
        least: `[O]`, of all sums.
        most: `[O]`, likewise.
        bits: of an output's fraction, less one.
    """

    levels: NDArray[np.int64]
    sums: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    bits: int

    def of(self, channels: NDArray[np.int64]) -> "_Steps":
        """Returns those of some channels."""
        return _Steps(self.levels, self.sums[channels], self.least[channels], self.most[channels], self.bits)

    def bounds(self, factor: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the least and the largest addend `[O]` with which sums have the outputs of the steps, and no other ones."""
        exact = -((-self.levels << 32 + self.bits) // factor[:, None])
        reached, missed = self.sums <= self.most[:, None], self.sums > self.least[:, None]
        lower = np.where(reached, exact - (self.sums << _SUM_BITS), -_NONE).max(axis=1, initial=-_NONE)
        upper = np.where(missed, exact - 1 - (self.sums - 1 << _SUM_BITS), _NONE).min(axis=1, initial=_NONE)
        return lower, upper

    def slack(self, factor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the largest addend less the least one `[O]`, as real numbers: a concave function of the factor's reciprocal."""
        exact = self.levels * 2.0 ** (32 + self.bits) / factor[:, None]
        reached, missed = self.sums <= self.most[:, None], self.sums > self.least[:, None]
        lower = np.where(reached, exact - 256.0 * self.sums, -np.inf).max(axis=1, initial=-np.inf)
        upper = np.where(missed, exact - 256.0 * (self.sums - 1), np.inf).min(axis=1, initial=np.inf)
        return np.where(np.isfinite(upper) & np.isfinite(lower), upper - lower, 0.0)


def single_rounding(
    weights: NDArray[np.int8],
    sums: SimpleSums,
    zero_point: int,
    low: int,
    high: int,
    *,
    bits: int,
    to_nearest: bool = False,
) -> SingleRounding | None:
    """Returns constants with which every sum gets its output; None if a channel has none, or sums below 0 may have other outputs.

    Args:
        weights: `[O, K]`.
        sums: constants of the same channels.
        zero_point: of the output.
        low: the activation's lower bound.
        high: its upper bound.
        bits: of an output's fraction, which the kernel has.
        to_nearest: True if the kernel rounds to the nearest and adds no zero point, which is part of addends then.
    """
    if not zero_point <= low <= high:
        return None
    least, most = Channels(weights, sums.bias, sums.multiplier, sums.shift).sums()
    channels = _Channels(sums.multiplier.tobytes(), sums.shift.tobytes(), least.tobytes(), most.tobytes())
    return _found(channels, zero_point, low, high, bits, 2 * zero_point - 1 if to_nearest else 0)


@dataclass(frozen=True, slots=True)
class _Channels:
    """What constants depend on except for the output, as bytes: two layers with the same ones are equal.

    Attributes:
        multiplier: `[O]` s32.
        shift: `[O]` s8.
        least: `[O]` s64, of all sums of a channel.
        most: `[O]` s64, likewise.
    """

    multiplier: bytes
    shift: bytes
    least: bytes
    most: bytes


@lru_cache(maxsize=_MOST_KEPT)
def _found(channels: _Channels, zero_point: int, low: int, high: int, bits: int, base: int) -> SingleRounding | None:
    """Returns the constants, which cannot be written; None if there are none. `base`: twice what is added to levels."""
    multiplier, shift = np.frombuffer(channels.multiplier, np.int32), np.frombuffer(channels.shift, np.int8)
    least, most = np.frombuffer(channels.least, np.int64), np.frombuffer(channels.most, np.int64)
    levels = np.arange(low + 1, high + 1, dtype=np.int64) - zero_point
    sums = _least_sums(levels, multiplier, shift, least, most)
    steps = _Steps(2 * levels + base, sums, least, most, bits - 1)
    scale = np.ldexp(multiplier.astype(np.float64), shift.astype(np.int64) - 31)
    ideal = np.clip(np.ldexp(scale, 32 - _SUM_BITS + bits), 1, _MOST_FACTOR)
    addend, factor = np.zeros(len(ideal), np.int64), np.zeros(len(ideal), np.int64)
    shared = _shared(steps, ideal)
    if shared is not None:
        addend, factor[:] = shared
    left = np.arange(len(ideal)) if shared is None else np.zeros(0, np.int64)
    for middle_of in (None, _widest) if len(left) else ():
        of_left = steps.of(left)
        middle = ideal[left] if middle_of is None else middle_of(of_left, ideal[left])
        found, addend[left], factor[left] = _near(of_left, middle)
        left = left[~found]
        if not len(left):
            break
    ends = [(each << _SUM_BITS) + addend for each in (least, most)]
    if len(left) or any(np.any(abs(each) >= 1 << 31) for each in ends):
        return None
    made = SingleRounding(addend.astype(np.int32), factor.astype(np.int32))
    made.addend.flags.writeable = made.factor.flags.writeable = False
    return made


def _least_sums(
    levels: NDArray[np.int64],
    multiplier: NDArray[np.int32],
    shift: NDArray[np.int8],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The least sum `[O, N]` whose output is a level or more above the zero point; one more than the largest sum where none is.

    Both roundings go up at halves, as levels are above 0.
    """
    power = np.minimum(-shift.astype(np.int64), 26)[:, None]
    ratio = np.minimum((levels << power) - (np.int64(1) << power - 1), _MOST_RATIO)
    divisor = np.maximum(multiplier.astype(np.int64), 1)[:, None]
    found = -(-((ratio << 31) - (1 << 30)) // divisor)
    found = np.where(multiplier[:, None] > 0, found, _NONE)
    reached: NDArray[np.int64] = np.clip(found, least[:, None], most[:, None] + 1)
    return reached


def _near(steps: _Steps, middle: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Tries factors near some real ones: which channels have one, and its addend and the factor."""
    found = np.zeros(len(middle), np.bool_)
    addend, factor = np.zeros(len(middle), np.int64), np.zeros(len(middle), np.int64)
    for step in sorted(range(-_NEAR, _NEAR + 1), key=abs):
        tried = np.clip(np.rint(middle).astype(np.int64) + step, 1, _MOST_FACTOR)
        lower, upper = steps.bounds(tried)
        fits = (lower <= upper) & ~found
        addend = np.where(fits, np.clip(0, lower, upper), addend)
        factor = np.where(fits, tried, factor)
        found |= fits
        if found.all():
            break
    return found, addend, factor


def _shared(steps: _Steps, ideal: NDArray[np.float64]) -> tuple[NDArray[np.int64], int] | None:
    """Returns the addends of channels of one scale, and the factor that all share; None if scales differ or no factor is exact."""
    if (ideal != ideal[0]).any():
        return None
    for step in sorted(range(-_NEAR, _NEAR + 1), key=abs):
        tried = int(np.clip(np.rint(ideal[0]) + step, 1, _MOST_FACTOR))
        lower, upper = steps.bounds(np.full(len(ideal), tried))
        if (lower <= upper).all():
            return np.clip(0, lower, upper), tried
    return None


def _widest(steps: _Steps, ideal: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factors `[O]` with which the bounds of the addend are furthest apart, found by thirds."""
    low, high = ideal * (1 - _WIDTH), ideal * (1 + _WIDTH)
    for _ in range(_STEPS):
        third = (high - low) / 3
        is_higher = steps.slack(low + third) < steps.slack(high - third)
        low, high = np.where(is_higher, low + third, low), np.where(is_higher, high, high - third)
    middle: NDArray[np.float64] = (low + high) / 2
    return middle
