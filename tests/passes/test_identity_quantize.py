"""Changes of scale that change nothing, and chains of them."""

import pytest

from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "identity-quantize"


@pytest.mark.parametrize("zero", [-128, 0, 127])
def test_quantize_into_the_same_scale_vanishes(zero: int) -> None:
    """After the input, between two operators, and before the output, which its producer makes."""
    before = f"""
    graph "net" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 8] (scale 0.05, zero {zero})
      %1 "same": s8[1, 8] (scale 0.05, zero {zero}) = QUANTIZE #0 (input %0)
      %2 "below 6": s8[1, 8] (scale 0.05, zero {zero}) = RELU6 #1 (input %1)
      %3 "same below 6": s8[1, 8] (scale 0.05, zero {zero}) = QUANTIZE #2 (input %2)
      %4 "positive": s8[1, 8] (scale 0.05, zero {zero}) = RELU #3 (input %3)
      %5 "y": s8[1, 8] (scale 0.05, zero {zero}) = QUANTIZE #4 (input %4)
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 8] (scale 0.05, zero {zero})
      %2 "below 6": s8[1, 8] (scale 0.05, zero {zero}) = RELU6 #1 (input %0)
      %5 "y": s8[1, 8] (scale 0.05, zero {zero}) = RELU #3 (input %2)
    }}
    """
    assert_rewrites(before, after, NAME)


def test_quantize_between_the_models_ends_stays() -> None:
    """An output of its own needs somebody to write it."""
    net = """
    graph "net" from "text" (%0) -> (%1) {
      %0 "x": s8[1, 8] (scale 0.05, zero 3)
      %1 "y": s8[1, 8] (scale 0.05, zero 3) = QUANTIZE #0 (input %0)
    }
    """
    assert_stays(net, NAME)


def test_dequantize_and_quantize_into_the_same_scale_vanish() -> None:
    """The way through floats and back changes none of the 256 values, once or twice."""
    before = """
    graph "net" from "text" (%0) -> (%6) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %2 "float": f32[1, 8] = DEQUANTIZE #1 (input %1)
      %3 "back": s8[1, 8] (scale 0.05, zero 4) = QUANTIZE #2 (input %2)
      %4 "float again": f32[1, 8] = DEQUANTIZE #3 (input %3)
      %5 "back again": s8[1, 8] (scale 0.05, zero 4) = QUANTIZE #4 (input %4)
      %6 "y": s8[1, 8] (scale 0.05, zero 4) = RELU #5 (input %5)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%6) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %6 "y": s8[1, 8] (scale 0.05, zero 4) = RELU #5 (input %1)
    }
    """
    assert_rewrites(before, after, NAME)


def test_dequantize_and_quantize_before_the_output_vanish() -> None:
    """What made their input makes the output."""
    before = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %2 "float": f32[1, 8] = DEQUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] (scale 0.05, zero 4) = QUANTIZE #2 (input %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %3 "y": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
    }
    """
    assert_rewrites(before, after, NAME)


def test_dequantize_and_quantize_into_another_scale_become_one() -> None:
    """Where integers round as the floats do for all of the 256 values, no float is needed."""
    before = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 0)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 0) = RELU6 #0 (input %0)
      %2 "float": f32[1, 8] = DEQUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] (scale 0.025, zero 0) = QUANTIZE #2 (input %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 0)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 0) = RELU6 #0 (input %0)
      %3 "y": s8[1, 8] (scale 0.025, zero 0) = QUANTIZE #2 (input %1)
    }
    """
    assert_rewrites(before, after, NAME)


def test_dequantize_and_quantize_that_round_like_no_quantize_stay() -> None:
    """Halfway between two numbers floats round one way, and integers another."""
    net = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %2 "float": f32[1, 8] = DEQUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] (scale 0.1, zero 4) = QUANTIZE #2 (input %2)
    }
    """
    assert_stays(net, NAME)


def test_dequantize_that_others_read_stays_for_them() -> None:
    """The QUANTIZE that reads it vanishes all the same."""
    before = """
    graph "net" from "text" (%0) -> (%2, %3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "positive": s8[1, 8] (scale 0.05, zero 4) = RELU #0 (input %0)
      %2 "float": f32[1, 8] = DEQUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] (scale 0.05, zero 4) = QUANTIZE #2 (input %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%2, %3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %3 "y": s8[1, 8] (scale 0.05, zero 4) = RELU #0 (input %0)
      %2 "float": f32[1, 8] = DEQUANTIZE #1 (input %3)
    }
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("scale 0.05001, zero 4", "scale 0.13, zero 4"),
        ("scale 0.05, zero 4", "scale 0.1, zero 4"),
    ],
    ids=["hardly finer, then coarser", "the same, then coarser"],
)
def test_changes_of_scale_in_a_row_become_one_where_all_values_agree(first: str, second: str) -> None:
    """The second one alone gives the same for each of the 256 values."""
    before = f"""
    graph "net" from "text" (%0) -> (%3) {{
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %2 "between": s8[1, 8] ({first}) = QUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] ({second}) = QUANTIZE #2 (input %2)
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%3) {{
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %3 "y": s8[1, 8] ({second}) = QUANTIZE #2 (input %1)
    }}
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("scale 0.025, zero 4", "scale 0.05, zero 4"),
        ("scale 0.1, zero 4", "scale 0.05, zero 4"),
        ("scale 0.05, zero 10", "scale 0.05, zero 7"),
        ("scale 0.1, zero 4", "scale 0.2, zero 4"),
    ],
    ids=["finer and back", "coarser and back", "cut off", "rounded twice"],
)
def test_changes_of_scale_in_a_row_stay_where_values_differ(first: str, second: str) -> None:
    """Rounding twice and cutting off at the ends keep them apart."""
    net = f"""
    graph "net" from "text" (%0) -> (%3) {{
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %2 "between": s8[1, 8] ({first}) = QUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] ({second}) = QUANTIZE #2 (input %2)
    }}
    """
    assert_stays(net, NAME)


def test_change_of_scale_that_others_read_is_not_joined() -> None:
    """It would stay, and what it reads would have to live longer."""
    net = """
    graph "net" from "text" (%0) -> (%2, %3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "below 6": s8[1, 8] (scale 0.05, zero 4) = RELU6 #0 (input %0)
      %2 "seen": s8[1, 8] (scale 0.05001, zero 4) = QUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] (scale 0.13, zero 4) = QUANTIZE #2 (input %2)
    }
    """
    assert_stays(net, NAME)


def test_quantize_into_a_wider_type_stays() -> None:
    """Only tables of s8 are compared: after the way through s16, a QUANTIZE into s16 or back is another matter."""
    net = """
    graph "net" from "text" (%0) -> (%3) {
      %0 "x": s8[1, 8] (scale 0.05, zero 4)
      %1 "wide": s16[1, 8] (scale 0.01, zero 0) = QUANTIZE #0 (input %0)
      %2 "finer": s16[1, 8] (scale 0.0001, zero 0) = QUANTIZE #1 (input %1)
      %3 "y": s8[1, 8] (scale 0.3, zero 1) = QUANTIZE #2 (input %2)
    }
    """
    assert_stays(net, NAME)
