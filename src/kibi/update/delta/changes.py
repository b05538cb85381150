"""By how much the words of a new file differ from those of the older one, and what it takes to say so."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kibi.update.delta.form import CLASSES, DIGITS, SIZES, Numbers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_PRIOR = 0.5
"""What is added to the times that a bit was 0 or 1."""


def folded(numbers: Ints) -> Ints:
    """Numbers without sign of numbers with: 0, -1, 1, -2, ... are 0, 1, 2, 3, ..."""
    found: Ints = (numbers << 1) ^ (numbers >> 63)
    return found


def sizes_of(values: Ints) -> Ints:
    """How many digits each number has after its highest bit; values are 1 less than the numbers that are coded."""
    return np.frexp((values + 1).astype(np.float64))[1].astype(np.int64) - 1


@dataclass(frozen=True, eq=False)
class Changes:
    """Words of the new file, and those of the older one that they are made from.

    Attributes:
        new: `[words * 4]`, bytes of the new file.
        old: `[words * 4]`, bytes of the older one; 0 where it has none.
        is_there: `[words]`, whether the older file has the word.
        distances: `[words]`, from the place in the new file to that in the older one, in bytes.
    """

    new: NDArray[np.uint8]
    old: NDArray[np.uint8]
    is_there: NDArray[np.bool_]
    distances: Ints

    def __len__(self) -> int:
        return len(self.is_there)

    @cached_property
    def _of(self) -> dict[int, tuple[Ints, Ints]]:
        found = {}
        for width in (1, 2, 4):
            half = 1 << 8 * width - 1
            change = (self.new.view(f"<u{width}").astype(np.int64) - self.old.view(f"<u{width}") + half) % (
                2 * half
            ) - half
            classes = (self.old.view(f"<u{width}") != 0).astype(np.int64)
            found[width] = change.reshape(len(self), -1), np.asarray(classes).reshape(len(self), -1)
        return found

    def of(self, width: int) -> Ints:
        """`[words, 4 / width]`, changes of elements of so many bytes."""
        return self._of[width][0]

    def classes(self, width: int) -> Ints:
        """`[words, 4 / width]`, their classes."""
        return self._of[width][1]

    @cached_property
    def raw(self) -> Ints:
        """`[words, 4]`, bytes of the new file with signs."""
        return self.new.view(np.int8).astype(np.int64).reshape(-1, 4)


@dataclass(frozen=True, slots=True)
class Unit:
    """How changes of 32 bits are sums of two: a * 2^shift + b * unit.

    Attributes:
        shift: of the first parts.
        unit: of the second ones.
    """

    shift: int
    unit: int

    def parts(self, changes: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """First parts, second parts, and whether they make the change."""
        half = 1 << self.shift >> 1
        rest = ((changes + half) & ((1 << self.shift) - 1)) - half
        second = rest // max(self.unit, 1)
        return (changes - rest) >> self.shift, second, second * self.unit == rest


class Costs:
    """What numbers take where a coder knows how often each of their bits was 0 or 1: an estimate from how often they are in all.

    Args:
        numbers: values of each set with their classes; none: a guess, before anything is known.
    """

    def __init__(self, numbers: Sequence[tuple[Numbers, Ints, Ints]]) -> None:
        self._is_guess = not numbers
        self._first = np.full((len(Numbers), CLASSES, 2), _PRIOR)
        self._sizes = np.full((len(Numbers), SIZES, 2), _PRIOR)
        self._digits = np.full((len(Numbers), DIGITS, 2), _PRIOR)
        for of, values, classes in numbers:
            self._count(of, values.reshape(-1), classes.reshape(-1))
        for each in (self._first, self._sizes, self._digits):
            each[:] = -np.log2(each / each.sum(axis=-1, keepdims=True))

    def _count(self, of: Numbers, values: Ints, classes: Ints) -> None:
        sizes = sizes_of(values)
        for kind in range(CLASSES):
            self._first[of, kind] += np.bincount((sizes[classes == kind] > 0).astype(np.int64), minlength=2)[:2]
        for size, count in enumerate(np.bincount(sizes).tolist()):
            for place in range(1, size + 1):
                self._sizes[of, min(place, SIZES) - 1, int(place < size)] += count
        for digit in range(int(sizes.max(initial=0))):
            bits = (values + 1)[sizes > digit] >> digit & 1
            self._digits[of, min(digit, DIGITS - 1)] += np.bincount(bits, minlength=2)

    def of(self, of: Numbers, values: Ints, classes: Ints) -> Floats:
        """About the bits that each number takes.

        Args:
            of: their set.
            values: the numbers.
            classes: of the same shape.
        """
        if self._is_guess:
            return np.asarray(0.6 + 2.2 * np.log2(1 + (values + 1 >> 1)))
        sizes = sizes_of(values)
        steps = self._sizes[of, np.minimum(np.arange(32), SIZES - 1)]
        ends = np.concatenate([[0.0], np.concatenate([[0.0], np.cumsum(steps[:-1, 1])]) + steps[:, 0]])
        bits = self._first[of][classes, (sizes > 0).astype(np.int64)] + ends[sizes]
        for digit in range(int(sizes.max(initial=0))):
            takes = self._digits[of, min(digit, DIGITS - 1)]
            bits += np.where(sizes > digit, takes[values + 1 >> digit & 1], 0)
        found: Floats = bits
        return found
