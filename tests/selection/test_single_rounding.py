"""One product and one rounding: every sum that a channel can have gets the output of the rule, where there are constants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.quant import requantize
from kibi.selection.single_rounding import SingleRounding, single_rounding
from kibi.selection.sums import Channels, SimpleSums

_BITS = (8, 11)


def _outputs(
    sums: np.ndarray, found: SingleRounding, zero_point: int, bits: int, *, is_nearest: bool = False
) -> np.ndarray:
    """What a kernel makes of sums `[O, N]` before the activation cuts them."""
    raised = 256 * sums.astype(np.int64) + found.addend[:, None]
    assert abs(raised).max() < 1 << 31
    if is_nearest:
        nearest: np.ndarray = np.clip(raised * found.factor[:, None] + (1 << 31 + bits) >> 32 + bits, -128, 127)
        return nearest
    outputs: np.ndarray = np.clip((zero_point << bits) + (raised * found.factor[:, None] >> 32) >> bits, -128, 127)
    return outputs


@given(
    st.integers(0, 1 << 32), st.sampled_from(_BITS), st.integers(-128, 127), st.integers(0, 30), st.integers(0, 255),
    st.integers(1, 40), st.booleans(),
)  # fmt: skip
def test_all_sums_of_drawn_channels_get_the_rules_outputs(
    seed: int, bits: int, zero_point: int, above: int, width: int, elements: int, is_nearest: bool
) -> None:
    """Any weights, biases and scales; activations from the zero point or above it; products rounded down or to the nearest."""
    rng = np.random.default_rng(seed)
    low = min(zero_point + above, 127)
    high = min(low + width, 127)
    weights = rng.integers(-128, 128, (3, elements)).astype(np.int8)
    bias = rng.integers(-20_000, 20_000, 3).astype(np.int32)
    sums = SimpleSums(
        bias, rng.integers(1 << 30, 1 << 31, 3).astype(np.int32), rng.integers(-14, -1, 3).astype(np.int8)
    )
    found = single_rounding(weights, sums, zero_point, low, high, bits=bits, to_nearest=is_nearest)
    if found is None:
        return
    least, most = Channels(weights, sums.bias, sums.multiplier, sums.shift).sums()
    for channel in range(3):
        every = np.arange(least[channel], most[channel] + 1)[None]
        one = SingleRounding(found.addend[channel : channel + 1], found.factor[channel : channel + 1])
        rule = requantize(every, sums.multiplier[channel], sums.shift[channel].astype(np.int32)) + zero_point
        np.testing.assert_array_equal(
            np.clip(_outputs(every, one, zero_point, bits, is_nearest=is_nearest), low, high), np.clip(rule, low, high)
        )


def test_most_channels_have_constants() -> None:
    """Scales and sums as layers have them: the search finds what is not at the exact scale, too."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        weights = rng.integers(-128, 128, (1, 64)).astype(np.int8)
        multiplier = rng.integers(1 << 30, 1 << 31, 1).astype(np.int32)
        shift = rng.integers(-9, -5, 1).astype(np.int8)
        sums = SimpleSums(rng.integers(-9000, 9000, 1).astype(np.int32), multiplier, shift)
        found += single_rounding(weights, sums, -128, -128, 127, bits=11) is not None
    assert found >= 198


@pytest.mark.parametrize(
    ("multiplier", "shift", "low"),
    [
        (1 << 30, -7, -5),  # what is below the zero point is not cut off
        (1 << 30, -1, -4),  # the factor would need more than 31 bits
    ],
)
def test_layers_without_constants_are_refused(multiplier: int, shift: int, low: int) -> None:
    """No single rounding: None."""
    weights = np.full((1, 8), 100, np.int8)
    sums = SimpleSums(np.zeros(1, np.int32), np.array([multiplier], np.int32), np.array([shift], np.int8))
    assert single_rounding(weights, sums, -4, low, 127, bits=11) is None


def test_channels_without_steps_have_constants() -> None:
    """A multiplier of zero, sums that are all cut off, sums that all give the largest output, an activation of one value."""
    weights = np.ones((3, 2), np.int8)
    bias = np.array([5, -90_000, 2_000_000], np.int32)
    sums = SimpleSums(bias, np.array([0, 1 << 30, 1 << 30], np.int32), np.array([-3, -3, -3], np.int8))
    for low, high in ((-128, 127), (7, 7)):
        found = single_rounding(weights, sums, -128, low, high, bits=8)
        assert found is not None
        every = bias[:, None] + np.arange(-256, 255)
        rule = requantize(every, sums.multiplier[:, None], -3) - 128
        np.testing.assert_array_equal(np.clip(_outputs(every, found, -128, 8), low, high), np.clip(rule, low, high))


def test_constants_are_searched_once_for_a_layer() -> None:
    """The same layer has the same arrays, which cannot be written; another output or another layer has its own."""
    weights, bias = np.full((2, 8), 3, np.int8), np.array([70, 90], np.int32)

    def search(first: int = 70, high: int = 127) -> SingleRounding | None:
        sums = SimpleSums(
            np.array([first, bias[1]], np.int32), np.full(2, 1_500_000_000, np.int32), np.full(2, -7, np.int8)
        )
        return single_rounding(weights.copy(), sums, -128, -128, high, bits=11)

    found = search()
    assert found is not None
    assert search() is found
    assert search(first=71) is not found
    assert search(high=100) is not found
    assert not found.addend.flags.writeable
    assert not found.factor.flags.writeable
