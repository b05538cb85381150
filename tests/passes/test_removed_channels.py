"""Which channels the pass `constant-channels` removes, and what becomes of their weights."""

import pytest

from kibi.frontends.text import parse_text
from kibi.passes.constant_channels.pass_ import Folding, fold_constant_channels
from kibi.passes.constant_channels.reasons import NAME
from tests.passes.comparison import assert_rewrites, assert_stays


def test_zero_filters_go_with_what_reads_them() -> None:
    """A channel with only zero weights goes: from its layer, the depthwise one that reads it, and the next one's inputs."""
    before = """
    graph "net" from "text" (%0) -> (%7) {
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 0)
      %1 "first": s8[3, 1, 1, 2] (scale 0.125, zero 0) = [9, -8, 0, 0, 7, 6]
      %2 "second": s8[1, 1, 2, 3] (scale 0.125, zero 0) = [1, 2, 3, 4, -5, 6]
      %3 "bias": s32[3] (scale 0.0078125, zero 0) = [9, 9, 9]
      %4 "third": s8[2, 1, 1, 3] (scale 0.125, zero 0) = [7, 8, 9, -10, 11, 12]
      %5 "a": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %6 "b": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = DEPTHWISE_CONV_2D #1 (input %5, filter %2, bias %3) {padding SAME}
      %7 "y": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #2 (input %6, filter %4)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%7) {
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 2] (scale 0.125, zero 0) = [9, -8, 7, 6]
      %2 "second": s8[1, 1, 2, 2] (scale 0.125, zero 0) = [1, 3, 4, 6]
      %3 "bias": s32[2] (scale 0.0078125, zero 0) = [9, 9]
      %4 "third": s8[2, 1, 1, 2] (scale 0.125, zero 0) = [7, 9, -10, 12]
      %8 "y/bias": s32[2] (scale 0.0078125, zero 0) = [8, 11]
      %5 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %6 "b": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = DEPTHWISE_CONV_2D #1 (input %5, filter %2, bias %3) {padding SAME}
      %7 "y": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #2 (input %6, filter %4, bias %8)
    }
    """
    graph, folded = parse_text(before), assert_rewrites(before, after, NAME)
    assert folded.graph.macs == graph.macs - 4 * (2 + 2 + 2)
    assert sum(change.macs for change in folded.changes) == graph.macs - folded.graph.macs
    assert sum(change.weights_bytes for change in folded.changes) == graph.weights_bytes - folded.graph.weights_bytes


@pytest.mark.parametrize(("bias", "value", "added"), [(100_000, 127, "[889, -1270]"), (-100_000, -128, "[-896, 1280]")])
def test_clamped_channel_is_folded_into_the_bias(bias: int, value: int, added: str) -> None:
    """A channel that a large bias keeps at the end of the range goes, and what it added is in the next bias."""
    before = f"""
    graph "net" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 0)
      %1 "first": s8[3, 1, 1, 2] (scale 0.125, zero 0) = [90, -80, 1, 2, 7, 6]
      %2 "bias": s32[3] (scale 0.0078125, zero 0) = [{bias}, 0, 5]
      %3 "second": s8[2, 1, 1, 3] (scale 0.125, zero 0) = [7, 8, 9, -10, 11, 12]
      %4 "a": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %5 "y": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3)
    }}
    """
    after = f"""
    graph "net" from "text" (%0) -> (%5) {{
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 2] (scale 0.125, zero 0) = [1, 2, 7, 6]
      %2 "bias": s32[2] (scale 0.0078125, zero 0) = [0, 5]
      %3 "second": s8[2, 1, 1, 2] (scale 0.125, zero 0) = [8, 9, 11, 12]
      %6 "y/bias": s32[2] (scale 0.0078125, zero 0) = {added}
      %4 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %5 "y": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3, bias %6)
    }}
    """
    first, second = assert_rewrites(before, after, NAME).changes
    assert f"1 always clamped at {value}; channel 0" in first.what
    assert "1 constant, and folded into the bias" in second.what


_PADDED = """
graph "net" from "text" (%0) -> (%5) {
  %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
  %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [90, -80]
  %2 "bias": s32[2] (scale 0.0078125, zero 0) = [100000, 5]
  %3 "second": s8[1, 1, 2, 2] (scale 0.125, zero 0) = [7, 8, -9, 10]
  %4 "a": s8[1, 2, 2, 2] (scale 0.0625, zero ZERO) = CONV_2D #0 (input %0, filter %1, bias %2)
  %5 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3) {padding SAME}
}
"""


