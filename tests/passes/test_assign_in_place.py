"""Values that are made in the bytes of the variable that they are assigned to."""

import numpy as np

from kibi.ir import Graph
from kibi.runtime import Interpreter
from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "assign-in-place"


def test_sum_is_made_in_the_variable_where_nobody_needs_the_old_one() -> None:
    """ADD overwrites what it reads, element by element; one change says so."""
    before = """
    graph "sums" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %1 "sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) variable initial [0, 0, 0, 0, 0, 0]
      %2 "new": s8[1, 3, 1, 2] (scale 0.5, zero 0) = ADD #0 (input1 %0, input2 %1)
      %3 "next sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) updates %1 = ASSIGN_VARIABLE #1 (input %2)
      %4 "y": s8[1, 3, 1, 2] (scale 0.5, zero 0) = ADD #2 (input1 %2, input2 %2)
    }
    """
    after = """
    graph "sums" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %1 "sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) variable initial [0, 0, 0, 0, 0, 0]
      %2 "new": s8[1, 3, 1, 2] (scale 0.5, zero 0) updates %1 = ADD #0 (input1 %0, input2 %1)
      %3 "next sum": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %4 "y": s8[1, 3, 1, 2] (scale 0.5, zero 0) = ADD #2 (input1 %2, input2 %2)
    }
    """
    rewritten = assert_rewrites(before, after, NAME)
    assert len(rewritten.changes) == 1
    assert _doubled_sums(rewritten.graph) == [2, 6, 12]


def _doubled_sums(graph: Graph) -> list[int]:
    """Returns the first element of the output for 1, 2 and 3 in successive inferences, in the default plan, which is by the row."""
    interpreter = Interpreter(graph)
    return [int(interpreter.run([np.full((1, 3, 1, 2), number, np.int8)])[0][0, 0, 0, 0]) for number in (1, 2, 3)]


def test_who_reads_the_assigned_value_reads_what_is_made_in_its_place() -> None:
    """The assignment's output vanishes with it."""
    before = """
    graph "sums" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %1 "sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) variable initial [1, 2, 3, 4, 5, 6]
      %2 "new": s8[1, 3, 1, 2] (scale 0.5, zero 0) = ADD #0 (input1 %0, input2 %1)
      %3 "next sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) updates %1 = ASSIGN_VARIABLE #1 (input %2)
      %4 "y": s8[1, 3, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %3)
    }
    """
    after = """
    graph "sums" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %1 "sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) variable initial [1, 2, 3, 4, 5, 6]
      %2 "new": s8[1, 3, 1, 2] (scale 0.5, zero 0) updates %1 = ADD #0 (input1 %0, input2 %1)
      %3 "next sum": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %4 "y": s8[1, 3, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %2)
    }
    """
    assert_rewrites(before, after, NAME)


def test_assignment_stays_where_the_old_value_is_needed_after_the_new_one() -> None:
    """The second ADD reads both: the copy waits for it."""
    net = """
    graph "sums" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %1 "sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) variable initial [0, 0, 0, 0, 0, 0]
      %2 "new": s8[1, 3, 1, 2] (scale 0.5, zero 0) = ADD #0 (input1 %0, input2 %1)
      %4 "y": s8[1, 3, 1, 2] (scale 0.5, zero 0) = ADD #2 (input1 %2, input2 %1)
      %3 "next sum": s8[1, 3, 1, 2] (scale 0.5, zero 0) updates %1 = ASSIGN_VARIABLE #1 (input %2)
    }
    """
    assert_stays(net, NAME)
