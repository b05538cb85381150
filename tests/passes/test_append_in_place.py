"""Variables to which rows are appended, and which keep the last ones."""

import re

import numpy as np
import pytest

import kibi
from kibi.frontends.text import parse_text
from kibi.passes import simplify
from kibi.planner import Granularity, plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from tests.docs.documents import DOCS
from tests.passes.comparison import assert_rewrites, assert_stays, only
from tests.support import zoo

NAME = "append-in-place"

_BEFORE = """
graph "stream" from "text" (%0) -> (%4) {
  %0 "x": s8[1, 1, 1, 2] (scale 0.5, zero 0)
  %1 "past": s8[1, 4, 1, 2] (scale 0.5, zero 0) variable initial [1, 2, 3, 4, 5, 6, 7, 8]
  %5 "begin": s32[4] = [0, 1, 0, 0]
  %6 "size": s32[4] = [1, 4, 1, 2]
  %2 "both": s8[1, 5, 1, 2] (scale 0.5, zero 0) = CONCATENATION #0 (input0 %1, input1 %0) {axis 1}
  %3 "next": s8[1, 4, 1, 2] (scale 0.5, zero 0) updates %1 = SLICE #1 (input %2, begin %5, size %6)
  %4 "y": s8[1, 5, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %2)
}
"""


def test_variable_moves_along_in_its_own_bytes() -> None:
    """It has room for the new row; what was there before the first rows is never read, so its value does not matter."""
    after = """
    graph "stream" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 1, 1, 2] (scale 0.5, zero 0)
      %1 "past": s8[1, 5, 1, 2] (scale 0.5, zero 0) variable initial [1, 1, 1, 2, 3, 4, 5, 6, 7, 8]
      %3 "next": s8[1, 4, 1, 2] (scale 0.5, zero 0)
      %2 "both": s8[1, 5, 1, 2] (scale 0.5, zero 0) updates %1 = CONCATENATION #0 (input0 %1, input1 %0) {axis 1, skip 1}
      %4 "y": s8[1, 5, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %2)
    }
    """
    assert_rewrites(_BEFORE, after, NAME)


def test_variable_moves_along_by_as_many_rows_as_are_new() -> None:
    """Two rows in each inference: the outputs are those of the model before, one inference after another."""
    text = (
        _BEFORE.replace("s8[1, 1, 1, 2]", "s8[1, 2, 1, 2]")
        .replace("s8[1, 5, 1, 2]", "s8[1, 6, 1, 2]")
        .replace("[0, 1, 0, 0]", "[0, 2, 0, 0]")
    )
    graph = parse_text(text, "stream")
    after = simplify(graph, only(NAME)).graph
    assert [node.op.name for node in after.nodes] == ["CONCATENATION", "RELU"]
    runners = [Interpreter(each, plan(each, target("host"))) for each in (graph, after)]
    for step in range(4):
        rows = np.arange(4 * step + 1, 4 * step + 5, dtype=np.int8).reshape(1, 2, 1, 2)
        before, found = (runner.run([rows])[0] for runner in runners)
        assert before.tobytes() == found.tobytes()


@pytest.mark.parametrize("granularity", list(Granularity))
def test_rows_that_are_appended_take_no_bytes_of_the_arena(granularity: Granularity) -> None:
    """The arena holds a row of the input or of the output; before, it held all three rows, too few to add them up."""
    text = _BEFORE.replace(
        '"y": s8[1, 5, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %2)',
        '"y": s8[1, 1, 1, 2] (scale 0.5, zero 0) = AVERAGE_POOL_2D #2 (input %2) {kernel [3, 1], stride [3, 1]}',
    )
    for old, new in (("1, 4, 1, 2]", "1, 2, 1, 2]"), ("1, 5, 1, 2]", "1, 3, 1, 2]"), ("3, 4, 5, 6, 7, 8]", "3, 4]")):
        text = text.replace(old, new)
    graph = parse_text(text, "stream")
    sizes = []
    for each in (graph, simplify(graph, only(NAME)).graph):
        made = plan(each, target("cortex-m4"), granularity=granularity)
        validate(each, made)
        sizes.append(made.arena_bytes)
    assert sizes == [6, 2]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[0, 1, 0, 0]", "[0, 0, 0, 0]"),
        ("(%0) -> (%4)", "(%0) -> (%4, %2)"),
        ("RELU #2 (input %2)", "CONCATENATION #2 (input0 %3, input1 %0) {axis 1}"),
    ],
    ids=[
        "the first rows are kept",
        "all rows are an output",
        "the kept rows are read",
    ],
)
def test_rows_stay_where_more_is_seen_of_them(old: str, new: str) -> None:
    """The variable holds the last rows alone at the end of an inference."""
    changed = _BEFORE.replace(old, new)
    assert changed != _BEFORE
    assert_stays(changed, NAME)


