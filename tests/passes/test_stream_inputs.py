"""Inputs that stream, and tensors in external buffers, as rewrites of graphs."""

import pytest

from kibi.errors import ModelError
from kibi.ir import Graph, Node, verify
from kibi.ops.control.stream_input import StreamInput
from kibi.passes import stream_inputs, with_external_buffers
from tests.engines.networks import residual_network, two_input_network


@pytest.mark.parametrize("model", [residual_network(), two_input_network()], ids=["one", "two"])
def test_stream_inputs_puts_a_receiver_in_front_of_each_input(model: Graph) -> None:
    """One node for each input makes its rows; the inputs stay inputs; the other nodes are the same."""
    streamed = stream_inputs(model)
    count = len(model.inputs)
    assert streamed.streamed_inputs == dict(zip(model.inputs, range(count), strict=True))
    assert streamed.stored_inputs == ()
    assert (streamed.inputs, streamed.nodes[count:]) == (model.inputs, model.nodes)
    assert [node.label for node in streamed.nodes[:count]] == [f"input {k} (STREAM_INPUT)" for k in range(count)]
    assert [view.steps for view in streamed.views[:count]] == [model.tensors[i].type.rows for i in model.inputs]


def test_stream_inputs_twice_is_once() -> None:
    """A graph whose inputs stream is returned as it is."""
    streamed = stream_inputs(residual_network())
    assert stream_inputs(streamed) is streamed


def test_input_that_streams_is_not_there_before_it_is_received() -> None:
    """A receiver behind the first reader of its rows is refused, as any maker would be."""
    model = residual_network()
    late = Graph(
        model.name, model.source, model.tensors, (*model.nodes, Node(StreamInput(), (), model.inputs, -1)), model.inputs,
        model.outputs,
    )  # fmt: skip
    with pytest.raises(ModelError, match="read before any operator makes it"):
        verify(late)


def test_with_external_buffers_marks_them_and_no_constant() -> None:
    """External tensors need no place; constants stay with the model; marking twice changes nothing."""
    model = residual_network()
    weights = next(tensor.index for tensor in model.tensors if tensor.is_constant)
    external = with_external_buffers(model, (*model.inputs, weights))
    assert [tensor.index for tensor in external.tensors if tensor.is_external] == list(model.inputs)
    assert not external.tensors[model.inputs[0]].is_planned
    assert with_external_buffers(external, model.inputs) is external
