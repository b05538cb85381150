"""Layers in parts: the same elements from each output channel's own weights, and what is not divided."""

import pytest

import kibi
import kibi.demo
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.ir.evaluation import evaluator
from kibi.planner import Handover, with_handover
from kibi.planner.channel_parts import divided, most_parts
from kibi.runtime import seeded_inputs
from tests.engines.networks import pooled_network, residual_network
from tests.support.amount import amount, sample
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


@pytest.mark.parametrize("count", sample([(2,), (3,), (4,)], [(3,)]))
def test_parts_of_layers_give_the_same_elements(count: int) -> None:
    """Convolutions with scales per channel, with and without bias, and a fully connected layer."""
    for model in (residual_network(channels=7), pooled_network("FULLY_CONNECTED"), kibi.load(kibi.demo.model_path())):
        parts = [min(count, most_parts(view)) for view in model.views]
        assert sum(parts) > len(parts)
        _same(model, divided(model, parts))


@pytest.mark.parametrize("operator", ["CONV_2D", "FULLY_CONNECTED"])
def test_parts_of_drawn_layers_give_the_same_elements(operator: str) -> None:
    """Of all types, paddings, groups and activations."""
    several = 0
    for seed in range(amount(12, 100)):
        model = parse_tflite(OPERATOR_MODELS[operator](Seeded(seed)).model, "m.tflite")
        parts = [min(3, most_parts(view)) for view in model.views]
        several += max(parts) > 1
        _same(model, divided(model, parts))
    assert several


def test_graph_without_divided_layers_is_the_same_object() -> None:
    """Nothing is made anew."""
    model = residual_network()
    assert divided(model, [1] * len(model.nodes)) is model


def test_parts_are_in_the_arena_where_their_layer_writes_to_the_caller() -> None:
    """Only the joined output is in the caller's buffer."""
    model = with_handover(pooled_network("FULLY_CONNECTED"), Handover.STORED, Handover.EXTERNAL)
    graph = divided(model, [most_parts(view) for view in model.views])
    assert len(graph.nodes) > len(model.nodes)
    assert [tensor.index for tensor in graph.tensors if tensor.is_external] == list(model.outputs)


def test_layers_of_other_kinds_are_not_divided() -> None:
    """A depthwise convolution reads its own channel of the input; a sum has no weights."""
    model = kibi.load(kibi.demo.model_path())
    most = {view.op.name: most_parts(view) for view in model.views}
    assert most["DEPTHWISE_CONV_2D"] == most["ADD"] == most["SOFTMAX"] == 1
    assert most["CONV_2D"] > 1


def _same(model: Graph, other: Graph) -> None:
    inputs = seeded_inputs(model, 1)
    made, expected = evaluator(other)(inputs), evaluator(model)(inputs)
    for one, another in zip(made, expected, strict=True):
        assert one.tobytes() == another.tobytes()