def test_constant_off_the_zero_point_stays_under_a_padded_window() -> None:
    """What a constant adds at the border differs from what it adds inside, so it stays; at the zero point it goes."""
    assert_stays(_PADDED.replace("ZERO", "0"), NAME)
    after = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [-80]
      %2 "bias": s32[1] (scale 0.0078125, zero 0) = [5]
      %3 "second": s8[1, 1, 2, 1] (scale 0.125, zero 0) = [8, 10]
      %4 "a": s8[1, 2, 2, 1] (scale 0.0625, zero 127) = CONV_2D #0 (input %0, filter %1, bias %2)
      %5 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3) {padding SAME}
    }
    """
    assert_rewrites(_PADDED.replace("ZERO", "127"), after, NAME)


def test_constant_off_the_zero_point_goes_where_the_border_does_not_show() -> None:
    """Where a later clamp hides what happens at the border, the channel goes after all."""
    before = """
    graph "net" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [90, -80]
      %2 "first bias": s32[2] (scale 0.0078125, zero 0) = [100000, 5]
      %3 "second": s8[1, 1, 2, 2] (scale 0.125, zero 0) = [7, 8, -9, 10]
      %4 "second bias": s32[2] (scale 0.0078125, zero 0) = [-100000, 0]
      %5 "third": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [7, 8]
      %6 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %7 "b": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = DEPTHWISE_CONV_2D #1 (input %6, filter %3, bias %4) {padding SAME}
      %8 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #2 (input %7, filter %5)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [-80]
      %2 "first bias": s32[1] (scale 0.0078125, zero 0) = [5]
      %3 "second": s8[1, 1, 2, 1] (scale 0.125, zero 0) = [8, 10]
      %4 "second bias": s32[1] (scale 0.0078125, zero 0) = [0]
      %5 "third": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [8]
      %9 "y/bias": s32[1] (scale 0.0078125, zero 0) = [-896]
      %6 "a": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %7 "b": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = DEPTHWISE_CONV_2D #1 (input %6, filter %3, bias %4) {padding SAME}
      %8 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #2 (input %7, filter %5, bias %9)
    }
    """
    assert_rewrites(before, after, NAME)


def test_values_that_differ_by_place_go_into_a_fully_connected_layer() -> None:
    """A channel with the same picture at each inference adds one number to a layer that reads all places.

    Here the channel is 80 in the left column and 64 in the right one, and 80 * (10 + 50) + 64 * (30 + 70) = 11200.
    """
    before = """
    graph "net" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [90, -80]
      %2 "first bias": s32[2] (scale 0.0078125, zero 0) = [100000, 5]
      %3 "second": s8[1, 1, 2, 2] (scale 0.125, zero 0) = [4, 1, 1, 1]
      %4 "second bias": s32[2] (scale 0.0078125, zero 0) = [0, 0]
      %5 "matrix": s8[1, 8] (scale 0.125, zero 0) = [10, 20, 30, 40, 50, 60, 70, 80]
      %6 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %7 "b": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = DEPTHWISE_CONV_2D #1 (input %6, filter %3, bias %4) {padding SAME}
      %8 "y": s8[1, 1] (scale 1.0, zero 0) = FULLY_CONNECTED #2 (input %7, filter %5)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%8) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [-80]
      %2 "first bias": s32[1] (scale 0.0078125, zero 0) = [5]
      %3 "second": s8[1, 1, 2, 1] (scale 0.125, zero 0) = [1, 1]
      %4 "second bias": s32[1] (scale 0.0078125, zero 0) = [0]
      %5 "matrix": s8[1, 4] (scale 0.125, zero 0) = [20, 40, 60, 80]
      %9 "y/bias": s32[1] (scale 0.0078125, zero 0) = [11200]
      %6 "a": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %7 "b": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = DEPTHWISE_CONV_2D #1 (input %6, filter %3, bias %4) {padding SAME}
      %8 "y": s8[1, 1] (scale 1.0, zero 0) = FULLY_CONNECTED #2 (input %7, filter %5, bias %9)
    }
    """
    changes = assert_rewrites(before, after, NAME).changes
    assert "with the same values at each inference" in changes[1].what
    certificate = fold_constant_channels(parse_text(before)).certificate
    assert {len(removal.values) for removal in certificate.removals} == {1, 4}


def test_unused_channels_go_backwards_to_a_fixpoint() -> None:
    """What is multiplied by zero alone is not computed, nor what only it reads, nor what only that reads."""
    before = """
    graph "net" from "text" (%0) -> (%6) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[3, 1, 1, 1] (scale 0.125, zero 0) = [90, -80, 70]
      %2 "second": s8[3, 1, 1, 3] (scale 0.125, zero 0) = [1, 2, 0, 3, -4, 0, 5, 6, 7]
      %3 "third": s8[1, 1, 1, 3] (scale 0.125, zero 0) = [8, 9, 0]
      %4 "a": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %5 "b": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %2)
      %6 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #2 (input %5, filter %3)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%6) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [90, -80]
      %2 "second": s8[2, 1, 1, 2] (scale 0.125, zero 0) = [1, 2, 3, -4]
      %3 "third": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [8, 9]
      %4 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %5 "b": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %2)
      %6 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #2 (input %5, filter %3)
    }
    """
    changes = assert_rewrites(before, after, NAME).changes
    assert "1 used by nobody" in changes[0].what
    certificate = fold_constant_channels(parse_text(before)).certificate
    assert all(not removal.is_constant for removal in certificate.removals)


_RESIDUAL = """
graph "net" from "text" (%0) -> (%7) {
  %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
  %1 "left": s8[3, 1, 1, 1] (scale 0.125, zero 0) = [0, 80, 0]
  %2 "right": s8[3, 1, 1, 1] (scale 0.125, zero 0) = RIGHT
  %3 "last": s8[1, 1, 1, 3] (scale 0.125, zero 0) = [5, 6, 7]
  %4 "a": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
  %5 "b": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #1 (input %0, filter %2)
  %6 "sum": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = ADD #2 (input1 %4, input2 %5)
  %7 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #3 (input %6, filter %3)
}
"""


def test_residual_addition_loses_channels_on_both_sides_or_on_none() -> None:
    """A channel goes where both operands are constant; where one is, both stay."""
    after = """
    graph "net" from "text" (%0) -> (%7) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "left": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [0, 80]
      %2 "right": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [3, 4]
      %3 "last": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [5, 6]
      %4 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %5 "b": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #1 (input %0, filter %2)
      %6 "sum": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = ADD #2 (input1 %4, input2 %5)
      %7 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #3 (input %6, filter %3)
    }
    """
    assert_rewrites(_RESIDUAL.replace("RIGHT", "[3, 4, 0]"), after, NAME)
    assert_stays(_RESIDUAL.replace("RIGHT", "[3, 0, 4]"), NAME)


def test_output_of_the_model_keeps_its_channels() -> None:
    """What the caller sees keeps its shape, though it be constant."""
    alone = """
    graph "net" from "text" (%0) -> (%2) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "filter": s8[3, 1, 1, 1] (scale 0.125, zero 0) = [0, 0, 9]
      %2 "y": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
    }
    """
    assert_stays(alone, NAME)
    read = """
    graph "net" from "text" (%0) -> (%4, %3) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[3, 1, 1, 1] (scale 0.125, zero 0) = [0, 0, 9]
      %2 "second": s8[1, 1, 1, 3] (scale 0.125, zero 0) = [7, 8, 9]
      %3 "seen": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %4 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %3, filter %2)
    }
    """
    assert_stays(read, NAME)
    graph = parse_text(read)
    assert fold_constant_channels(graph) == Folding(graph, (), fold_constant_channels(graph).certificate)


def test_one_channel_stays_where_all_are_constant() -> None:
    """No tensor vanishes."""
    before = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[3, 1, 1, 1] (scale 0.125, zero 0) = [0, 0, 0]
      %2 "bias": s32[3] (scale 0.0078125, zero 0) = [48, 48, 48]
      %3 "second": s8[1, 1, 1, 3] (scale 0.125, zero 0) = [5, 6, 7]
      %4 "a": s8[1, 2, 2, 3] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %5 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [0]
      %2 "bias": s32[1] (scale 0.0078125, zero 0) = [48]
      %3 "second": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [7]
      %6 "y/bias": s32[1] (scale 0.0078125, zero 0) = [66]
      %4 "a": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %5 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3, bias %6)
    }
    """
    assert_rewrites(before, after, NAME)


