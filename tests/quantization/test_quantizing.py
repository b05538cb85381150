"""Quantized models: what they compute beside the float32 model that they were made of."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from examples.patterns import Layer, Net, accuracy, patterns
from kibi.dtypes import Array, DType
from kibi.errors import InputError, ModelError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.quantization.network import Network
from kibi.quantization.noise import answer_noise, answers_of, layer_noise
from kibi.quantization.quantizing import Model, Wishes, quantize_network
from kibi.quantization.running import GraphRunner

Rows = list[tuple[Array, ...]]


@cache
def trained() -> Net:
    """A separable network that tells patterns apart."""
    net = Net(
        [
            Layer("conv", 8, 3, 2, "RELU"),
            Layer("depthwise", 0, 3, 1, "RELU"),
            Layer("conv", 16, 1, 1, "RELU6"),
            Layer("depthwise", 0, 3, 2, "RELU6"),
            Layer("conv", 24, 1, 1, "RELU"),
            Layer("dense", 10),
        ],
        (12, 12, 1),
    )
    net.train(*patterns(1000, 1), epochs=6)
    return net


def rows_of(count: int, seed: int = 1) -> Rows:
    """Inputs for the network."""
    return [(picture[None].astype(np.float32),) for picture in patterns(count, seed)[0]]


def network_of(data: bytes) -> Network:
    """The network in a file."""
    return Network.of(data, "model.tflite")


def scores_of(model: Model, rows: Sequence[Sequence[Array]]) -> list[Array]:
    """The first output of a quantized model."""
    runner = GraphRunner(model.graph, model.graph.outputs)
    return [runner.run(model.inputs_of(inputs))[0] for inputs in rows]


@pytest.mark.parametrize(("activations", "least"), [(DType.S8, 25.0), (DType.S16, 30.0)], ids=str)
def test_trained_network_keeps_its_answers(activations: DType, least: float) -> None:
    """A network of convolutions loses at most a point of accuracy, and all of it computes integers."""
    network = network_of(trained().file())
    made = quantize_network(network, rows_of(100), Wishes(activations=activations))
    assert {choice.dtype for choice in made.choices.values()} == {activations}
    assert answer_noise(made, rows_of(50, 2)).decibels > least
    pictures, labels = patterns(300, 2)
    found = accuracy(scores_of(made, rows_of(300, 2)), labels)
    assert found > accuracy(trained().forward(pictures), labels) - 0.01


def test_ranges_are_those_of_the_data() -> None:
    """The input's scale reaches the least and the largest value, and 0 is an element."""
    network = network_of(trained().file())
    rows = rows_of(40)
    made = quantize_network(network, rows, Wishes())
    values = np.concatenate([inputs[0].reshape(-1) for inputs in rows])
    kind = made.graph.tensors[made.graph.inputs[0]].type
    assert kind.quantization is not None
    assert kind.quantization.scale == pytest.approx((values.max() - values.min()) / 255, rel=1e-6)
    assert kind.quantization.zero_point == round(-128 - values.min() / kind.quantization.scale)


def test_range_of_values_above_zero_holds_zero() -> None:
    """Padding is of zeros, which must be elements."""
    network = network_of(trained().file())
    made = quantize_network(network, [(np.full((1, 12, 12, 1), value, np.float32),) for value in (2, 3)], Wishes())
    quantization = made.graph.tensors[made.graph.inputs[0]].type.quantization
    assert quantization is not None
    assert quantization.scale == pytest.approx(3 / 255)
    assert quantization.zero_point == -128


def test_weights_have_a_scale_for_each_channel_and_no_zero_point() -> None:
    """As the 8-bit specification asks of them; biases have the scale of the sums."""
    made = quantize_network(network_of(trained().file()), rows_of(20), Wishes())
    for view in made.graph.views:
        if view.op.name not in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            continue
        weights, bias = view["filter"].type, view["bias"].type
        assert weights.dtype is DType.S8
        assert weights.quantization is not None
        assert bias.quantization is not None
        assert len(weights.quantization.scales) == bias.elements
        assert set(weights.quantization.zero_points) == {0}
        products = np.float32(view["input"].quantization.scale) * np.array(weights.quantization.scales, np.float32)
        assert np.array_equal(np.array(bias.quantization.scales, np.float32), products)
        assert np.abs(view.constant("filter").astype(int)).max() == 127


