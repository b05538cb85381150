"""Rules N41 to N42: transforms of real numbers by a complex one of half as many, with the roundings of TFLM's library.

Source: KISS FFT 1.3.0, which TFLM builds for int16, int32 and float32 (`signal/src/kiss_fft_wrappers`); observed in its
Python build.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import cos, floor, pi, sin, sqrt

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ops.signal.fft_numbers import Complex, complex_of, numbers_of

RADICES = (2, 3, 4, 5)
"""For larger prime factors TFLM's library would allocate memory, and TFLM's build of it stops."""


def stages_of(points: int) -> tuple[tuple[int, int], ...]:
    """The radix of each stage, and the points of each of its parts, from the last stage to the first.

    Fours come first, then two, then odd numbers from 3 on.
    """
    largest, radix = floor(sqrt(points)), 4
    stages: list[tuple[int, int]] = []
    while not stages or points > 1:
        while points % radix:
            radix = {4: 2, 2: 3}.get(radix, radix + 2)
            if radix > largest:
                radix = points
        points //= radix
        stages.append((radix, points))
    return tuple(stages)


@dataclass(frozen=True)
class RealTransform:
    """A transform of `2 * points` real numbers.

    Attributes:
        dtype: s16, s32 or f32.
        points: of the complex transform.
        is_inverse: true if it leads from the spectrum to the numbers.
    """

    dtype: DType
    points: int
    is_inverse: bool

    @property
    def stages(self) -> Array:
        """`[S, 2]` s32."""
        return np.array(stages_of(self.points), np.int32)

    @property
    def twiddles(self) -> Array:
        """The roots of unity `[points, 2]`."""
        return _roots(self.dtype, [-2 * pi * k / self.points for k in range(self.points)], self.is_inverse)

    @property
    def half_turn(self) -> Array:
        """The factors that make real spectra of complex ones `[points / 2, 2]`, from 1 on; never empty."""
        phases = [-pi * ((k + 1) / self.points + 0.5) for k in range(max(1, self.points // 2))]
        return _roots(self.dtype, phases, self.is_inverse)

    def forward(self, values: Array) -> Array:
        """The spectra `[lines, points + 1, 2]` of lines `[lines, elements]`, which zeros fill up."""
        n, numbers = self.points, numbers_of(self.dtype)
        lines = np.zeros((len(values), 2 * n), values.dtype)
        lines[:, : values.shape[1]] = values
        data = self._transform(complex_of(lines.reshape(-1, n, 2), numbers))
        real, imaginary = np.empty((2, len(values), n + 1), numbers.kind)
        first = numbers.parts(data[:, :1], 2)
        real[:, 0], real[:, n] = (each[:, 0] for each in (first.r + first.i, first.r - first.i))
        imaginary[:, 0] = imaginary[:, n] = 0
        real[:, [0, n]] = numbers.fit(real[:, [0, n]])
        low = np.arange(1, n // 2 + 1)
        total, turned = self._halves(data, low)
        real[:, low], imaginary[:, low] = (
            numbers.half_fit(a + b) for a, b in zip(total.pair, turned.pair, strict=True)
        )
        real[:, n - low] = numbers.half_fit(total.r - turned.r)
        imaginary[:, n - low] = numbers.half_fit(turned.i - total.i)
        return np.stack([real, imaginary], axis=-1).astype(self.dtype.numpy)

    def backward(self, spectra: Array) -> Array:
        """The lines `[lines, 2 * points]` of spectra `[lines, points + 1, 2]`; of floats as many times as large."""
        n, numbers = self.points, numbers_of(self.dtype)
        data = complex_of(spectra, numbers)
        first, last = data[:, :1], data[:, n:]
        made = complex_of(np.zeros((len(spectra), n, 2), numbers.kind), numbers)
        made[:, :1] = numbers.parts(Complex(numbers.fit(first.r + last.r), numbers.fit(first.r - last.r), numbers), 2)
        low = np.arange(1, n // 2 + 1)
        total, turned = self._halves(data, low)
        made[:, low] = total + turned
        mirrored = total - turned
        made[:, n - low] = Complex(mirrored.r, numbers.fit(-mirrored.i), numbers)
        result = self._transform(made)
        return np.stack(result.pair, axis=-1).reshape(-1, 2 * n).astype(self.dtype.numpy)

    def _halves(self, data: Complex, low: Array) -> tuple[Complex, Complex]:
        """Returns of each element and its mirrored one the sum, and the difference, turned."""
        numbers, mirror = data.numbers, self.points - low
        mirrored = Complex(data.r[:, mirror], numbers.fit(-data.i[:, mirror]), numbers)
        a, b = numbers.parts(data[:, low], 2), numbers.parts(mirrored, 2)
        return a + b, (a - b) * complex_of(self.half_turn[None, : len(low)], numbers)

    def _transform(self, data: Complex) -> Complex:
        """The complex transform of each line, along axis 1."""
        stages = stages_of(self.points)
        place = np.zeros(self.points, np.int64)
        rest = np.arange(self.points)
        for radix, m in stages:
            place += rest % radix * m
            rest //= radix
        work = data[:, np.argsort(place)]
        for radix, m in reversed(stages):
            work = self._stage(work, radix, m)
        return work

    def _stage(self, data: Complex, radix: int, m: int) -> Complex:
        """Each `radix` neighbouring transforms of m points become one."""
        lines, stride = len(data.r), self.points // (radix * m)
        parts = data.numbers.parts(data.reshaped(lines, stride, radix, m), radix)
        turns = np.arange(radix)[:, None] * stride * np.arange(m)
        twiddles = complex_of(self.twiddles, data.numbers)
        turned = parts * twiddles[turns]
        inputs = [parts[:, :, 0], *(turned[:, :, k] for k in range(1, radix))]
        roots = [twiddles[stride * m * k % self.points] for k in (1, 2)]
        return _join(inputs, roots, is_inverse=self.is_inverse).reshaped(lines, self.points)


def _join(x: Sequence[Complex], roots: Sequence[Complex], *, is_inverse: bool) -> Complex:
    """Returns what one stage makes of inputs that are divided and turned; the order of sums is that of TFLM's library."""
    if len(x) == 2:
        return Complex.stacked([x[0] + x[1], x[0] - x[1]])
    if len(x) == 4:
        even, odd, even_side, odd_side = x[0] + x[2], x[1] + x[3], x[0] - x[2], x[1] - x[3]
        one, three = (
            even_side.quarter(odd_side, is_plus=is_inverse),
            even_side.quarter(odd_side, is_plus=not is_inverse),
        )
        return Complex.stacked([even + odd, one, even - odd, three])
    if len(x) == 3:
        total, middle = x[1] + x[2], x[0] - (x[1] + x[2]).half
        side = (x[1] - x[2]).scaled(roots[0].i)
        return Complex.stacked([x[0] + total, middle.quarter(side, is_plus=True), middle.quarter(side, is_plus=False)])
    return _join_five(x, roots)