_ADDED = """
graph "net" from "text" (%0) -> (%6) {
  %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
  %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [90, -80]
  %2 "first bias": s32[2] (scale 0.0078125, zero 0) = [100000, 5]
  %3 "second": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [5, 6]
  %4 "second bias": s32[1] (scale 0.0078125, zero 0) = [BIAS]
  %5 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
  %6 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %5, filter %3, bias %4)
}
"""


def test_constant_is_added_to_a_bias_that_is_there() -> None:
    """127 * 5 and the bias are one number."""
    after = """
    graph "net" from "text" (%0) -> (%6) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [-80]
      %2 "first bias": s32[1] (scale 0.0078125, zero 0) = [5]
      %3 "second": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [6]
      %4 "second bias": s32[1] (scale 0.0078125, zero 0) = [644]
      %5 "a": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %6 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %5, filter %3, bias %4)
    }
    """
    assert_rewrites(_ADDED.replace("BIAS", "9"), after, NAME)


def test_sums_that_may_wrap_are_left() -> None:
    """Where a sum may leave 32 bits nothing is folded into it."""
    assert_stays(_ADDED.replace("BIAS", "2147483647"), NAME)


def test_output_of_a_sum_that_may_wrap_is_no_constant() -> None:
    """A sum that may leave 32 bits may come out at the other end of the range, so nothing is believed of it."""
    net = """
    graph "net" from "text" (%0) -> (%5) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [90, -80]
      %2 "bias": s32[2] (scale 0.0078125, zero 0) = [2147483647, 0]
      %3 "second": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [5, 6]
      %4 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1, bias %2)
      %5 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %4, filter %3)
    }
    """
    assert_stays(net, NAME)


