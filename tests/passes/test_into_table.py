"""Operators that compute one element from one other, as a table."""

import numpy as np
import pytest

from kibi.errors import ModelError
from kibi.frontends.text import parse_text
from kibi.ir import Graph, verify
from kibi.ir.text import graph_text, parse_graph
from kibi.ops.elementwise.lookup import Lookup
from kibi.ops.registry import operators_by_name
from kibi.passes import simplify
from tests.passes.comparison import assert_stays, check_same, only, outputs_of, runs_of

NAME = "into-table"
_ALL = np.arange(-128, 128, dtype=np.int8).reshape(1, 16, 1, 16)
_SILU = """
graph "net" from "text" (%0) -> (%2) {
  %0 "x": s8[1, 16, 1, 16] (scale 0.0625, zero 3)
  %1 "gate": s8[1, 16, 1, 16] (scale 0.00390625, zero -128) = LOGISTIC #0 (input %0)
  %2 "y": s8[1, 16, 1, 16] (scale 0.04, zero -120) = MUL #1 (input1 %0, input2 %1)
}
"""
_SWISH = """
graph "net" from "text" (%0) -> (%6) {
  %0 "x": s8[1, 16, 1, 16] (scale 0.0625, zero 3)
  %1 "three": s8[1] (scale 0.0625, zero 0) = [48]
  %2 "sixth": s8[1, 1, 1, 1] (scale 0.0625, zero 0) = [3]
  %3 "raised": s8[1, 16, 1, 16] (scale 0.0625, zero 0) = ADD #0 (input1 %0, input2 %1)
  %4 "cut": s8[1, 16, 1, 16] (scale 0.03, zero -128) = RELU6 #1 (input %3)
  %5 "product": s8[1, 16, 1, 16] (scale 0.25, zero -100) = MUL #2 (input1 %4, input2 %0)
  %6 "y": s8[1, 16, 1, 16] (scale 0.0625, zero -110) = MUL #3 (input1 %5, input2 %2)
}
"""


def _joined(text: str) -> Graph:
    """The graph after the pass, which gives the same bits; its text can be read again."""
    graph = parse_text(text, "before")
    simplified = simplify(graph, only(NAME))
    check_same(graph, simplified.graph, *runs_of(graph))
    assert {change.by for change in simplified.changes} == {NAME}
    assert parse_graph(graph_text(simplified.graph), operators_by_name()) == simplified.graph
    return simplified.graph


@pytest.mark.parametrize("text", [_SILU, _SWISH], ids=["silu", "swish"])
def test_operators_of_one_element_are_its_table(text: str) -> None:
    """All that come together: those on two inputs, those on one, those with a constant."""
    after = _joined(text)
    (node,) = after.nodes
    assert isinstance(node.op, Lookup)
    assert node.inputs == after.inputs
    wanted = outputs_of(parse_text(text), [_ALL])[0]
    assert node.op.entries == tuple(wanted.reshape(-1).tolist())


def test_change_of_scale_after_a_table_goes_into_it() -> None:
    """Both have one input; what reads both results stays."""
    after = _joined("""
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 16, 1, 16] (scale 0.0625, zero 3)
      %1 "curve": s8[1, 16, 1, 16] (scale 0.0078125, zero 0) = TANH #0 (input %0)
      %2 "wider": s8[1, 16, 1, 16] (scale 0.03, zero 7) = QUANTIZE #1 (input %1)
      %3 "half": s8[1, 8, 2, 16] (scale 0.03, zero 7) = RESHAPE #2 (input %2)
      %4 "y": s8[1, 8, 2, 16] (scale 0.04, zero -3) = RELU #3 (input %3)
    }
    """)
    assert [node.op.name for node in after.nodes] == ["LOOKUP", "RESHAPE", "RELU"]


_FLOATS = """
graph "net" from "text" (%0) -> (%6) {
  %0 "x": s8[1, 16, 1, 16] (scale 0.0625, zero 3)
  %1 "real": f32[1, 16, 1, 16] = DEQUANTIZE #0 (input %0)
  %2 "half": f32[1] = [0.5]
  %3 "gate": f32[1, 16, 1, 16] = LOGISTIC #1 (input %1)
  %4 "silu": f32[1, 16, 1, 16] = MUL #2 (input1 %1, input2 %3)
  %5 "less": f32[1, 16, 1, 16] = SUB #3 (input1 %4, input2 %2)
  %6 "y": s8[1, 16, 1, 16] (scale 0.04, zero -120) = QUANTIZE #4 (input %5)
}
"""


