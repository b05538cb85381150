"""Finds what changes of 32 bits are made of: biases that weights are folded into change by sums of two numbers."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from kibi.update.delta.changes import Changes, Floats, Ints, Unit, folded

_MOST_SHIFT = 20
_MOST_UNIT = 1 << 16
_LEAST_CHANGES = 3
_UNITS = 3
"""Units that are tried for each shift."""
_LEAST_BITS = 14.0
"""A word is looked at if it takes more as bytes or halves."""
_MOST_BITS = 26.0
"""What a word takes that is no sum of these parts."""


def units_of(changes: Changes) -> tuple[Unit, Unit]:
    """Returns two ways to take changes apart: the best one, and the best one for those changes for which that is not good.

    Args:
        changes: of the words of a block.
    """
    parts = np.minimum(*(_bits(changes.of(width)).sum(axis=1) for width in (1, 2)))
    hard = changes.of(4)[changes.is_there & (parts > _LEAST_BITS), 0]
    first, bits = _best(hard)
    return first, _best(hard[bits >= _MOST_BITS])[0]


def _best(changes: Ints) -> tuple[Unit, Floats]:
    """The best unit, and what each change takes with it."""
    plain = Unit(0, 1)
    found = min(
        [plain, *_candidates(changes[:-1], changes[1:], changes)], key=lambda unit: float(_takes(unit, changes).sum())
    )
    return found, _takes(found, changes)


def _candidates(some: Ints, others: Ints, changes: Ints) -> Iterator[Unit]:
    if len(changes) < _LEAST_CHANGES:
        return
    for shift in range(_MOST_SHIFT + 1):
        half = 1 << shift >> 1
        rests, next_rests = (abs(((each + half) & ((1 << shift) - 1)) - half) for each in (some, others))
        if not rests.any():
            yield Unit(shift, 0)
        divisors = Counter(np.gcd(rests, next_rests)[(rests > 0) & (next_rests > 0)].tolist())
        yield from (Unit(shift, unit) for unit, _ in divisors.most_common(_UNITS) if unit < _MOST_UNIT)


def _takes(unit: Unit, changes: Ints) -> Floats:
    """About the bits of each change."""
    first, second, fits = unit.parts(changes)
    found: Floats = np.where(
        fits, np.minimum(_MOST_BITS, _bits(first) + (_bits(second) if unit.unit else 0)), _MOST_BITS
    )
    return found


def _bits(changes: Ints) -> Floats:
    """About the bits of numbers."""
    found: Floats = 0.8 + 1.6 * np.log2(1 + (folded(changes) + 1 >> 1))
    return found
