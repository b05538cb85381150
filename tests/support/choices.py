"""Where drawn models take their decisions from: Hypothesis, which shrinks what fails, or a seed, which is fast."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

T = TypeVar("T")

_ENDS = (-128, -127, -1, 0, 1, 126, 127)


class Choices(Protocol):
    """A source of decisions; the first option and the lowest number are the simplest."""

    def integer(self, low: int, high: int) -> int:
        """A number in the closed range."""

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options."""


class Seeded:
    """Decisions from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """A number in the closed range, uniform."""
        return self._random.randint(low, high)

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options, uniform."""
        return self._random.choice(options)


class Drawn:
    """Decisions of Hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """A number in the closed range."""
        return self._draw(st.integers(low, high))

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self._draw(st.sampled_from(options))


def flip(c: Choices) -> bool:
    """Yes or no."""
    return c.one_of((False, True))


def zero_point(c: Choices) -> int:
    """A zero point of s8, often at an end."""
    return c.one_of((0, -128, 127, c.integer(-128, 127)))


def scale(c: Choices, lowest_power: int = -24, highest_power: int = 6) -> float:
    """A positive float32 with an exponent in the closed range, often an ordinary one."""
    low, high = c.one_of(((-8, -3), (lowest_power, highest_power)))
    power = c.integer(max(low, lowest_power), min(high, highest_power))
    return float(np.float32((1.0 + c.integer(0, 4095) / 4096) * 2.0**power))


def elements(c: Choices, shape: Sequence[int]) -> NDArray[np.int8]:
    """Elements of s8: uniform, or extremes alone, or the ends of the range and what is next to them."""
    style = c.one_of(("uniform", "extremes", "ends"))
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    if style == "uniform":
        return rng.integers(-128, 128, tuple(shape)).astype(np.int8)
    options = (-128, 127) if style == "extremes" else _ENDS
    return rng.choice(np.array(options, np.int8), tuple(shape))


def is_float(c: Choices) -> bool:
    """Whether a model is one of floats; more are not."""
    return c.one_of((False, False, True))


def floats(c: Choices, shape: Sequence[int], most: float = 1e12) -> NDArray[np.float32]:
    """Finite elements of f32: ordinary ones, whole numbers, which tie and cancel, or all magnitudes below `most` with zeros."""
    style = c.one_of(("ordinary", "whole", "any"))
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    signs = rng.choice((-1.0, 1.0), tuple(shape))
    if style == "any":
        magnitudes = np.exp(rng.uniform(-90.0, np.log(most), tuple(shape))) * (rng.random(tuple(shape)) > 0.125)
        return np.asarray(signs * magnitudes, np.float32)
    drawn = rng.normal(0.0, min(4.0, most), tuple(shape))
    return np.asarray(np.round(drawn) if style == "whole" else drawn, np.float32)