def test_rows_stay_where_the_variable_is_read_besides() -> None:
    """Its old rows would be elsewhere."""
    lines = _BEFORE.splitlines()
    reader = '  %7 "z": s8[1, 4, 1, 2] (scale 0.5, zero 0) = RELU #3 (input %1)'
    changed = "\n".join([*lines[:6], reader, *lines[6:]]).replace("(%0) -> (%4)", "(%0) -> (%4, %7)")
    assert_stays(changed, NAME)


def test_rows_stay_where_most_of_them_are_new() -> None:
    """Then a larger state would save few copies."""
    text = _BEFORE.replace("[1, 4, 1, 2]", "[1, 1, 1, 2]").replace("[1, 5, 1, 2]", "[1, 2, 1, 2]")
    assert_stays(text.replace("[1, 2, 3, 4, 5, 6, 7, 8]", "[1, 2]"), NAME)


_SHIFTED = """
graph "stream" from "text" (%0) -> (%4) {
  %0 "x": s8[1, 1, 1, 2] (scale 0.5, zero 0)
  %1 "past": s8[1, 4, 1, 2] (scale 0.5, zero 0) variable initial [1, 2, 3, 4, 5, 6, 7, 8]
  %5 "begin": s32[4] = [0, 1, 0, 0]
  %6 "size": s32[4] = [1, 3, 1, 2]
  %2 "kept": s8[1, 3, 1, 2] (scale 0.5, zero 0) = SLICE #0 (input %1, begin %5, size %6)
  %3 "next": s8[1, 4, 1, 2] (scale 0.5, zero 0) updates %1 = CONCATENATION #1 (input0 %2, input1 %0) {axis 1}
  %4 "y": s8[1, 4, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %3)
}
"""
"""The variable loses its first row before the new one is appended."""


def test_variable_that_loses_its_first_rows_before_moves_along_in_its_own_bytes() -> None:
    """No copy of the rows that stay is made elsewhere, and the variable is no larger."""
    after = """
    graph "stream" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 1, 1, 2] (scale 0.5, zero 0)
      %1 "past": s8[1, 4, 1, 2] (scale 0.5, zero 0) variable initial [1, 2, 3, 4, 5, 6, 7, 8]
      %2 "kept": s8[1, 3, 1, 2] (scale 0.5, zero 0)
      %3 "next": s8[1, 4, 1, 2] (scale 0.5, zero 0) updates %1 = CONCATENATION #1 (input0 %1, input1 %0) {axis 1, skip 1}
      %4 "y": s8[1, 4, 1, 2] (scale 0.5, zero 0) = RELU #2 (input %3)
    }
    """
    assert_rewrites(_SHIFTED, after, NAME)


_KEPT_IS_READ = '  %7 "z": s8[1, 3, 1, 2] (scale 0.5, zero 0) = RELU #3 (input %2)'
_PAST_IS_READ = '  %7 "z": s8[1, 4, 1, 2] (scale 0.5, zero 0) = RELU #3 (input %1)'


@pytest.mark.parametrize(
    ("old", "new", "reader"),
    [
        ("[0, 1, 0, 0]", "[0, 0, 0, 0]", ""),
        ("input0 %2, input1 %0", "input0 %0, input1 %2", ""),
        ("(%0) -> (%4)", "(%0) -> (%4, %7)", _KEPT_IS_READ),
        ("(%0) -> (%4)", "(%0) -> (%4, %7)", _PAST_IS_READ),
        ("(%0) -> (%4)", "(%0) -> (%4, %2)", ""),
    ],
    ids=[
        "the first rows are kept",
        "new rows come first",
        "the kept rows are read",
        "the variable is read",
        "kept rows are an output",
    ],
)
def test_rows_are_copied_where_more_is_seen_of_those_before(old: str, new: str, reader: str) -> None:
    """They would be elsewhere, or be overwritten before they are read."""
    changed = _SHIFTED.replace(old, new)
    assert changed != _SHIFTED
    lines = changed.splitlines()
    place = 8 if reader == _KEPT_IS_READ else 7
    assert_stays("\n".join([*lines[:place], *([reader] if reader else []), *lines[place:]]), NAME)


@zoo.requires_zoo
def test_wake_word_takes_as_many_bytes_as_the_page_says() -> None:
    """Of arena and state, with the pass and without."""
    model, found = kibi.load(zoo.catalog()["mww_v2_okay_nabu"].path), list[int]()
    for without in ((), (NAME,)):
        graph = kibi.simplify(model, without=without)
        made = kibi.plan(graph, target="cortex-m4")
        found += [made.arena_bytes, Interpreter(graph, made).state_bytes]
    page = (DOCS / "state.md").read_text("utf-8")
    told = re.search(
        r"takes ([\d,]+) bytes\s+of arena and ([\d,]+) of state, where it took ([\d,]+) and ([\d,]+)\.", page
    )
    assert told is not None
    assert found == [int(each.replace(",", "")) for each in told.groups()]
