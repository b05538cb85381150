"""Pointwise convolutions on shortcuts that leave out pixels."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.cli.options.models import simplified_model
from kibi.frontends.text import parse_text
from kibi.passes import simplify
from tests.ops.comparison import graph_of
from tests.passes.comparison import assert_rewrites, assert_stays
from tests.passes.networks import Chain

NAME = "shortcut-pixels"
_WEIGHTS = ", ".join(str(k % 7 - 3) for k in range(36))
_BEFORE = f"""
graph "block" from "text" (%0) -> (%5) {{
  %0 "x": s8[1, 5, 4, 1] (scale 0.5, zero -3)
  %1 "window": s8[4, 3, 3, 1] (scale 0.25, zero 0) = [{_WEIGHTS}]
  %2 "narrow": s8[4, 1, 1, 1] (scale 0.25, zero 0) = [1, -2, 3, 4]
  %3 "long": s8[1, 3, 2, 4] (scale 1, zero 1) = CONV_2D #0 (input %0, filter %1) {{padding SAME, stride [2, 2]}}
  %4 "short": s8[1, 3, 2, 4] (scale 1, zero 1) = CONV_2D #1 (input %0, filter %2) {{padding SAME, stride [2, 2]}}
  %5 "y": s8[1, 3, 2, 4] (scale 2, zero 0) = ADD #2 (input1 %3, input2 %4)
}}
"""


def test_pixels_are_copied_where_the_output_waits() -> None:
    """Those of every second row and column; the convolution reads all of them."""
    after = f"""
    graph "block" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 5, 4, 1] (scale 0.5, zero -3)
      %1 "window": s8[4, 3, 3, 1] (scale 0.25, zero 0) = [{_WEIGHTS}]
      %2 "narrow": s8[4, 1, 1, 1] (scale 0.25, zero 0) = [1, -2, 3, 4]
      %6 "first pixel": s32[4] = [0, 0, 0, 0]
      %7 "end of pixels": s32[4] = [1, 5, 4, 1]
      %8 "distances of pixels": s32[4] = [1, 2, 2, 1]
      %3 "long": s8[1, 3, 2, 4] (scale 1, zero 1) = CONV_2D #0 (input %0, filter %1) {{padding SAME, stride [2, 2]}}
      %9 "x, pixels used": s8[1, 3, 2, 1] (scale 0.5, zero -3) = STRIDED_SLICE #1 (input %0, begin %6, end %7, strides %8)
      %4 "short": s8[1, 3, 2, 4] (scale 1, zero 1) = CONV_2D #1 (input %9, filter %2) {{padding SAME}}
      %5 "y": s8[1, 3, 2, 4] (scale 2, zero 0) = ADD #2 (input1 %3, input2 %4)
    }}
    """
    changes = assert_rewrites(_BEFORE, after, NAME).changes
    assert [(change.macs, change.weights_bytes) for change in changes] == [(0, -48)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-> (%5)", "-> (%5, %4)"),
        ("(input1 %3, input2 %4)", "(input1 %4, input2 %4)"),
        ("(input %0, filter %1) {padding SAME, stride [2, 2]}", "(input %0, filter %2) {padding SAME, stride [2, 2]}"),
        ("stride [2, 2]", "stride [1, 1]"),
        ("ADD #2 (input1 %3, input2 %4)", "ADD #2 (input1 %4, input2 %7)"),
    ],
    ids=["an output is seen", "no other branch", "the branch reads one row", "all pixels are used", "another source"],
)
def test_convolutions_stay_where_nothing_waits(old: str, new: str) -> None:
    """Only a longer branch from the same tensor lets rows of the shortcut wait."""
    changed = _BEFORE.replace(old, new)
    if "1, 1" in new:
        changed = changed.replace("s8[1, 3, 2, 4]", "s8[1, 5, 4, 4]")
    if "%7" in new:
        added = """%6 "z": s8[1, 5, 4, 1] (scale 0.5, zero -3)
  %7 "other": s8[1, 3, 2, 4] (scale 1, zero 1) = CONV_2D #0 (input %6, filter %1) {padding SAME, stride [2, 2]}
  """
        changed = changed.replace("(%0) ->", "(%0, %6) ->").replace('%5 "y"', added + '%5 "y"')
    assert changed != _BEFORE
    assert_stays(changed, NAME)


def test_convolutions_stay_where_pixels_are_no_smaller() -> None:
    """An output less than twice as large as the pixels waits itself."""
    wide = ", ".join(["1"] * 3)
    text = f"""
    graph "block" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 4, 4, 1] (scale 0.5, zero -3)
      %1 "window": s8[1, 3, 3, 1] (scale 0.25, zero 0) = [{", ".join([wide] * 3)}]
      %2 "narrow": s8[1, 1, 1, 1] (scale 0.25, zero 0) = [5]
      %3 "long": s8[1, 2, 2, 1] (scale 1, zero 1) = CONV_2D #0 (input %0, filter %1) {{padding SAME, stride [2, 2]}}
      %4 "short": s8[1, 2, 2, 1] (scale 1, zero 1) = CONV_2D #1 (input %0, filter %2) {{padding SAME, stride [2, 2]}}
      %5 "y": s8[1, 2, 2, 1] (scale 2, zero 0) = ADD #2 (input1 %3, input2 %4)
    }}
    """
    assert_stays(text, NAME)


def _residual(path: Path) -> Chain:
    """A residual block that halves its rows, on a picture of 16 rows."""
    net = Chain((1, 16, 16, 8))
    before = net.last
    net.conv(16, (3, 3), "SAME", 2).conv(16, (3, 3), "SAME")
    long = net.last
    net.made.append(before)
    net.conv(16, (1, 1), "SAME", 2).then("ADD", long.shape, (0.7, 1), long.index)
    path.write_bytes(net.case().model)
    return net


def test_a_residual_block_takes_less_ram_with_the_same_bits(tmp_path: Path) -> None:
    """By half of each row of the shortcut that waits; the bits are those of the device and of TFLM."""
    path = tmp_path / "block.tflite"
    _residual(path)
    arenas = []
    for without in ((), (NAME,)):
        graph = kibi.simplify(kibi.load(path), without)
        plan = kibi.plan(graph, target="cortex-m0plus")
        arenas.append(plan.arena_bytes)
        assert kibi.measure(kibi.compile(graph, plan, tmp_path / "c")).bit_exact
    assert arenas[0] <= arenas[1] - 64


@pytest.mark.parametrize("goal", ["speed", "flash"])
def test_other_goals_copy_nothing(goal: str, tmp_path: Path) -> None:
    """A copy takes code and instructions; that it was left out is recorded, as if somebody had asked for it."""
    net = _residual(tmp_path / "block.tflite")
    made = simplify(graph_of(net.case()), goal=goal)
    assert NAME not in {change.by for change in made.changes}
    assert made.without == (NAME,)


def test_saved_plans_say_whether_the_pass_ran(tmp_path: Path) -> None:
    """A plan made without it, as by an earlier version, is followed."""
    path = tmp_path / "block.tflite"
    _residual(path)
    for without in ((), (NAME,)):
        graph = kibi.simplify(kibi.load(path), without)
        plan = kibi.plan(graph, target="cortex-m4")
        assert len(simplified_model(path, None, plan=plan).graph.nodes) == len(graph.nodes)


def test_floats_are_copied_as_they_are() -> None:
    """A sum of one product is the same, whichever pixels are beside it."""
    text = _BEFORE.replace("s8[", "f32[")
    for each in (" (scale 0.5, zero -3)", " (scale 0.25, zero 0)", " (scale 1, zero 1)", " (scale 2, zero 0)"):
        text = text.replace(each, "")
    graph = parse_text(text, "floats")
    after = simplify(graph).graph
    assert [node.op.name for node in after.nodes] == ["CONV_2D", "STRIDED_SLICE", "CONV_2D", "ADD"]
    given = np.arange(20, dtype=np.float32).reshape(1, 5, 4, 1) / 7
    outputs = [kibi.run(each, kibi.plan(each), [given])[0] for each in (graph, after)]
    assert outputs[0].tobytes() == outputs[1].tobytes()
