"""The exponential functions against the C library's in double precision."""

import numpy as np

from kibi.quant import exp_f32, exp_f64


def test_exp_any_argument_is_within_half_a_unit_in_the_last_place() -> None:
    """Over all arguments with a finite result, the error is at most 0.502 units in the last place."""
    values = np.linspace(-87.0, 88.7, 400_001).astype(np.float32)
    exact = np.exp(values.astype(np.float64))
    results = exp_f32(values)
    units = np.spacing(results).astype(np.float64)
    assert np.max(np.abs(results.astype(np.float64) - exact) / units) < 0.503


def test_exp_beyond_the_range_is_zero_or_infinite() -> None:
    """What is too large, too small, infinite or no number has the answer that IEEE 754 has for it."""
    values = np.array([-np.inf, -104.0, 0.0, -0.0, 89.0, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(exp_f32(values), np.array([0, 0, 1, 1, np.inf, np.inf, np.nan], np.float32))


def test_exp_of_a_double_is_within_two_units_in_the_last_place() -> None:
    """Over all arguments with an ordinary result, up to the ends."""
    values = np.concatenate([np.linspace(-708.0, 709.78, 200_001), np.linspace(-1.0, 1.0, 200_001)])
    exact = np.exp(values)
    assert np.max(np.abs(exp_f64(values) - exact) / np.spacing(exact)) <= 2


def test_exp_of_a_double_beyond_the_range_is_zero_or_infinite() -> None:
    """What is too large, too small, infinite or no number has an answer, too."""
    values = np.array([-np.inf, -709.0, 0.0, -0.0, 710.0, np.inf, np.nan])
    np.testing.assert_array_equal(exp_f64(values), np.array([0, 0, 1, 1, np.inf, np.inf, np.nan]))
