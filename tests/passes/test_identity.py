"""Operators that give back what they are given."""

import pytest

from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "identity"


@pytest.mark.parametrize(
    ("constant", "operator"),
    [
        ('%3 "zeros": s8[2] (scale 0.0625, zero 0) = [0, 0]', "ADD #1 (input1 %1, input2 %3)"),
        ('%3 "zeros": s8[2] (scale 0.25, zero -7) = [-7, -7]', "ADD #1 (input1 %1, input2 %3)"),
        ('%3 "ones": s8[2] (scale 1.0, zero 0) = [1, 1]', "MUL #1 (input1 %1, input2 %3)"),
        ('%3 "ones": s8[2] (scale 0.5, zero 3) = [5, 5]', "MUL #1 (input1 %1, input2 %3)"),
        ('%3 "nothing": s32[4, 2] = [0, 0, 0, 0, 0, 0, 0, 0]', "PAD #1 (input %1, paddings %3)"),
        ("", "MAX_POOL_2D #1 (input %1) {kernel [1, 1]}"),
        ("", "AVERAGE_POOL_2D #1 (input %1) {kernel [1, 1], padding SAME}"),
    ],
    ids=["add 0", "add zero points", "times 1", "times 2 halves", "pad", "max", "average"],
)
def test_operator_that_changes_nothing_vanishes(constant: str, operator: str) -> None:
    """Its producer makes the model's output."""
    before = f"""
    graph "net" from "text" (%0) -> (%2) {{
      %0 "x": s8[1, 2, 3, 2] (scale 0.0625, zero 4)
      {constant}
      %1 "clamped": s8[1, 2, 3, 2] (scale 0.0625, zero 4) = RELU6 #0 (input %0)
      %2 "y": s8[1, 2, 3, 2] (scale 0.0625, zero 4) = {operator}
    }}
    """
    after = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 2, 3, 2] (scale 0.0625, zero 4)
      %2 "y": s8[1, 2, 3, 2] (scale 0.0625, zero 4) = RELU6 #0 (input %0)
    }
    """
    assert_rewrites(before, after, NAME)


def test_relu_of_a_tensor_without_negative_numbers_vanishes() -> None:
    """At the zero point -128 no number is below 0; who read its output reads its input."""
    before = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 6] (scale 0.0625, zero -128)
      %1 "positive": s8[1, 6] (scale 0.0625, zero -128) = RELU #0 (input %0)
      %2 "y": s8[1, 6] (scale 0.0625, zero -128) = RELU6 #1 (input %1)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 6] (scale 0.0625, zero -128)
      %2 "y": s8[1, 6] (scale 0.0625, zero -128) = RELU6 #1 (input %0)
    }
    """
    assert_rewrites(before, after, NAME)


@pytest.mark.parametrize(
    ("shape", "constant", "operator"),
    [
        ("[1, 2, 3, 2]", '%3 "ends": s8[2] (scale 0.0625, zero 0) = [0, 1]', "ADD #1 (input1 %1, input2 %3)"),
        ("[1, 2, 3, 2]", '%3 "twos": s8[2] (scale 0.0625, zero -2) = [0, 0]', "ADD #1 (input1 %1, input2 %3)"),
        ("[1, 2, 3, 2]", '%3 "ends": s8[2] (scale 1.0, zero 0) = [1, 2]', "MUL #1 (input1 %1, input2 %3)"),
        (
            "[1, 2, 3, 2]",
            '%3 "zeros": s8[2] (scale 0.0625, zero 0) = [0, 0]',
            "ADD #1 (input1 %1, input2 %3) {activation RELU}",
        ),
        ("[1, 1, 2, 2]", "", "MAX_POOL_2D #1 (input %1) {kernel [1, 1], stride [2, 2]}"),
        ("[1, 2, 3, 2]", "", "MAX_POOL_2D #1 (input %1) {kernel [1, 1], activation RELU}"),
        ("[1, 3, 3, 2]", '%3 "border": s32[4, 2] = [0, 0, 0, 1, 0, 0, 0, 0]', "PAD #1 (input %1, paddings %3)"),
    ],
    ids=["one channel", "twos", "times 2", "relu", "every second", "clamps", "pads"],
)
def test_operator_that_changes_something_stays(shape: str, constant: str, operator: str) -> None:
    """A zero that is no zero point is a number; one channel is enough, and so is a clamp."""
    net = f"""
    graph "net" from "text" (%0) -> (%2) {{
      %0 "x": s8[1, 2, 3, 2] (scale 0.0625, zero 4)
      {constant}
      %1 "clamped": s8[1, 2, 3, 2] (scale 0.0625, zero 4) = RELU6 #0 (input %0)
      %2 "y": s8{shape} (scale 0.0625, zero 4) = {operator}
    }}
    """
    assert_stays(net, NAME)
