"""What makes the error of a quantized model smaller."""

import numpy as np
import pytest

from examples.patterns import Net, accuracy, patterns
from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
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


@pytest.mark.parametrize("activation", ["RELU", pytest.param("RELU6", marks=pytest.mark.slow)])
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


def saturating() -> bytes:
    """A model of two dense layers: the first channel between them saturates in a sigmoid, and has 30 times the others' range."""
    b = ModelBuilder()
    x, y = b.input([1, 4], DType.F32), b.tensor([1, 4], DType.F32, name="y")
    sums, parts = (b.tensor([1, 8], DType.F32, name=name) for name in ("sums", "parts"))
    drawn = np.random.default_rng(1).uniform(-1, 1, (2, 8, 4)).astype(np.float32)
    drawn[0, 0] *= 30
    b.operator("FULLY_CONNECTED", [x, b.constant(drawn[0])], [sums])
    b.operator("LOGISTIC", [sums], [parts])
    b.operator("FULLY_CONNECTED", [parts, b.constant(drawn[1].T)], [y])
    return b.finish([y])


def test_a_range_shrinks_where_what_it_cuts_makes_no_difference() -> None:
    """Sums that saturate may be cut: the others get finer steps, and inputs that nothing was chosen by gain 3 dB or more."""
    drawn = np.random.default_rng(2).uniform(-1, 1, (400, 1, 4)).astype(np.float32)
    rows = [(array,) for array in drawn]
    plain = quantize_network(Network.of(saturating(), "model.tflite"), rows[:200], Wishes())
    better, steps = improve(plain, rows[:200], lambda _: None)
    assert "range" in {step.kind for step in steps}
    assert answer_noise(better, rows[200:]).decibels > answer_noise(plain, rows[200:]).decibels + 3


def test_a_range_that_only_the_judging_inputs_ask_for_stays() -> None:
    """With 30 inputs, the autoencoder's judges ask for a third of a range: the other half disagrees, and nothing is lost."""
    found = Network.of(network("autoencoder").file(), "model.tflite")
    rows, others = ([(each,) for each in inputs_of("autoencoder", count, seed)] for count, seed in ((30, 4), (300, 2)))
    plain = quantize_network(found, rows, Wishes())
    better, _ = improve(plain, rows, lambda _: None)
    assert answer_noise(better, others).decibels > answer_noise(plain, others).decibels - 0.1
