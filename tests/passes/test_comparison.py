"""The comparisons that the tests of passes use."""

import pytest

from kibi.frontends.text import parse_text
from tests.passes.comparison import assert_rewrites, assert_stays, check_same, runs_of

_BEFORE = """
graph "net" from "text" (%0) -> (%2) {
  %0 "x": s8[1, 2] (scale 0.5, zero 3)
  %1 "matrix": s8[2, 2] (scale 0.5, zero 0) = [1, 2, 3, 4]
  %3 "same": s8[1, 2] (scale 0.5, zero 3) = QUANTIZE #0 (input %0)
  %2 "y": s8[1, 2] (scale 0.5, zero 3) = FULLY_CONNECTED #1 (input %3, filter %1)
}
"""
_AFTER = """
graph "net" from "text" (%0) -> (%2) {
  %0 "x": s8[1, 2] (scale 0.5, zero 3)
  %1 "matrix": s8[2, 2] (scale 0.5, zero 0) = [1, 2, 3, 4]
  %2 "y": s8[1, 2] (scale 0.5, zero 3) = FULLY_CONNECTED #1 (input %0, filter %1)
}
"""


def test_assert_rewrites_shows_the_lines_that_differ() -> None:
    """One weight is enough."""
    assert_rewrites(_BEFORE, _AFTER, "identity-quantize")
    with pytest.raises(AssertionError) as caught:
        assert_rewrites(_BEFORE, _AFTER.replace("3, 4]", "3, 5]"), "identity-quantize")
    assert '-  %1 "matrix": s8[2, 2] (scale 0.5, zero 0) = [1, 2, 3, 5]' in str(caught.value)
    assert '+  %1 "matrix": s8[2, 2] (scale 0.5, zero 0) = [1, 2, 3, 4]' in str(caught.value)


def test_assert_rewrites_wants_a_line_for_each_tensor_that_is_used() -> None:
    """Only what nobody makes or reads may be left out."""
    line = '%1 "matrix": s8[2, 2] (scale 0.5, zero 0) = [1, 2, 3, 4]'
    with pytest.raises(AssertionError, match=r"tensors \{1\} are used, and have no line"):
        assert_rewrites(_BEFORE, _AFTER.replace(line, ""), "identity-quantize")


def test_assert_rewrites_fails_where_the_pass_does_nothing_and_assert_stays_where_it_does() -> None:
    """Neither takes one graph for the other."""
    with pytest.raises(AssertionError):
        assert_rewrites(_AFTER, _AFTER, "identity-quantize")
    with pytest.raises(AssertionError, match="the graphs differ"):
        assert_stays(_BEFORE, "identity-quantize")


def test_check_same_sees_one_bit() -> None:
    """Graphs whose outputs differ for any of the inferences are not the same."""
    before = parse_text(_BEFORE)
    check_same(before, parse_text(_AFTER), *runs_of(before))
    with pytest.raises(AssertionError, match="output 0: 1 elements differ"):
        check_same(before, parse_text(_AFTER.replace("3, 4]", "3, 5]")), *runs_of(before))


def test_runs_give_each_input_all_values_of_eight_bits() -> None:
    """Whatever its size, beside drawn elements."""
    graph = parse_text(_AFTER)
    assert {int(element) for (x,) in runs_of(graph) for element in x.reshape(-1)} == {*range(-128, 128)}
