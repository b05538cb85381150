"""One product and one rounding of sums of either sign: every sum gets the output of the rule, where there are constants."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kibi.quant import Multiplier, requantize
from kibi.selection.switched_rounding import switched_rounding, with_near_ends

_FORMS = ((12, 4096), (8, 31))


@given(
    st.integers(1 << 30, (1 << 31) - 1), st.integers(1, 14), st.integers(-128, 127), st.sampled_from(_FORMS),
    st.integers(-60_000, 60_000), st.integers(0, 120_000),
)  # fmt: skip
def test_all_sums_get_the_rules_outputs(
    multiplier: int, power: int, zero_point: int, form: tuple[int, int], least: int, width: int
) -> None:
    """Any scale, any zero point, ranges of sums on both sides of zero and on one."""
    (bits, most_switch), scale, ends = form, Multiplier(multiplier, -power), (least, least + width)
    levels = (-127 - zero_point, 127 - zero_point)
    found = switched_rounding(scale, ends, levels, bits=bits, most_switch=most_switch)
    if found is None:
        return
    every = np.arange(ends[0], ends[1] + 1, dtype=np.int64)
    raised = 256 * every + found.addend
    assert (found.least, found.most) == (raised[0], raised[-1])
    assert 0 < found.factor < 1 << 31
    assert 0 <= found.switch <= most_switch
    assert abs(raised).max() < 1 << 31
    made = np.where(raised < 0, 0, found.switch) + (raised * found.factor >> 32) >> bits
    rule = requantize(every, multiplier, -power)
    np.testing.assert_array_equal(np.clip(made + zero_point, -128, 127), np.clip(rule + zero_point, -128, 127))


def test_most_scales_have_constants() -> None:
    """Sums of either sign that reach all outputs: the search tries more than the exact scale."""
    rng = np.random.default_rng(0)
    found = [
        switched_rounding(
            Multiplier(int(rng.integers(1 << 30, 1 << 31)), -int(rng.integers(5, 10))), (-300_000, 300_000),
            (-127, 127), bits=12, most_switch=4096,
        )
        for _ in range(60)
    ]  # fmt: skip
    assert sum(each is not None for each in found) >= 54


def test_sums_beyond_all_outputs_come_as_near_as_they_may() -> None:
    """A channel with one output keeps it; others keep their sums."""
    scale, levels = Multiplier(3 << 29, -5), (-127, 127)
    least, most = np.array([-(1 << 30), -5_000, 1 << 29, 0]), np.array([-(1 << 30) + 9, 5_000, (1 << 29) + 9, 1 << 30])
    near = with_near_ends(scale, least, most, levels)
    ends = [requantize(each + near, scale.value, scale.shift).tolist() for each in (least, most)]
    assert [near[1], near[3], ends[0][2], ends[1][0]] == [0, 0, 127, -128]
    assert max(abs(least[[0, 2]] + near[[0, 2]])) < 6_000
