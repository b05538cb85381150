"""Sums of a layer that two products of floats scale."""

from fractions import Fraction
from math import trunc

import numpy as np
import pytest

from kibi.quant import requantize
from kibi.selection.host_scaling import Sums, halves

_BLOCK = 16
_OF_FLOATS = Fraction(1, 1 << 24)
"""What is rounded in a kernel."""


def _sums(
    multiplier: object, right: object, reach: int = 1 << 20, *, left: int = 0, least: int = -128, most: int = 127
) -> Sums:
    each = [np.broadcast_to(np.asarray(array, np.int64), _BLOCK) for array in (multiplier, left, right, reach)]
    return Sums(each[0], each[1], each[2], each[3], least, most)


@pytest.mark.parametrize(("zero_point", "low"), [(0, -128), (-128, -128), (100, -50)])
def test_an_added_half_gives_the_output_of_two_roundings(zero_point: int, low: int) -> None:
    rng = np.random.default_rng(zero_point + 200)
    sums = _sums(
        rng.integers(1 << 30, 1 << 31, _BLOCK),
        rng.integers(0, 10, _BLOCK),
        least=low - zero_point,
        most=127 - zero_point,
    )
    found = halves(sums)
    assert (found > 0).all()
    for multiplier, right, half in zip(sums.multiplier.tolist(), sums.right.tolist(), found.tolist(), strict=True):
        edges = [int((output + rng.uniform(-1, 1)) * 2 ** (31 + right) / multiplier) for output in range(-260, 260)]
        near = np.clip([edge + step for edge in edges for step in range(-2, 3)], -(1 << 20), 1 << 20)
        expected = np.clip(requantize(near, multiplier, -right), sums.least, sums.most)
        for each, output in zip(near.tolist(), expected.tolist(), strict=True):
            product = Fraction(each * multiplier, 1 << (31 + right)) + (
                Fraction(half) if each >= 0 else -Fraction(half)
            )
            for error in (-_OF_FLOATS, _OF_FLOATS):
                assert min(max(trunc(product + error), sums.least), sums.most) == output


@pytest.mark.parametrize(
    "sums",
    [
        _sums(1 << 30, 0, left=1),
        _sums((1 << 31) - 1, 0, (1 << 31) - 1),
        _sums(1_234_567_891, 18, 1 << 28),
        _sums(1_234_567_891, 31, (1 << 31) - 1),
        _sums(1 << 30, 7),
    ],
    ids=["shifted to the left", "that may wrap", "beyond exact floats", "beyond 64 bits", "with ties"],
)
def test_sums_of_other_layers_have_no_half(sums: Sums) -> None:
    assert (halves(sums) == 0).all()


def test_a_block_has_halves_or_none() -> None:
    left = np.repeat([0, 1, 0], _BLOCK)
    left[_BLOCK + 1 : 2 * _BLOCK] = 0
    ones = np.ones(len(left), np.int64)
    found = halves(Sums(1_234_567_891 * ones, left, 7 * ones, ones << 20, -128, 127))
    np.testing.assert_array_equal(found > 0, np.repeat([True, False, True], _BLOCK))
