"""Complex arithmetic as the transforms have it: of integers with rounded products and sums that wrap, or of floats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType

Values = NDArray[Any]
"""Of s64 where they are integers, else of f32."""


@dataclass(frozen=True)
class Numbers:
    """The scalars of one type: integers represent fractions of `2**bits`.

    Attributes:
        dtype: s16, s32 or f32.
    """

    dtype: DType

    @property
    def kind(self) -> type[np.generic]:
        """NumPy's type of elements in between."""
        return np.float32 if self.dtype is DType.F32 else np.int64

    def fit(self, values: Values) -> Values:
        """A sum, wrapped."""
        if self.dtype is DType.F32:
            return values
        return values.astype(self.dtype.numpy).astype(np.int64)

    def rounded(self, products: Values) -> Values:
        """A product, or a sum of two, rounded to the nearest fraction, halves upwards, and wrapped."""
        if self.dtype is DType.F32:
            return products
        bits = 8 * self.dtype.size_bytes - 1
        return self.fit((products + (1 << bits - 1)) >> bits)

    def half(self, values: Values) -> Values:
        """Half of each, rounded down."""
        return values * np.float32(0.5) if self.dtype is DType.F32 else values >> 1

    def half_fit(self, values: Values) -> Values:
        """Half of a sum, which wraps at 32 bits: sums of s16 do not."""
        return self.fit(self.half(self.fit(values) if self.dtype is DType.S32 else values))

    def parts(self, values: "Complex", by: int) -> "Complex":
        """Integers divided, by the largest fraction that is not above `1 / by`; floats as they are."""
        if self.dtype is DType.F32:
            return values
        factor = self.dtype.limits[1] // by
        return Complex(self.rounded(values.r * factor), self.rounded(values.i * factor), self)


@dataclass(frozen=True, eq=False)
class Complex:
    """Complex numbers of any shape.

    Attributes:
        r, i: the real and imaginary parts.
        numbers: their arithmetic.
    """

    r: Values
    i: Values
    numbers: Numbers

    @property
    def pair(self) -> tuple[Values, Values]:
        """Both parts."""
        return self.r, self.i

    @property
    def half(self) -> "Complex":
        """Half of each part."""
        return Complex(self.numbers.half(self.r), self.numbers.half(self.i), self.numbers)

    def __getitem__(self, place: Any) -> "Complex":
        return Complex(self.r[place], self.i[place], self.numbers)

    def __setitem__(self, place: Any, values: "Complex") -> None:
        self.r[place], self.i[place] = values.pair

    def __add__(self, other: "Complex") -> "Complex":
        return Complex(self.numbers.fit(self.r + other.r), self.numbers.fit(self.i + other.i), self.numbers)

    def __sub__(self, other: "Complex") -> "Complex":
        return Complex(self.numbers.fit(self.r - other.r), self.numbers.fit(self.i - other.i), self.numbers)

    def __mul__(self, other: "Complex") -> "Complex":
        real = self.numbers.rounded(self.r * other.r - self.i * other.i)
        return Complex(real, self.numbers.rounded(self.r * other.i + self.i * other.r), self.numbers)

    def scaled(self, factor: Values) -> "Complex":
        """Times a real number."""
        return Complex(self.numbers.rounded(self.r * factor), self.numbers.rounded(self.i * factor), self.numbers)

    def quarter(self, other: "Complex", *, is_plus: bool) -> "Complex":
        """Plus or minus i times another."""
        turned = (self.r - other.i, self.i + other.r) if is_plus else (self.r + other.i, self.i - other.r)
        return Complex(self.numbers.fit(turned[0]), self.numbers.fit(turned[1]), self.numbers)

    def reshaped(self, *shape: int) -> "Complex":
        """In another shape."""
        return Complex(self.r.reshape(shape), self.i.reshape(shape), self.numbers)

    @staticmethod
    def stacked(parts: Sequence["Complex"]) -> "Complex":
        """Along a new axis before the last."""
        reals, imaginaries = (np.stack([part.pair[k] for part in parts], axis=-2) for k in (0, 1))
        return Complex(reals, imaginaries, parts[0].numbers)


def numbers_of(dtype: DType) -> Numbers:
    """The arithmetic of a type."""
    return Numbers(dtype)


def complex_of(values: Array, numbers: Numbers) -> Complex:
    """Complex numbers from pairs along the last axis."""
    wide: Values = values.astype(numbers.kind)
    return Complex(wide[..., 0], wide[..., 1], numbers)
