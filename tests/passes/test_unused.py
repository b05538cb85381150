"""Operators whose results nobody reads."""

from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "unused"


def test_operators_that_nobody_reads_vanish_with_what_only_they_read() -> None:
    """A chain goes from its end to its beginning, and its arithmetic and weights are counted; inputs stay."""
    before = """
    graph "net" from "text" (%0, %1) -> (%7) {
      %0 "x": s8[1, 1, 2, 2] (scale 0.5, zero 3)
      %1 "unused input": s8[1, 1, 2, 2] (scale 0.5, zero 3)
      %2 "first filter": s8[3, 1, 2, 2] (scale 0.25, zero 0) = [1, -2, 3, 4, 5, -6, 7, -8, 9, 1, 2, 3]
      %3 "second filter": s8[1, 1, 1, 3] (scale 0.25, zero 0) = [9, -8, 7]
      %4 "sums": s8[1, 1, 1, 3] (scale 0.5, zero 0) = CONV_2D #0 (input %0, filter %2)
      %5 "positive sums": s8[1, 1, 1, 3] (scale 0.5, zero 0) = RELU #1 (input %4)
      %6 "sums of sums": s8[1, 1, 1, 1] (scale 0.5, zero 0) = CONV_2D #2 (input %5, filter %3)
      %7 "y": s8[1, 1, 2, 2] (scale 0.5, zero 3) = RELU #3 (input %0)
    }
    """
    after = """
    graph "net" from "text" (%0, %1) -> (%7) {
      %0 "x": s8[1, 1, 2, 2] (scale 0.5, zero 3)
      %1 "unused input": s8[1, 1, 2, 2] (scale 0.5, zero 3)
      %7 "y": s8[1, 1, 2, 2] (scale 0.5, zero 3) = RELU #3 (input %0)
    }
    """
    changes = assert_rewrites(before, after, NAME).changes
    assert [(change.where, change.macs, change.weights_bytes) for change in changes] == [
        ("operator 2 (CONV_2D)", 3, 3),
        ("operator 1 (RELU)", 0, 0),
        ("operator 0 (CONV_2D)", 12, 12),
    ]


def test_operator_that_somebody_wants_stays() -> None:
    """Tensors that are kept are wanted, as outputs are."""
    before = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 4] (scale 0.5, zero 3)
      %1 "wanted": s8[1, 4] (scale 0.5, zero 3) = RELU6 #0 (input %0)
      %2 "y": s8[1, 4] (scale 0.5, zero 3) = RELU #1 (input %0)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 4] (scale 0.5, zero 3)
      %2 "y": s8[1, 4] (scale 0.5, zero 3) = RELU #1 (input %0)
    }
    """
    assert_rewrites(before, after, NAME)
    assert_stays(before, NAME, keep=[1])
    assert_stays(before.replace("(%2) {", "(%2, %1) {"), NAME)


def test_operator_that_writes_a_variable_stays() -> None:
    """What it does is seen in the next inference."""
    net = """
    graph "net" from "text" (%0) -> (%1) {
      %0 "x": s8[1, 4] (scale 0.5, zero 3)
      %2 "last": s8[1, 4] (scale 0.5, zero 3) variable
      %1 "y": s8[1, 4] (scale 0.5, zero 3) = ADD #0 (input1 %0, input2 %2)
      %3 "next last": s8[1, 4] (scale 0.5, zero 3) updates %2 = ASSIGN_VARIABLE #1 (input %0)
    }
    """
    assert_stays(net, NAME)
