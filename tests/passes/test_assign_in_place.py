"""Values that are made in the bytes of the variable that they are assigned to."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.runtime import Interpreter
from tests.support.tflite_builder import ModelBuilder
from tests.support.variable_models import handle

_SHAPE = [1, 3, 1, 2]


def _sums(*, old_is_needed: bool) -> Graph:
    """V ← x + v; the output is the new v, or the new one plus the old."""
    b = ModelBuilder()
    x = b.input(_SHAPE, DType.S8, 0.5, 0)
    old, new, y = (b.tensor(_SHAPE, DType.S8, 0.5, 0) for _ in range(3))
    v = handle(b, "sum")
    b.operator("READ_VARIABLE", [v], [old])
    b.operator("ADD", [x, old], [new])
    b.operator("ASSIGN_VARIABLE", [v, new], [])
    b.operator("ADD", [new, old if old_is_needed else new], [y])
    return parse_tflite(b.finish([y]), "sums.tflite")


def _runs(graph: Graph) -> list[int]:
    interpreter = Interpreter(graph)
    return [int(interpreter.run([np.full(_SHAPE, number, np.int8)])[0][0, 0, 0, 0]) for number in (1, 2, 3)]


def test_sum_is_made_in_the_variable_where_nobody_needs_the_old_one() -> None:
    """ADD overwrites what it reads, element by element; one change says so."""
    before = _sums(old_is_needed=False)
    after = simplify(before)
    assert [node.op.name for node in after.graph.nodes] == ["ADD", "ADD"]
    assert [change.by for change in after.changes] == ["assign-in-place"]
    assert _runs(after.graph) == _runs(before) == [2, 6, 12]


def test_assignment_stays_where_the_old_value_is_needed_behind_the_new_one() -> None:
    """The second ADD reads both: the copy waits for it."""
    before = _sums(old_is_needed=True)
    after = simplify(before)
    assert [node.op.name for node in after.graph.nodes] == ["ADD", "ADD", "ASSIGN_VARIABLE"]
    assert after.changes == ()
    assert _runs(after.graph) == [1, 4, 9]
