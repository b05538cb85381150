"""Inputs that stream, and tensors in external buffers, as rewrites of graphs."""

import pytest

from kibi.errors import ModelError
from kibi.frontends.text import parse_text
from kibi.passes import stream_inputs, with_external_buffers
from tests.passes.comparison import assert_becomes, assert_equal

_STORED = """
graph "net" from "text" (%0, %1) -> (%4) {
  %0 "tall": s8[1, 4, 1, 2] (scale 0.0625, zero 3)
  %1 "short": s8[1, 2, 2, 2] (scale 0.0625, zero 3)
  %2 "shape": s32[4] = [1, 4, 1, 2]
  %3 "made tall": s8[1, 4, 1, 2] (scale 0.0625, zero 3) = RESHAPE #0 (input %1, shape %2)
  %4 "y": s8[1, 4, 1, 2] (scale 0.125, zero 3) = ADD #1 (input1 %0, input2 %3)
}
"""
_STREAMED = """
graph "net" from "text" (%0, %1) -> (%4) {
  %2 "shape": s32[4] = [1, 4, 1, 2]
  %0 "tall": s8[1, 4, 1, 2] (scale 0.0625, zero 3) = STREAM_INPUT #-1 ()
  %1 "short": s8[1, 2, 2, 2] (scale 0.0625, zero 3) = STREAM_INPUT #-2 ()
  %3 "made tall": s8[1, 4, 1, 2] (scale 0.0625, zero 3) = RESHAPE #0 (input %1, shape %2)
  %4 "y": s8[1, 4, 1, 2] (scale 0.125, zero 3) = ADD #1 (input1 %0, input2 %3)
}
"""


def test_stream_inputs_puts_a_receiver_before_all_other_nodes_for_each_input() -> None:
    """One node for each input makes its rows; the inputs stay inputs; the other nodes are the same."""
    model = parse_text(_STORED)
    streamed = stream_inputs(model)
    assert_becomes(model, streamed, _STREAMED)
    assert streamed.streamed_inputs == {0: 0, 1: 1}
    assert streamed.stored_inputs == ()
    assert [node.label for node in streamed.nodes[:2]] == ["input 0 (STREAM_INPUT)", "input 1 (STREAM_INPUT)"]
    assert [view.steps for view in streamed.views[:2]] == [4, 2]


def test_stream_inputs_leaves_an_input_that_streams_as_it_is() -> None:
    """A receiver is added for the other one alone."""
    half = _STREAMED.replace(" = STREAM_INPUT #-1 ()", "")
    streamed = stream_inputs(parse_text(half))
    assert [node.label for node in streamed.nodes[:2]] == ["input 0 (STREAM_INPUT)", "input 1 (STREAM_INPUT)"]
    assert_becomes(parse_text(half), streamed, _STREAMED)


def test_stream_inputs_twice_is_once() -> None:
    """A graph whose inputs stream is returned as it is."""
    streamed = parse_text(_STREAMED)
    assert stream_inputs(streamed) is streamed


def test_input_that_streams_is_not_there_before_it_is_received() -> None:
    """A receiver that comes after the first reader of its rows is refused, as any maker would be."""
    late = """
    graph "net" from "text" (%0) -> (%1) {
      %1 "y": s8[1, 4] (scale 0.0625, zero 3) = RELU #0 (input %0)
      %0 "x": s8[1, 4] (scale 0.0625, zero 3) = STREAM_INPUT #-1 ()
    }
    """
    with pytest.raises(ModelError, match="read before any operator makes it"):
        parse_text(late)


def test_with_external_buffers_marks_them_and_no_constant() -> None:
    """External tensors need no place; constants stay with the model; marking twice changes nothing."""
    model = parse_text(_STORED)
    external = with_external_buffers(model, (0, 2, 3))
    after = """
    graph "net" from "text" (%0, %1) -> (%4) {
      %0 "tall": s8[1, 4, 1, 2] (scale 0.0625, zero 3) external
      %1 "short": s8[1, 2, 2, 2] (scale 0.0625, zero 3)
      %2 "shape": s32[4] = [1, 4, 1, 2]
      %3 "made tall": s8[1, 4, 1, 2] (scale 0.0625, zero 3) external = RESHAPE #0 (input %1, shape %2)
      %4 "y": s8[1, 4, 1, 2] (scale 0.125, zero 3) = ADD #1 (input1 %0, input2 %3)
    }
    """
    assert_equal(external, parse_text(after))
    assert not external.tensors[0].is_planned
    assert with_external_buffers(external, (0, 3)) is external
