"""Depthwise convolutions of some channels each, whose outputs are laid side by side."""

import pytest

from kibi.frontends.text import parse_text
from kibi.passes import simplify
from tests.passes.comparison import assert_rewrites, assert_stays

NAME = "join-depthwise"

_BEFORE = """
graph "mix" from "text" (%0) -> (%9) {
  %0 "x": s8[1, 4, 1, 3] (scale 0.5, zero -3)
  %1 "axis": s32[1] = [3]
  %2 "sizes": s32[2] = [2, 1]
  %3 "begin": s32[4] = [0, 2, 0, 0]
  %4 "size": s32[4] = [1, 2, 1, 2]
  %5 "short": s8[1, 2, 1, 2] (scale 0.25, zero 0) = [1, 2, 3, 4]
  %6 "first bias": s32[2] (scale 0.125, zero 0) = [10, 20]
  %7 "long": s8[1, 4, 1, 1] (scale 0.5, zero 0) = [5, 6, 7, 8]
  %8 "second bias": s32[1] (scale 0.25, zero 0) = [30]
  %10 "two": s8[1, 4, 1, 2] (scale 0.5, zero -3) = SPLIT_V #0 (input %0, sizes %2, axis %1) {part 0, parts 2}
  %11 "one": s8[1, 4, 1, 1] (scale 0.5, zero -3) = SPLIT_V #0 (input %0, sizes %2, axis %1) {part 1, parts 2}
  %12 "last": s8[1, 2, 1, 2] (scale 0.5, zero -3) = SLICE #1 (input %10, begin %3, size %4)
  %13 "a": s8[1, 1, 1, 2] (scale 1, zero 1) = DEPTHWISE_CONV_2D #2 (input %12, filter %5, bias %6)
  %14 "b": s8[1, 1, 1, 1] (scale 1, zero 1) = DEPTHWISE_CONV_2D #3 (input %11, filter %7, bias %8)
  %9 "y": s8[1, 1, 1, 3] (scale 1, zero 1) = CONCATENATION #4 (input0 %13, input1 %14) {axis 3}
}
"""


def test_convolutions_of_parts_become_one() -> None:
    """The shorter filter begins where its slice begins: taps of zero are before it. Its channels keep their scales."""
    after = """
    graph "mix" from "text" (%0) -> (%9) {
      %0 "x": s8[1, 4, 1, 3] (scale 0.5, zero -3)
      %1 "axis": s32[1] = [3]
      %2 "sizes": s32[2] = [2, 1]
      %3 "begin": s32[4] = [0, 2, 0, 0]
      %4 "size": s32[4] = [1, 2, 1, 2]
      %13 "a": s8[1, 1, 1, 2] (scale 1, zero 1)
      %14 "b": s8[1, 1, 1, 1] (scale 1, zero 1)
      %15 "short and others": s8[1, 4, 1, 3] (scales [0.25, 0.25, 0.5], zeros [0, 0, 0], axis 3) = [
        0, 0, 5, 0, 0, 6, 1, 2, 7, 3, 4, 8]
      %16 "first bias and others": s32[3] (scales [0.125, 0.125, 0.25], zeros [0, 0, 0]) = [10, 20, 30]
      %10 "two": s8[1, 4, 1, 2] (scale 0.5, zero -3) = SPLIT_V #0 (input %0, sizes %2, axis %1) {parts 2}
      %11 "one": s8[1, 4, 1, 1] (scale 0.5, zero -3) = SPLIT_V #0 (input %0, sizes %2, axis %1) {part 1, parts 2}
      %12 "last": s8[1, 2, 1, 2] (scale 0.5, zero -3) = SLICE #1 (input %10, begin %3, size %4)
      %9 "y": s8[1, 1, 1, 3] (scale 1, zero 1) = DEPTHWISE_CONV_2D #2 (input %0, filter %15, bias %16)
    }
    """
    changes = assert_rewrites(_BEFORE, after, NAME).changes
    assert [(change.macs, change.weights_bytes) for change in changes] == [(-4, -4)]


def test_what_the_slices_copied_is_left_out_by_other_passes() -> None:
    """One operator is left of six."""
    simplified = simplify(parse_text(_BEFORE, "mix"))
    assert [node.op.name for node in simplified.graph.nodes] == ["DEPTHWISE_CONV_2D"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(input %11, filter %7, bias %8)", "(input %11, filter %7, bias %8) {activation RELU}"),
        ("(input0 %13, input1 %14)", "(input0 %14, input1 %13)"),
        ("-> (%9)", "-> (%9, %14)"),
        ("{part 1, parts 2}", "{part 1, parts 3}"),
        ("(input %11, filter %7, bias %8)", "(input %11, filter %7)"),
    ],
    ids=[
        "activations differ",
        "channels change places",
        "an output is seen",
        "a channel is not read",
        "one has no bias",
    ],
)
def test_convolutions_stay_where_they_differ_in_more_than_taps(old: str, new: str) -> None:
    """One operator has one activation and all channels in order, and makes one tensor."""
    changed = _BEFORE.replace(old, new)
    if "parts 3" in new:
        changed = changed.replace("s8[1, 4, 1, 3] (scale 0.5, zero -3)", "s8[1, 4, 1, 4] (scale 0.5, zero -3)")
        changed = changed.replace("s32[2] = [2, 1]", "s32[3] = [2, 1, 1]").replace(
            "{part 0, parts 2}", "{part 0, parts 3}"
        )
    assert changed != _BEFORE
    assert_stays(changed, NAME)


def test_convolutions_stay_where_zeros_cost_more_than_copies() -> None:
    """A long window beside a short one: 63 taps of zero for each of 62 channels, which copy one row less."""
    long, short = ", ".join(["1"] * 64), ", ".join(["1"] * 62)
    text = f"""
    graph "mix" from "text" (%0) -> (%9) {{
      %0 "x": s8[1, 64, 1, 63] (scale 0.5, zero -3)
      %1 "first": s32[4] = [0, 63, 0, 0]
      %2 "size": s32[4] = [1, 1, 1, 62]
      %3 "last": s32[4] = [0, 0, 0, 62]
      %4 "channel": s32[4] = [1, 64, 1, 1]
      %5 "short": s8[1, 1, 1, 62] (scale 0.25, zero 0) = [{short}]
      %6 "first bias": s32[62] (scale 0.125, zero 0) = [{short}]
      %7 "long": s8[1, 64, 1, 1] (scale 0.5, zero 0) = [{long}]
      %8 "second bias": s32[1] (scale 0.25, zero 0) = [30]
      %10 "many": s8[1, 1, 1, 62] (scale 0.5, zero -3) = SLICE #0 (input %0, begin %1, size %2)
      %11 "one": s8[1, 64, 1, 1] (scale 0.5, zero -3) = SLICE #1 (input %0, begin %3, size %4)
      %12 "a": s8[1, 1, 1, 62] (scale 1, zero 1) = DEPTHWISE_CONV_2D #2 (input %10, filter %5, bias %6)
      %13 "b": s8[1, 1, 1, 1] (scale 1, zero 1) = DEPTHWISE_CONV_2D #3 (input %11, filter %7, bias %8)
      %9 "y": s8[1, 1, 1, 63] (scale 1, zero 1) = CONCATENATION #4 (input0 %12, input1 %13) {{axis 3}}
    }}
    """
    assert_stays(text, NAME)
