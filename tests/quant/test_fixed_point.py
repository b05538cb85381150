"""Fixed-point functions against real ones; their exact bits are checked through SOFTMAX and LOGISTIC against TFLM."""

import math

import numpy as np
import pytest

from kibi.quant import exp_on_negative_values, logistic, reciprocal

ONE = 1 << 31


@pytest.mark.parametrize("integer_bits", [0, 1, 4, 5])
def test_exp_any_argument_is_near_the_real_one(integer_bits: int) -> None:
    """The exponential is right to 22 bits for each format, and 1 (the largest number) at 0."""
    unit = 1 << (31 - integer_bits)
    raw = np.unique(np.linspace(-ONE, 0, 20001).astype(np.int64))
    found = exp_on_negative_values(raw, integer_bits)
    wanted = np.exp(raw / unit) * ONE
    assert np.abs(found - wanted).max() <= 1 << 9
    assert int(exp_on_negative_values(0, integer_bits)) == ONE - 1


def test_logistic_any_argument_is_near_the_real_one_and_rises() -> None:
    """The logistic function is right to 23 bits, a half at 0, and never falls."""
    raw = np.unique(np.linspace(-ONE, ONE - 1, 20001).astype(np.int64))
    found = logistic(raw, 4)
    wanted = ONE / (1 + np.exp(-raw / (1 << 27)))
    assert np.abs(found - wanted).max() <= 1 << 8
    assert np.diff(found).min() >= 0
    assert int(logistic(0, 4)) == 1 << 30


@pytest.mark.parametrize("value", [1, 2, 3, 1000, 1 << 19, (1 << 19) + 1, 12345678, ONE // 2, ONE - 1])
def test_reciprocal_any_sum_is_near_the_real_one(value: int) -> None:
    """Mantissa and exponent give 1 / value to 27 bits."""
    mantissa, over = reciprocal(value, 12)
    found = mantissa / ONE * 2.0**-over
    assert math.isclose(found, (1 << 19) / value, rel_tol=2.0**-27)