def test_float_operator_becomes_an_island() -> None:
    """An operator that is asked to stay float32 gets conversions on both sides, and the others stay integers."""
    network = network_of(trained().file())
    made = quantize_network(network, rows_of(20), Wishes(floats=frozenset(("layer2_conv",))))
    names = [view.op.name for view in made.graph.views]
    assert names[2:5] == ["DEQUANTIZE", "CONV_2D", "QUANTIZE"]
    assert made.graph.views[3].output.type.dtype is DType.F32
    assert sum(choice.dtype is DType.F32 for choice in made.choices.values()) == 1


def test_operator_of_int16_is_converted_to_and_from() -> None:
    """An operator of another type than its neighbours takes and gives elements of theirs, and loses less than they."""
    network = network_of(trained().file())
    plain = quantize_network(network, rows_of(60), Wishes())
    mixed = quantize_network(network, rows_of(60), Wishes(int16=frozenset(("CONV_2D",))))
    kinds = {view.op.name: view.output.type.dtype for view in mixed.graph.views}
    assert kinds["CONV_2D"] is DType.S16
    assert kinds["DEPTHWISE_CONV_2D"] is DType.S8
    assert answer_noise(mixed, rows_of(30, 2)).decibels > answer_noise(plain, rows_of(30, 2)).decibels


def test_inputs_and_outputs_stay_float32_where_that_is_asked_for() -> None:
    """The model converts them itself, and computes the same."""
    network = network_of(trained().file())
    inside = quantize_network(network, rows_of(20), Wishes())
    outside = quantize_network(network, rows_of(20), Wishes(is_float_outside=True))
    ends = (*outside.graph.inputs, *outside.graph.outputs)
    assert {outside.graph.tensors[index].type.dtype for index in ends} == {DType.F32}
    rows = rows_of(5, 3)
    output = inside.graph.tensors[inside.graph.outputs[0]].type.quantization
    assert output is not None
    for stored, real in zip(scores_of(inside, rows), scores_of(outside, rows), strict=True):
        assert np.allclose((stored.astype(np.float64) + 128) / 256, real, atol=1e-7)


def test_error_of_layers_is_told_for_every_tensor() -> None:
    """Each tensor that both models make has signal and noise; the first layers have less noise than the last ones."""
    network = network_of(trained().file())
    noise = layer_noise(quantize_network(network, rows_of(30), Wishes()), rows_of(10, 2))
    assert [network.records[index].name for index in noise][:2] == ["layer0_conv", "layer1_depthwise"]
    assert len(noise) == len(network.layers)
    figures = [energy.decibels for energy in noise.values()]
    assert figures[0] > figures[4] > 20


def joined(scale: float) -> bytes:
    """A concatenation of a small tensor, of a logistic function of it, and of a constant."""
    b = ModelBuilder()
    x = b.input([1, 4], DType.F32, name="x")
    small, part = b.tensor([1, 4], DType.F32, name="small"), b.tensor([1, 4], DType.F32, name="part")
    b.operator("MUL", [x, b.constant(np.array([scale], np.float32))], [small])
    b.operator("LOGISTIC", [x], [part])
    whole = b.tensor([1, 12], DType.F32, name="whole")
    b.operator("CONCATENATION", [small, part, b.constant(np.array([[3, -2, 1, 0]], np.float32))], [whole], axis=1)
    return b.finish([whole])


def test_joined_tensors_share_a_scale_but_for_one_that_its_kernel_decides() -> None:
    """A concatenation copies elements: its inputs have its scale, and the logistic function's output is brought to it."""
    network = network_of(joined(0.5))
    rows: Rows = [(np.array([[-2, -1, 1, 2]], np.float32) * step,) for step in (1, 2)]
    made = quantize_network(network, rows, Wishes())
    join = next(view for view in made.graph.views if view.op.name == "CONCATENATION")
    kinds = {tensor.type.quantization for name, tensor in join.operands if tensor is not None}
    assert len(kinds) == 1
    assert [view.op.name for view in made.graph.views] == ["MUL", "LOGISTIC", "QUANTIZE", "CONCATENATION"]
    assert answer_noise(made, rows).decibels > 35


def test_inputs_that_cannot_share_a_scale_leave_the_operator_float32() -> None:
    """ADD_N takes inputs of one scale; that of a logistic function would cut all values above 1 of the others."""
    b = ModelBuilder()
    x = b.input([1, 8], DType.F32, name="x")
    part, wide, y = (b.tensor([1, 8], DType.F32, name=name) for name in ("part", "wide", "sum"))
    b.operator("LOGISTIC", [x], [part])
    b.operator("MUL", [x, b.constant(np.array([20], np.float32))], [wide])
    b.operator("ADD_N", [wide, part], [y])
    network = network_of(b.finish([y]))
    rows: Rows = [(np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32),) for seed in range(9)]
    made = quantize_network(network, rows, Wishes())
    assert "has another scale" in made.choices[2].reason
    assert answer_noise(made, rows).decibels > 30