def _join_five(x: Sequence[Complex], roots: Sequence[Complex]) -> Complex:
    outer, outer_side, inner, inner_side = x[1] + x[4], x[1] - x[4], x[2] + x[3], x[2] - x[3]
    (one, two), fit = roots, x[0].numbers.fit
    near = x[0] + outer.scaled(one.r) + inner.scaled(two.r)
    far = x[0] + outer.scaled(two.r) + inner.scaled(one.r)
    beside, across = outer_side.scaled(one.i), inner_side.scaled(two.i)
    near_side = Complex(fit(beside.i + across.i), fit(fit(-beside.r) - across.r), x[0].numbers)
    beside, across = outer_side.scaled(two.i), inner_side.scaled(one.i)
    far_side = Complex(fit(across.i - beside.i), fit(beside.r - across.r), x[0].numbers)
    total = x[0] + (outer + inner)
    return Complex.stacked([total, near - near_side, far + far_side, far - far_side, near + near_side])


@cache
def _cached_roots(dtype: DType, phases: tuple[float, ...]) -> Array:
    pairs = np.array([(cos(phase), sin(phase)) for phase in phases])
    if dtype is DType.F32:
        return pairs.astype(np.float32)
    return np.floor(0.5 + dtype.limits[1] * pairs).astype(dtype.numpy)


def _roots(dtype: DType, phases: Sequence[float], is_inverse: bool) -> Array:
    """Rounded to the nearest number that the type has."""
    return _cached_roots(dtype, tuple(-phase if is_inverse else phase for phase in phases))