def test_floats_between_a_dequantize_and_a_quantize_become_a_table() -> None:
    """Also where one of them is read twice, and a constant takes part."""
    after = _joined(_FLOATS)
    (node,) = after.nodes
    assert isinstance(node.op, Lookup)
    wanted = outputs_of(parse_text(_FLOATS), [_ALL])[0]
    assert node.op.entries == tuple(wanted.reshape(-1).tolist())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-> (%6)", "-> (%4, %6)"),
        ("f32[1] = [0.5]", f"f32[16] = [{', '.join(['0.5'] * 15)}, 0.25]"),
        ("LOGISTIC #1 (input %1)", "LOG #1 (input %1)"),
        ("(%0) -> (%6)", "(%0, %2) -> (%6)"),
        ("LOGISTIC #1 (input %1)", "SOFTMAX #1 (input %1)"),
    ],
    ids=["seen", "constants-differ", "no-number", "given", "of-several"],
)
def test_floats_stay_where_a_table_cannot_replace_them(old: str, new: str) -> None:
    """Floats are an output, or depend on their place, another input or several elements; and a logarithm may have no value."""
    text = _FLOATS.replace(old, new)
    if "%2)" in new:
        text = text.replace("f32[1] = [0.5]", "f32[1]")
    assert_stays(text, NAME)


_X = '%0 "x": s8[1, 4, 1, 16] (scale 0.0625, zero 3)'
_GATE = '"gate": s8[1, 4, 1, 16] (scale 0.00390625, zero -128) = LOGISTIC #0 (input %0)'
_Y = '"y": s8[1, 4, 1, 16] (scale 0.04, zero -120)'


@pytest.mark.parametrize(
    ("ends", "lines"),
    [
        ("(%0) -> (%1, %2)", (_X, f"%1 {_GATE}", f"%2 {_Y} = MUL #1 (input1 %0, input2 %1)")),
        (
            "(%0) -> (%2, %3)",
            (
                _X,
                f"%1 {_GATE}",
                f"%2 {_Y} = MUL #1 (input1 %0, input2 %1)",
                '%3 "z": s8[1, 1, 1, 16] (scale 0.00390625, zero -128) = MAX_POOL_2D #2 (input %1) {kernel [4, 1]}',
            ),
        ),
        (
            "(%0, %1) -> (%3)",
            (_X, _X.replace("%0", "%1"), f"%2 {_GATE}", f"%3 {_Y} = MUL #1 (input1 %1, input2 %2)"),
        ),
        (
            "(%0, %1) -> (%3)",
            (
                _X.replace("4", "1"), _X.replace("%0", "%1"), f"%2 {_GATE.replace('4', '1', 1)}",
                f"%3 {_Y} = MUL #1 (input1 %1, input2 %2)",
            ),
        ),
        (
            "(%0) -> (%3)",
            (
                _X, '%1 "three": s8[1] (scale 0.0625, zero 0) = [48]',
                f"%2 {_Y.replace('y', 'more')} = ADD #0 (input1 %0, input2 %1)", f"%3 {_Y} = MUL #1 (input1 %2, input2 %1)",
            ),
        ),
    ],
    ids=["seen", "read", "two-tensors", "broadcast", "no-table"],
)  # fmt: skip
def test_operators_stay_where_no_table_can_replace_them(ends: str, lines: tuple[str, ...]) -> None:
    """The model gives what is between; a window reads it; two tensors are read; elements meet several others; no table is there."""
    assert_stays(f'graph "net" from "text" {ends} {{\n' + "\n".join(lines) + "\n}", NAME)


def test_table_of_a_variable_stays_with_its_operators() -> None:
    """A variable's value changes with time, so that it is read where it was."""
    assert_stays(
        """
        graph "net" from "text" (%0) -> (%3) {
          %0 "x": s8[1, 16, 1, 16] (scale 0.0625, zero 3)
          %1 "kept": s8[1, 16, 1, 16] (scale 0.0625, zero 3) variable
          %2 "gate": s8[1, 16, 1, 16] (scale 0.00390625, zero -128) = LOGISTIC #0 (input %1)
          %3 "y": s8[1, 16, 1, 16] (scale 0.04, zero -120) = MUL #1 (input1 %1, input2 %2)
          %4 "next": s8[1, 16, 1, 16] (scale 0.0625, zero 3) updates %1 = ASSIGN_VARIABLE #2 (input %0)
        }
        """,
        NAME,
    )


@pytest.mark.parametrize("entries", ["0", ", ".join(["0"] * 255), ", ".join(["128"] * 256)])
def test_table_has_an_entry_of_s8_for_each_element(entries: str) -> None:
    """What a text says is checked."""
    text = f"""
    graph "net" from "text" (%0) -> (%1) {{
      %0 "x": s8[1, 16] (scale 1, zero 0)
      %1 "y": s8[1, 16] (scale 1, zero 0) = LOOKUP #0 (input %0) {{entries [{entries}]}}
    }}
    """
    with pytest.raises(ModelError, match="entries"):
        verify(parse_graph(text, operators_by_name()))
