"""Operators whose results nobody reads."""

from kibi.frontends.text import parse_text
from kibi.passes.unused import NAME, drop_unused
from tests.passes.comparison import assert_rewrites, assert_stays


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
    graph, changes = drop_unused(parse_text(before))
    assert_rewrites(before, after, NAME)
    assert drop_unused(graph) == (graph, ())
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


def test_operator_that_touches_a_variable_stays() -> None:
    """What it writes is seen in the next inference, and what it reads may have been written in this one."""
    net = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 4] (scale 0.5, zero 3)
      %1 "last": s8[1, 4] (scale 0.5, zero 3) variable
      %2 "y": s8[1, 4] (scale 0.5, zero 3) = ADD #0 (input1 %0, input2 %1)
      %3 "unread": s8[1, 4] (scale 0.5, zero 3) = RELU #1 (input %1)
      %4 "next": s8[1, 4] (scale 0.5, zero 3) updates %1 = ASSIGN_VARIABLE #2 (input %0)
    }
    """
    assert_stays(net, NAME)
