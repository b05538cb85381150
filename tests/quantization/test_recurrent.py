"""LSTMs and SVDFs of integers."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.quantization.network import Network
from kibi.quantization.noise import layer_noise
from kibi.quantization.quantizing import Wishes, quantize_network
from kibi.quantization.recurrent import LSTM, cell_type


def lstm(*, units: int = 6, depth: int = 4, times: int = 9, time_major: bool = False) -> bytes:
    """A model of one LSTM with weights of a usual size, and a dense layer after it."""
    rng, b = np.random.default_rng(3), ModelBuilder()
    shape = [times, 1, depth] if time_major else [1, times, depth]
    x = b.input(shape, DType.F32, name="x")
    inputs = [b.constant(rng.normal(size=(units, depth)).astype(np.float32)) for _ in range(4)]
    recurrent = [b.constant((rng.normal(size=(units, units)) * 0.4).astype(np.float32)) for _ in range(4)]
    biases = [b.constant(rng.normal(size=units).astype(np.float32)) for _ in range(4)]
    states = [b.tensor([1, units], DType.F32, variable=True, name=name) for name in ("hidden", "cell")]
    y = b.tensor([*shape[:2], units], DType.F32, name="y")
    b.operator(
        LSTM,
        [x, *inputs, *recurrent, -1, -1, -1, *biases, -1, -1, *states],
        [y],
        fused_activation_function="TANH",
        time_major=time_major,
        cell_clip=10.0,
    )
    return b.finish([y])


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize(("activations", "least"), [(DType.S8, 25.0), (DType.S16, 35.0)], ids=str)
def test_lstm_computes_integers_near_to_its_floats(activations: DType, least: float, *, time_major: bool) -> None:
    """With states whose scales follow from the data, which no tensor of the graph shows."""
    network = Network.of(lstm(time_major=time_major), "lstm.tflite")
    rng = np.random.default_rng(0)
    shape = network.graph.tensors[network.inputs[0]].type.shape
    rows = [(rng.normal(size=shape).astype(np.float32),) for _ in range(20)]
    model = quantize_network(network, rows, Wishes(activations=activations))
    assert {choice.dtype for choice in model.choices.values()} == {activations}
    (energy,) = layer_noise(model, rows).values()
    assert energy.decibels > least


def test_cells_have_a_power_of_two_that_holds_them() -> None:
    """As TFLM asks of their scale."""
    network = Network.of(lstm(), "lstm.tflite")
    rows = [(np.full((1, 9, 4), value, np.float32),) for value in (-1.0, 1.0, 2.0)]
    model = quantize_network(network, rows, Wishes())
    cells = model.seen[network.layers[0].inputs[19]].range
    kind = cell_type(cells)
    assert kind.scale * 32768 >= cells.high > kind.scale * 16384
    assert np.log2(kind.scale) == round(np.log2(kind.scale))


@pytest.mark.oracle
def test_quantized_lstm_has_the_bits_of_tflm(tmp_path: Path) -> None:
    """The file that is written is one that TFLM runs, with the same bits."""
    path = tmp_path / "lstm.tflite"
    network = Network.of(lstm(), "lstm.tflite")
    rng = np.random.default_rng(0)
    rows = [(rng.normal(size=(1, 9, 4)).astype(np.float32),) for _ in range(5)]
    path.write_bytes(quantize_network(network, rows, Wishes()).written.data)
    found = kibi.verify(kibi.load(path), target="host", runs=2)
    assert "tflm" in found.engines
    assert found.differences == ()


def svdf(*, activation: str = "RELU", rank: int = 2, units: int = 6, depth: int = 10, memory: int = 8) -> bytes:
    """A model as spotting of keywords has them: an SVDF, and a dense layer after it."""
    rng, b = np.random.default_rng(4), ModelBuilder()
    x = b.input([1, depth], DType.F32, name="x")
    operands = [
        b.constant(rng.normal(size=(rank * units, depth)).astype(np.float32) * 0.3, name="feature"),
        b.constant(rng.normal(size=(rank * units, memory)).astype(np.float32) * 0.4, name="time"),
        b.constant(rng.normal(size=units).astype(np.float32), name="bias"),
        b.tensor([1, rank * units * memory], DType.F32, variable=True, name="state"),
    ]
    y, z = b.tensor([1, units], DType.F32, name="filtered"), b.tensor([1, 4], DType.F32, name="scores")
    b.operator("SVDF", [x, *operands], [y], rank=rank, fused_activation_function=activation)
    weights = b.constant(rng.normal(size=(4, units)).astype(np.float32))
    b.operator("FULLY_CONNECTED", [y, weights, -1], [z])
    return b.finish([z])


def frames(count: int, depth: int = 10) -> list[tuple[Array, ...]]:
    """Inputs."""
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(1, depth)).astype(np.float32),) for _ in range(count)]


@pytest.mark.parametrize("keep_state", [False, True])
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_svdf_computes_integers_near_to_its_floats(activation: str, *, keep_state: bool) -> None:
    """Weights over time and state are s16, whose scale follows from what its filters gave."""
    network = Network.of(svdf(activation=activation), "svdf.tflite")
    model = quantize_network(network, frames(60), Wishes(keep_state=keep_state))
    assert {choice.dtype for choice in model.choices.values()} == {DType.S8}
    view = model.graph.views[0]
    assert [view[name].type.dtype for name in ("weights_feature", "weights_time", "state")] == [
        DType.S8,
        DType.S16,
        DType.S16,
    ]
    energies = layer_noise(model, frames(60))
    assert min(energy.decibels for energy in energies.values()) > 30


def test_sums_of_an_svdf_have_room_whatever_its_state_holds() -> None:
    """The products of all weights of a unit with the largest element of s16, and the bias, are less than 2^31."""
    network = Network.of(svdf(rank=3, memory=20), "svdf.tflite")
    model = quantize_network(network, frames(30), Wishes())
    view = model.graph.views[0]
    weights = np.abs(view.constant("weights_time").astype(np.int64)).reshape(6, -1).sum(axis=1)
    assert (weights * 32768 + np.abs(view.constant("bias").astype(np.int64))).max() < 1 << 31
    assert weights.max() > 30_000


def test_svdf_whose_activation_is_not_the_range_of_its_scale_stays_float32() -> None:
    """Its kernel cuts at the ends of the elements; a concatenation with values below 0 would make these another bound."""
    b, rng = ModelBuilder(), np.random.default_rng(4)
    x, y = b.input([1, 4], DType.F32, name="x"), b.tensor([1, 4], DType.F32, name="y")
    feature, time = (b.constant(rng.normal(size=(4, size)).astype(np.float32)) for size in (4, 2))
    state, whole = b.tensor([1, 8], DType.F32, variable=True), b.tensor([1, 8], DType.F32, name="whole")
    b.operator("SVDF", [x, feature, time, -1, state], [y], rank=1, fused_activation_function="RELU")
    b.operator("CONCATENATION", [x, y], [whole], axis=1)
    model = quantize_network(Network.of(b.finish([whole]), "svdf.tflite"), frames(20, 4), Wishes())
    assert model.choices[0].dtype is DType.F32
    assert "its RELU would let values pass" in model.choices[0].reason
    assert min(energy.decibels for energy in layer_noise(model, frames(20, 4)).values()) > 30


def test_there_is_no_svdf_of_int16() -> None:
    """It stays float32, and the reason says so."""
    network = Network.of(svdf(), "svdf.tflite")
    model = quantize_network(network, frames(5), Wishes(activations=DType.S16))
    assert [choice.reason for choice in model.choices.values()] == ["there is no SVDF of int16", ""]


@pytest.mark.oracle
@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_quantized_svdf_has_the_bits_of_tflm(activation: str, tmp_path: Path) -> None:
    """The file that is written is one that TFLM runs, with the same bits."""
    path = tmp_path / "svdf.tflite"
    network = Network.of(svdf(activation=activation), "svdf.tflite")
    path.write_bytes(quantize_network(network, frames(30), Wishes()).written.data)
    found = kibi.verify(kibi.load(path), target="host", runs=2)
    assert "tflm" in found.engines
    assert found.differences == ()
