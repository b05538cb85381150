"""Costs and codes of differences: which Rice parameters take the fewest bits."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kibi.update.delta.form import MOST_K, UNIT_BYTES, UNLIMITED, Class

Ints = NDArray[np.int64]
_MOST_RUN_K = 15
_LEAST_PART, _MOST_PART = 8, 24
"""Where differences have two parts, the first one begins at one of these bits."""
_LEAST_K, _LEAST_VALUES = 8, 8
"""Two parts are tried where one number takes so many bits, for so many differences."""
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """How the elements of a class are stored best.

    Attributes:
        its: the class.
        runs: of each difference that is not 0 how many elements before it stay the same; at the end those after the last one,
            unless there are none.
        values: these differences, or their first parts, as numbers without sign.
        rests: their second parts as numbers without sign; empty where there are none.
        bits: what all of them take.
    """

    its: Class
    runs: Ints
    values: Ints
    rests: Ints
    bits: int


def coding(width: int, changes: Ints, *, has_parts: bool = False) -> Coding:
    """Returns how differences are stored best.

    Args:
        width: bytes of an element.
        changes: `[elements]`, the difference of each.
        has_parts: True if two numbers for each difference are tried, too.
    """
    places = np.flatnonzero(changes)
    runs = np.diff(places, prepend=-1) - 1
    tail = len(changes) - 1 - (int(places[-1]) if len(places) else -1)
    if tail:
        runs = np.append(runs, tail)
    run, run_bits = _best_run(runs)
    its, values, bits = _one_part(Class(width, run=run), changes[places])
    rests = _NONE
    if has_parts and its.value >= _LEAST_K and len(values) >= _LEAST_VALUES:
        for shift in range(_LEAST_PART, _MOST_PART + 1):
            parts = _two_parts(Class(width, run=run, shift=shift), changes[places])
            if parts is not None and parts[3] < bits:
                its, values, rests, bits = parts
    return Coding(its, runs, values, rests, run_bits + bits)


def _one_part(its: Class, found: Ints) -> tuple[Class, Ints, int]:
    """The class of differences that are one number each, these numbers, and what they take."""
    shift = 0
    if len(found):
        low = int(np.bitwise_or.reduce(found))
        shift = min((low & -low).bit_length() - 1, MOST_K)
        found = found >> shift
    values = np.where(found > 0, 2 * found - 2, -2 * found - 1)
    best, bits = _best_value(replace(its, shift=shift), values)
    return best, values, bits


def _two_parts(its: Class, found: Ints) -> tuple[Class, Ints, Ints, int] | None:
    """The same of differences that are a multiple of a power of two, and a few units more; None if no unit is common."""
    half = 1 << its.shift - 1
    low = (found + half) % (2 * half) - half
    unit = int(np.gcd.reduce(low)) if len(low) else 0
    if not 1 < unit < 1 << 8:
        return None
    values, rests = _folded((found - low) >> its.shift), _folded(low // unit)
    best, bits = _best_value(its, values)
    rest, rest_bits = _best_run(rests)
    return replace(best, unit=unit, rest=rest), values, rests, bits + rest_bits + 8 * UNIT_BYTES


def _folded(numbers: Ints) -> Ints:
    found: Ints = np.where(numbers >= 0, 2 * numbers, -2 * numbers - 1)
    return found


def _best_run(runs: Ints) -> tuple[int, int]:
    """The best k of runs, and what they take."""
    if not len(runs):
        return 0, 0
    costs = [(int((runs >> k).sum()) + (k + 1) * len(runs), k) for k in _near(runs, _MOST_RUN_K)]
    bits, k = min(costs)
    return k, bits


def _best_value(its: Class, values: Ints) -> tuple[Class, int]:
    """The class with the best k and the best largest quotient of values, and what they take."""
    if not len(values):
        return its, 0
    best = its, 1 << 60
    for k in _near(values, MOST_K):
        quotients = values >> k
        most = int(quotients.max())
        bits = int(quotients.sum()) + (k + 1) * len(values)
        is_limited = most < UNLIMITED
        if is_limited:
            bits -= int(np.count_nonzero(quotients == most))
        if bits < best[1]:
            best = replace(its, value=k, limit=most if is_limited else UNLIMITED), bits
    return best


def _near(numbers: Ints, most: int) -> range:
    """The k that may be the best ones of numbers: about the logarithm of their mean, and up to that of the largest one."""
    middle = int(numbers.mean()).bit_length()
    first = max(0, min(middle - 2, most))
    return range(first, min(max(middle + 1, int(numbers.max()).bit_length() if middle < 6 else 0), most) + 1)