def test_constant_that_two_layers_read_is_cut_for_one_alone() -> None:
    """A filter of which a second layer reads all channels stays for that one."""
    before = """
    graph "net" from "text" (%0) -> (%4, %5) {
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 2] (scale 0.125, zero 0) = [9, -8, 0, 0]
      %2 "second": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [7, 8]
      %3 "a": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %4 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %3, filter %2)
      %5 "z": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #2 (input %0, filter %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%4, %5) {
      %0 "x": s8[1, 2, 2, 2] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [9, -8]
      %2 "second": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [7, 8]
      %6 "second/operator1": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [7]
      %3 "a": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %4 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %3, filter %6)
      %5 "z": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #2 (input %0, filter %2)
    }
    """
    assert_rewrites(before, after, NAME)


def test_variables_keep_their_channels() -> None:
    """The next inference reads a variable in the shape that it has, though a channel of it be constant."""
    net = """
    graph "net" from "text" (%0) -> (%6) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [9, 0]
      %2 "second": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [7, 8]
      %3 "last": s8[1, 2, 2, 2] (scale 0.0625, zero 0) variable
      %6 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %3, filter %2)
      %4 "sums": s8[1, 2, 2, 2] (scale 0.0625, zero 0) = CONV_2D #1 (input %0, filter %1)
      %5 "next": s8[1, 2, 2, 2] (scale 0.0625, zero 0) updates %3 = ASSIGN_VARIABLE #2 (input %4)
    }
    """
    assert_stays(net, NAME)


def test_external_buffers_keep_their_channels() -> None:
    """A tensor in an external buffer has the shape that the caller knows."""
    mine = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[2, 1, 1, 1] (scale 0.125, zero 0) = [9, 0]
      %2 "second": s8[1, 1, 1, 2] (scale 0.125, zero 0) = [7, 8]
      %3 "mine": s8[1, 2, 2, 2] (scale 0.0625, zero 0) external = CONV_2D #0 (input %0, filter %1)
      %4 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %3, filter %2)
    }
    """
    after = """
    graph "net" from "text" (%0) -> (%4) {
      %0 "x": s8[1, 2, 2, 1] (scale 0.0625, zero 0)
      %1 "first": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [9]
      %2 "second": s8[1, 1, 1, 1] (scale 0.125, zero 0) = [7]
      %3 "mine": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #0 (input %0, filter %1)
      %4 "y": s8[1, 2, 2, 1] (scale 0.0625, zero 0) = CONV_2D #1 (input %3, filter %2)
    }
    """
    assert_stays(mine, NAME)
    assert_rewrites(mine.replace(" external", ""), after, NAME)