def test_operator_with_a_variable_stays_float32() -> None:
    """Variables of float32 keep their values as they are."""
    b = ModelBuilder()
    x, y = b.input([1, 4], DType.F32, name="x"), b.tensor([1, 4], DType.F32, name="y")
    kept = b.tensor([1, 4], DType.F32, name="kept", variable=True)
    b.operator("ADD", [x, kept], [y])
    z = b.tensor([1, 4], DType.F32, name="z")
    b.operator("MUL", [y, y], [z])
    made = quantize_network(network_of(b.finish([z])), [(np.ones((1, 4), np.float32),)], Wishes())
    assert [made.choices[0].reason, made.choices[1].dtype] == ["it has a variable", DType.S8]


def test_model_that_is_quantized_already_is_refused(glyphs: Graph) -> None:
    """With the reason and what to give."""
    assert glyphs.path is not None
    with pytest.raises(ModelError, match="quantized already"):
        Network.of(glyphs.path.read_bytes(), "glyphs.tflite")


def test_model_of_integers_alone_is_refused() -> None:
    """There is nothing to quantize."""
    b = ModelBuilder()
    x, y = b.input([4], DType.S32), b.tensor([4], DType.S32)
    b.operator("ADD", [x, x], [y])
    with pytest.raises(ModelError, match="nothing to quantize"):
        network_of(b.finish([y]))


def test_values_that_are_not_numbers_are_refused() -> None:
    """The tensor is named in which they come up."""
    network = network_of(trained().file())
    with pytest.raises(InputError, match="'input' has a value that is not a number"):
        quantize_network(network, [(np.full((1, 12, 12, 1), np.nan, np.float32),)], Wishes())


def test_unknown_operator_is_refused() -> None:
    """A name that is neither a kind nor a tensor."""
    with pytest.raises(InputError, match="no operator is called 'conv9'"):
        quantize_network(network_of(trained().file()), rows_of(2), Wishes(floats=frozenset(("conv9",))))


def test_no_inputs_are_refused() -> None:
    """At least one shows ranges."""
    with pytest.raises(InputError, match="no calibration inputs"):
        quantize_network(network_of(trained().file()), [], Wishes())


def test_number_of_a_class_is_judged_by_the_scores_that_it_is_made_of() -> None:
    """An output that is no real number has no noise of its own."""
    b = ModelBuilder()
    x, y = b.input([1, 8], DType.F32, name="x"), b.tensor([1, 4], DType.F32, name="scores")
    weights = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    b.operator("FULLY_CONNECTED", [x, b.constant(weights)], [y])
    z, axis = b.tensor([1], DType.S32, name="class"), b.constant(np.array(1, np.int32))
    b.operator("ARG_MAX", [y, axis], [z], output_type="INT32")
    network = network_of(b.finish([z]))
    assert [network.records[index].name for index in answers_of(network)] == ["scores"]
    rows: Rows = [(np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32),) for seed in range(9)]
    assert 25 < answer_noise(quantize_network(network, rows, Wishes()), rows).decibels < 100


def test_constant_channels_go_beside_operators_of_other_types() -> None:
    """A channel that is always 0 leaves the int8 layers, while float32 and int16 layers with weights stay what they are."""
    net = Net([Layer("conv", 4, 3, 2, "RELU"), *(Layer("conv", 4, 1, 1, "RELU") for _ in range(3))], (12, 12, 1))
    net.train(patterns(64, 1)[0], np.zeros((64, 6, 6, 4)), epochs=1)
    net.layers[0].bias[2] = -1000.0
    wishes = Wishes(floats=frozenset(("layer2_conv",)), int16=frozenset(("layer3_conv",)))
    made = quantize_network(network_of(net.file()), rows_of(9), wishes)
    found = simplify(made.graph)
    assert found.graph.views[0].output.type.shape == (1, 6, 6, 3)
    runners = [GraphRunner(graph, graph.outputs) for graph in (made.graph, found.graph)]
    for inputs in rows_of(5, 2):
        first, second = (runner.run(made.inputs_of(inputs))[0] for runner in runners)
        assert np.array_equal(first, second)
