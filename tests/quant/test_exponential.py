"""The exponential function of floats against double precision."""

import numpy as np

from kibi.quant import exp_f32


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
