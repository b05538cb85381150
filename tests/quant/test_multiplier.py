"""Real factors as multiplier and shift."""

from fractions import Fraction
from math import floor, inf, nan, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.quant import Multiplier, quantize_multiplier


def _exact(real: float) -> Multiplier:
    """By fractions: the shift that brings the factor into [1/2, 1), the quotient rounded half up."""
    value, shift = Fraction(real), 0
    while value >= 1:
        value, shift = value / 2, shift + 1
    while value < Fraction(1, 2):
        value, shift = value * 2, shift - 1
    rounded = floor(value * (1 << 31) + Fraction(1, 2))
    if rounded == 1 << 31:
        rounded, shift = rounded // 2, shift + 1
    return Multiplier(rounded, shift) if shift >= -31 else Multiplier(0, 0)


@given(real=st.floats(2.0**-40, 2.0**30))
def test_quantize_multiplier_any_factor_equals_exact_definition(real: float) -> None:
    """A factor becomes 31 bits rounded half up and a shift; below 2**-32 it becomes zero."""
    assert quantize_multiplier(real) == _exact(real)


@pytest.mark.parametrize("power", range(-34, 31))
def test_quantize_multiplier_near_powers_of_two_equals_exact_definition(power: int) -> None:
    """Just below a power of two the fraction rounds up to 1, and the shift with it."""
    real = 2.0**power
    ties = (real * (1 - 2.0**-33), real * (1 - 2.0**-32), real * (1 + 2.0**-31))
    for near in (real, nextafter(real, 0), nextafter(real, inf), *ties):
        assert quantize_multiplier(near) == _exact(near)


@given(real=st.floats(2.0**-32, 2.0**30 * (1 - 2.0**-32), exclude_max=True))
def test_quantize_multiplier_any_factor_is_in_the_kernels_range(real: float) -> None:
    """Kernels get multipliers of 2**30 … 2**31 - 1 and shifts of -31 … 30."""
    found = quantize_multiplier(real)
    assert 1 << 30 <= found.value < 1 << 31
    assert -31 <= found.shift <= 30


def test_quantize_multiplier_zero_is_zero() -> None:
    """Zero has no fraction; it is zero."""
    assert quantize_multiplier(0.0) == Multiplier(0, 0)


@pytest.mark.parametrize("real", [nan, inf, -inf, -1.0])
def test_quantize_multiplier_of_no_factor_is_an_error(real: float) -> None:
    """What is no factor is named."""
    with pytest.raises(ValueError, match="scales must be positive and finite"):
        quantize_multiplier(real)
