"""LSTMs of integers."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
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
