"""The roundings against exact definitions, where they change their mind."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.quant import (
    quantize_value,
    requantize,
    requantize_wide,
    round_half_away,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_s32,
)
from tests.quant.boundaries import ACCUMULATORS, MAX, MIN, TRIPLES
from tests.quant.exact import half_away, high_multiply, requantized, requantized_wide, wrapped

S32 = st.integers(MIN, MAX)


def test_requantize_every_boundary_equals_exact_definition() -> None:
    """Accumulators, multipliers and shifts at their boundaries, all combined, give the defined bits."""
    acc, multiplier, shift = np.array(TRIPLES).T
    wanted = [requantized(*triple) for triple in TRIPLES]
    assert requantize(acc, multiplier, shift).tolist() == wanted


@given(acc=S32, multiplier=st.integers(1 << 30, MAX), shift=st.integers(-31, 30))
def test_requantize_any_values_equal_exact_definition(acc: int, multiplier: int, shift: int) -> None:
    """Any 32-bit accumulator gives the defined bits."""
    assert int(requantize(acc, multiplier, shift)) == requantized(acc, multiplier, shift)


@given(
    acc=st.integers(1 - (1 << 47), (1 << 47) - 1),
    multiplier=st.one_of(st.integers(1 << 30, MAX), st.integers(0x7FFEFFFF, MAX)),
    shift=st.integers(-31, 7),
)
def test_requantize_wide_any_values_equal_exact_definition(acc: int, multiplier: int, shift: int) -> None:
    """Any 64-bit accumulator that TFLM allows gives the defined bits, also where 32 do not hold the result."""
    assert int(requantize_wide(acc, multiplier, shift)) == requantized_wide(acc, multiplier, shift)


def test_high_multiply_every_boundary_rounds_half_up() -> None:
    """The product's high half is the exact quotient rounded half up; its one overflow saturates."""
    a, b = (np.array(side).reshape(-1) for side in np.meshgrid(ACCUMULATORS, ACCUMULATORS))
    found = saturating_rounding_doubling_high_multiply(a, b).tolist()
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert found == [high_multiply(*pair) for pair in pairs]
    assert found == [min(MAX, floor(Fraction(x * y, 1 << 31) + Fraction(1, 2))) for x, y in pairs]


@pytest.mark.parametrize("exponent", range(32))
def test_divide_by_power_every_boundary_rounds_half_away(exponent: int) -> None:
    """Quotients are exact and rounded half away from zero, for each exponent."""
    ties = [sign * (k * (1 << exponent) + (1 << exponent >> 1)) for k in range(4) for sign in (-1, 1)]
    values = [value for value in (*ACCUMULATORS, *ties, *(tie + 1 for tie in ties)) if MIN <= value <= MAX]
    found = rounding_divide_by_power_of_two(values, exponent).tolist()
    assert found == [half_away(Fraction(value, 1 << exponent)) for value in values]


@given(value=st.integers(-(1 << 62), 1 << 62))
def test_wrap_s32_any_value_keeps_its_low_bits(value: int) -> None:
    """Two's complement arithmetic leaves the low 32 bits."""
    assert int(wrap_s32(value)) == wrapped(value)


@given(value=st.floats(-(2.0**24), 2.0**24, width=32))
def test_round_half_away_any_float_equals_exact_definition(value: float) -> None:
    """Floats round half away from zero without an addition that could round first."""
    assert int(round_half_away(value)) == half_away(Fraction(value))


def test_round_half_away_just_below_a_half_is_zero() -> None:
    """The largest float below a half rounds down: adding a half to it would give 1."""
    below = np.nextafter(np.float32(0.5), np.float32(0))
    assert round_half_away([below, -below, 0.5, -0.5, 8388607.5]).tolist() == [0, 0, 1, -1, 8388608]


def test_quantize_value_divides_in_single_precision() -> None:
    """The quotient is a float32 before it is rounded, so that 1 / 0.4 is exactly 2.5."""
    assert quantize_value(1.0, float(np.float32(0.4)), -3) == 0
    assert Fraction(1) / Fraction(float(np.float32(0.4))) < Fraction(5, 2)
