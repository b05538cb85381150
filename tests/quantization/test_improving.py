"""What makes the error of a quantized model smaller."""

import pytest

from examples.patterns import Net, accuracy, patterns
from kibi.dtypes import Array
from kibi.quantization.equalization import equalized, pairs_of
from kibi.quantization.improving import improve
from kibi.quantization.network import Network
from kibi.quantization.noise import answer_noise
from kibi.quantization.quantizing import Model, Wishes, quantize_network
from kibi.quantization.running import GraphRunner
from tests.quantization.networks import inputs_of, network

Rows = list[tuple[Array, ...]]


def uneven(activation: str) -> Net:
    """A separable network whose channels differ in range by up to 128; ReLU6 cuts nothing more than before."""
    found = network(f"uneven {activation}")
    assert isinstance(found, Net)
    return found


def rows_of(count: int, seed: int) -> Rows:
    """Inputs."""
    return [(each,) for each in inputs_of("uneven RELU", count, seed)]


def right_of(model: Model, count: int, seed: int) -> float:
    """The accuracy of a quantized model."""
    runner = GraphRunner(model.graph, model.graph.outputs)
    scores = [runner.run(model.inputs_of(inputs))[0] for inputs in rows_of(count, seed)]
    return accuracy(scores, patterns(count, seed)[1])


def quantized(activation: str) -> Model:
    """The uneven network with the ranges of the data."""
    return quantize_network(Network.of(uneven(activation).file(), "model.tflite"), rows_of(128, 1), Wishes())


@pytest.mark.parametrize("activation", ["RELU", "RELU6"])
def test_uneven_channels_are_made_even_and_the_accuracy_comes_back(activation: str) -> None:
    """Where ranges of the data lose most of the signal, the improved model has 6 dB more, on inputs that it has not seen."""
    plain = quantized(activation)
    better, steps = improve(plain, rows_of(128, 1), lambda _: None)
    assert steps[0].kind == "equalization"
    others = rows_of(200, 2)
    assert answer_noise(better, others).decibels > answer_noise(plain, others).decibels + 6
    exact = accuracy(uneven(activation).forward(patterns(400, 2)[0]), patterns(400, 2)[1])
    assert right_of(better, 400, 2) > exact - 0.01


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_equalized_weights_compute_the_same(share: float) -> None:
    """The float32 network with equalized weights has the outputs that it had, on the data that gave the ranges."""
    model = quantized("RELU6")
    changes = equalized(model, share)
    assert len(list(pairs_of(model.network))) == 5
    floats = model.changed(changes)
    names = frozenset(layer.name for layer in model.network.layers)
    as_floats = Model.of(model.network, model.seen, Wishes(floats=names), changes, {})
    assert not any(view.op.name == "QUANTIZE" for view in as_floats.graph.views)
    rows = rows_of(128, 1)[:20]
    assert answer_noise(as_floats, rows).decibels > 100
    assert answer_noise(floats, rows).decibels > 20


def test_equalized_channels_have_one_range_before_depthwise_layers() -> None:
    """A depthwise convolution has a scale for each channel, so its input may be as even as it can be."""
    model = quantized("RELU")
    changes = equalized(model, 0.5)
    first = model.network.layers[0].outputs[0]
    channels = model.seen[first].times(changes.factors[first])
    used = channels.highs[channels.highs > 0]
    assert used.max() / used.min() < 1.01
    before = model.seen[first].highs
    assert before.max() / before[before > 0].min() > 8
    assert used.max() == pytest.approx(before.max())


def test_improvement_is_never_worse_on_the_inputs_that_judge() -> None:
    """The noise that a step reports is less than that of the step before it."""
    plain = quantized("RELU")
    _, steps = improve(plain, rows_of(64, 1), lambda _: None)
    figures = [step.decibels for step in steps]
    assert len(figures) > 1
    assert figures == sorted(figures)


def test_few_inputs_are_enough() -> None:
    """One calibration input gives ranges, and is its own judge."""
    rows = rows_of(1, 1)
    plain = quantize_network(Network.of(uneven("RELU").file(), "model.tflite"), rows, Wishes())
    better, _ = improve(plain, rows, lambda _: None)
    assert answer_noise(better, rows).decibels >= answer_noise(plain, rows).decibels
