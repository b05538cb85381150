"""Weights of int4: as TFLM takes them, half as large, less exact, and chosen where int8 does not fit."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tflite

import kibi
from examples.patterns import Layer, Net, patterns
from kibi.dtypes import Array, DType
from kibi.errors import InputError, PlanError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.int4 import unpacked
from kibi.frontends.tflite.reader import ModelReader
from kibi.quantization.affine import quantize_weights
from kibi.quantization.costs import shares_of
from kibi.quantization.network import Network
from kibi.quantization.noise import answer_noise
from kibi.quantization.quantizing import Model, Wishes, quantize_network
from kibi.targets import target

_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@cache
def trained() -> bytes:
    """A network whose second convolution and dense layer are large enough that int4 saves flash."""
    layers = [
        Layer("conv", 8, 3, 2, "RELU"),
        Layer("depthwise", 0, 3, 1, "RELU"),
        Layer("conv", 33, 3, 2, "RELU"),
        Layer("dense", 10),
    ]
    net = Net(layers, (12, 12, 1))
    net.train(*patterns(400, 1), epochs=3)
    return net.file()


def rows_of(count: int, seed: int = 1) -> list[tuple[Array, ...]]:
    """Inputs for the network."""
    return [(picture[None].astype(np.float32),) for picture in patterns(count, seed)[0]]


def quantized(**wishes: object) -> Model:
    """The network with 40 inputs."""
    return quantize_network(Network.of(trained(), "model.tflite"), rows_of(40), Wishes(**wishes))  # type: ignore[arg-type]


def types_of(model: Model) -> dict[str, str]:
    """What each operator computes, by the name of the tensor that it makes."""
    network = model.network
    choices = ((layer, model.choices[layer.index].precision) for layer in network.layers)
    return {network.name_of(layer): each.name for layer, each in choices if each is not None}


@pytest.mark.oracle
def test_bits_are_those_of_tflm_in_all_engines(tmp_path: Path) -> None:
    """Both kernels of packed weights run, and the other engines and TFLM compute the same."""
    path = tmp_path / "model.tflite"
    path.write_bytes(quantized(is_int4=True).written.data)
    graph = kibi.load(path)
    packed = [view.output.name for view in graph.views if view.op.name in _WEIGHTED and view["filter"].is_int4]
    assert packed == ["layer0_conv", "layer2_conv", "layer3_dense"]
    found = kibi.verify(graph, target="cortex-m4", runs=2, plan_file=True)
    assert "tflm" in found.engines
    assert found.differences == ()


def test_weights_are_symmetric_and_have_the_scales_that_tflm_takes() -> None:
    """A scale for each channel of a convolution, one for a fully connected layer; two elements take a byte."""
    model = quantized(is_int4=True)
    reader = ModelReader(model.written.data)
    records = {record.name: record for record in (reader.tensor(index) for index in range(reader.tensor_count))}
    weights = {name: record for name, record in records.items() if record.type_code == tflite.TensorType.INT4}
    layers = [layer for layer in model.network.layers if layer.name in ("CONV_2D", "FULLY_CONNECTED")]
    assert set(weights) == {model.network.records[layer.inputs[1]].name for layer in layers}
    for layer in layers:
        record = weights[model.network.records[layer.inputs[1]].name]
        exact = model.network.constant(layer.inputs[1])
        assert exact is not None
        assert record.data is not None
        assert record.quantization is not None
        assert record.data.size == (exact.size + 1) // 2
        assert len(record.quantization.scales) == (exact.shape[0] if layer.name == "CONV_2D" else 1)
        assert set(record.quantization.zero_points.tolist()) == {0}
        elements = unpacked(record.data, exact.size)
        assert np.abs(elements).max() == 7


def test_error_is_larger_and_flash_smaller_than_with_int8() -> None:
    """Half of the bytes of weights, at less than four bits of precision."""
    wide, narrow = (quantized(is_int4=is_int4) for is_int4 in (False, True))
    decibels = [answer_noise(model, rows_of(40, 2)).decibels for model in (wide, narrow)]
    assert 10 < decibels[1] < decibels[0] - 6
    shares = [shares_of(model, target("cortex-m4")) for model in (wide, narrow)]
    assert shares[1].costs.flash_bytes < shares[0].costs.flash_bytes - 1024
    dense = next(layer.index for layer in wide.network.layers if layer.name == "FULLY_CONNECTED")
    bytes_ = [each.layers[dense].flash_bytes for each in shares]
    assert bytes_ == [10 * 297 + 40, 10 * 297 // 2 + 40]
    assert (shares[1].conversions, shares[1].converted) == (0, 0)


def test_names_give_operators_weights_of_int4() -> None:
    """By kind or tensor; the others keep int8, and of several types the most precise one counts."""
    types = types_of(quantized(int4=frozenset(("CONV_2D",)), int16=frozenset(("layer0_conv",))))
    assert types == {
        "layer0_conv": "int16",
        "layer1_depthwise": "int8",
        "layer2_conv": "int4",
        "layer3_dense_flat": "int8",
        "layer3_dense": "int8",
        "scores": "int8",
    }


def test_operator_of_int4_in_a_network_of_int16_computes_int8() -> None:
    """It is converted to and from, as any operator of another type."""
    model = quantized(activations=DType.S16, int4=frozenset(("layer2_conv",)))
    names = [view.op.name for view in model.graph.views]
    assert names[1:5] == ["DEPTHWISE_CONV_2D", "QUANTIZE", "CONV_2D", "QUANTIZE"]
    assert model.graph.views[3].output.type.dtype is DType.S8
    assert model.graph.views[3]["filter"].is_int4


def _grouped() -> bytes:
    """A convolution of four channels in two groups."""
    b = ModelBuilder()
    x, y = b.input([1, 4, 4, 4], DType.F32, name="x"), b.tensor([1, 4, 4, 4], DType.F32, name="y")
    b.operator("CONV_2D", [x, b.constant(np.ones((4, 1, 1, 2), np.float32))], [y], stride_h=1, stride_w=1)
    return b.finish([y])


def _computed() -> bytes:
    """A fully connected layer whose weights are an input."""
    b = ModelBuilder()
    x, weights = b.input([1, 4], DType.F32, name="x"), b.input([3, 4], DType.F32, name="weights")
    y = b.tensor([1, 3], DType.F32, name="y")
    b.operator("FULLY_CONNECTED", [x, weights], [y])
    return b.finish([y])


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (_grouped(), "y", "CONV_2D 'y' cannot have weights of int4: its channels are in groups"),
        (_computed(), "y", "FULLY_CONNECTED 'y' .*: its weights are computed while the model runs"),
        (None, "layer1_depthwise", "DEPTHWISE_CONV_2D 'layer1_depthwise' .*: only CONV_2D and FULLY_CONNECTED"),
        (None, "SOFTMAX", r"SOFTMAX 'scores' .*\. Leave its name out, or name others"),
    ],
    ids=["groups", "computed", "depthwise", "softmax"],
)
def test_operator_that_cannot_have_int4_is_refused(data: bytes | None, name: str, reason: str) -> None:
    """With the reason, and what to do."""
    with pytest.raises(InputError, match=reason):
        Wishes(int4=frozenset((name,))).check(Network.of(data or trained(), "model.tflite"))


def test_weights_that_cannot_be_int4_stay_int8() -> None:
    """Where all weights are to be int4, nothing is refused."""
    types = types_of(quantized(is_int4=True))
    assert (types["layer1_depthwise"], types["scores"], types["layer2_conv"]) == ("int8", "int8", "int4")


def _errors(weights: Sequence[float], most: int) -> tuple[float, float]:
    """The squared error of elements, and that with the scale that reaches the largest weight."""
    reals = np.array([weights])
    made = quantize_weights(reals, 0, None, 1.0, DType.S32, most)
    full = np.abs(reals).max() / most
    found, plain = made.elements.astype(np.float64) * made.scales, np.rint(reals / full) * full
    return float(np.square(found - reals).sum()), float(np.square(plain - reals).sum())


def test_large_weights_are_cut_where_that_makes_the_error_smaller() -> None:
    """Sixteen steps are too few to reach a few far weights; 255 are not."""
    weights = np.random.default_rng(0).normal(size=400).tolist()
    found, plain = _errors(weights, 7)
    assert found < 0.8 * plain
    assert _errors(weights, 127)[0] == pytest.approx(_errors(weights, 127)[1], rel=1e-4)
    exact, _ = _errors([-7.0, 7.0, 3.0], 7)
    assert exact == pytest.approx(0, abs=1e-9)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network of dense layers, and data with labels."""
    folder = tmp_path_factory.mktemp("int4")
    net = Net([Layer("dense", 64, activation="RELU"), Layer("dense", 10)], (12, 12, 1))
    net.train(*patterns(400, 1), epochs=3)
    (folder / "net.tflite").write_bytes(net.file())
    pictures, labels = patterns(60, 2)
    np.savez(folder / "data.npz", input=pictures.astype(np.float32), labels=labels)
    return folder


@pytest.mark.slow
def test_budget_takes_int4_where_int8_does_not_fit(files: Path) -> None:
    """It is allowed to, gives it to those alone that can have it, and keeps to the limit."""
    model, data = files / "net.tflite", files / "data.npz"
    limit = 9 << 10
    with pytest.raises(PlanError, match=r"Give --flash \d+ or more, or --weights int4, or a smaller network"):
        kibi.quantize(model, data, improve=False, flash=limit)
    made = kibi.quantize(model, data, improve=False, evaluate=False, flash=limit, weights="int4")
    assert made.budget is not None
    assert made.costs_after is not None
    assert made.budget.used.flash_bytes <= limit
    assert made.costs_after == made.budget.used
    types = {each.output: each.precision for each in made.budget.types}
    assert types["layer0_dense"] == "int4"
    assert "int4" not in (types["layer0_dense_flat"], types["scores"])
    assert made.int4_operators == sum(each.precision == "int4" for each in made.budget.types)
    assert made.budget.measured <= 32
