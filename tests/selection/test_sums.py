"""Channels with one output are found, and lose weights that fast kernels could not sum up; no output changes."""

import numpy as np
import pytest

from kibi.quant import requantize
from kibi.selection.sums import Channels, simple_sums
from tests.support.amount import amount

_OUTPUTS, _ELEMENTS, _INPUTS = 60, 5, 200


def _drawn(rng: np.random.Generator) -> Channels:
    """Channels of usual and of odd scales: large biases, shifts to the left, small multipliers."""
    bias = rng.integers(-(1 << 31), 1 << 31, _OUTPUTS) >> rng.integers(0, 31, _OUTPUTS)
    return Channels(
        rng.integers(-128, 128, (_OUTPUTS, _ELEMENTS)).astype(np.int8),
        bias.astype(np.int32),
        (rng.integers(1 << 30, 1 << 31, _OUTPUTS) >> rng.choice([0, 0, 0, 7, 31], _OUTPUTS)).astype(np.int32),
        rng.integers(-25, 5, _OUTPUTS).astype(np.int8),
    )


def _outputs(channels: Channels, inputs: np.ndarray, zero_point: int, low: int, high: int) -> np.ndarray:
    """The outputs `[inputs, O]` of the rule; sums of 32 bits that wrap."""
    sums = (inputs.astype(np.int64) @ channels.weights.astype(np.int64).T + channels.bias).astype(np.int32)
    scaled = requantize(sums, channels.multiplier, channels.shift.astype(np.int32)).astype(np.int64)
    return np.clip(scaled + zero_point, low, high)


@pytest.mark.parametrize("seed", range(amount(10, 200)))
def test_channels_with_one_output_give_it_without_weights(seed: int) -> None:
    """For inputs of any values, extreme ones too, and whatever cuts the outputs."""
    rng = np.random.default_rng(seed)
    given = _drawn(rng)
    zero_point = int(rng.integers(-128, 128))
    low, high = ((-128, 127), (zero_point, 127), (-20, 30), (7, 7))[seed % 4]
    found = given.with_constants(zero_point, low, high)
    inputs = rng.integers(-128, 128, (_INPUTS, _ELEMENTS)).astype(np.int8)
    inputs[: _INPUTS // 2] = rng.choice([-128, 127], (_INPUTS // 2, _ELEMENTS))
    np.testing.assert_array_equal(
        _outputs(found, inputs, zero_point, low, high), _outputs(given, inputs, zero_point, low, high)
    )
    changed = (found.weights != given.weights).any(axis=1)
    assert changed.any()
    assert simple_sums(found.weights[changed], found.bias[changed], found.multiplier[changed], found.shift[changed])


def test_channels_that_fast_kernels_can_compute_stay_as_they_are() -> None:
    """A channel that is always cut off keeps its weights where its sums are small: they do no harm."""
    weights = np.full((2, 3), 5, np.int8)
    given = Channels(
        weights, np.array([1 << 20, 1 << 30], np.int32), np.full(2, 1 << 30, np.int32), np.full(2, -4, np.int8)
    )
    found = given.with_constants(-128, -128, 127)
    assert found.weights.any(axis=1).tolist() == [True, False]
    assert found.bias.tolist() == [1 << 20, 4 * 255]


def test_a_channel_whose_sums_wrap_is_no_constant() -> None:
    """Sums just below the end of 32 bits and just above it have outputs at both ends of the range."""
    weights, scale = np.full((2, 1), 5, np.int8), np.full(2, 1 << 30, np.int32)
    wrapping = Channels(weights, np.array([(1 << 31) - 100, 1 << 30], np.int32), scale, np.array([-4, 1], np.int8))
    assert wrapping.with_constants(0, -128, 127).weights.any(axis=1).all()


def test_a_channel_near_a_step_of_its_output_is_no_constant() -> None:
    """Sums on both sides of it give two outputs."""
    near = Channels(
        np.ones((1, 1), np.int8), np.array([(1 << 30) + (1 << 22)], np.int32), np.array([1 << 30], np.int32),
        np.array([-22], np.int8),
    )  # fmt: skip
    assert near.with_constants(-128, -128, 127).weights.any()
    assert not near.with_constants(-127, -128, 1).weights.any()
