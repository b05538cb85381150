"""The error of each layer beside a float32 model, of models that are files."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

import kibi
from examples.patterns import Layer, Net, patterns
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.quantization.comparing import compare, partners_of
from kibi.quantization.equalization import equalized
from kibi.quantization.network import Network
from kibi.quantization.noise import layer_noise
from kibi.quantization.quantizing import Model, Wishes, quantize_network
from kibi.quantization.samples import few_of


@cache
def plain() -> Model:
    """A network that has hardly learned, of uneven channels, quantized to the ranges of 40 inputs."""
    layers = [
        Layer("conv", 6, 3, 2, "RELU"),
        Layer("depthwise", 0, 3, 1, "RELU"),
        Layer("conv", 8, 1, 1, "RELU"),
        Layer("depthwise", 0, 3, 2, "RELU"),
        Layer("dense", 10),
    ]
    net = Net(layers, (12, 12, 1))
    net.train(*patterns(64, 1), epochs=1)
    for number in range(3):
        net.rescale(number, 2.0 ** np.random.default_rng(5).uniform(-7, 0, net.layers[number].channels))
    return quantize_network(Network.of(net.file(), "float.tflite"), [(each,) for each in given()], Wishes())


def given() -> Iterator[Array]:
    """The inputs."""
    yield from patterns(40, 1)[0][:, np.newaxis].astype(np.float32)


def graph_of(model: Model) -> Graph:
    """A quantized model as its file has it."""
    return parse_tflite(model.written.data, "int8.tflite")


def test_errors_of_a_file_are_those_of_kibi_quantize() -> None:
    """To the last digit: the measure and the inputs are the same; no layer is left out."""
    model = plain()
    found = compare(graph_of(model), model.network.graph, given)
    noise = layer_noise(model, few_of([(each,) for each in given()]))
    names = {model.network.records[index].name: energy.decibels for index, energy in noise.items()}
    assert {each.output: each.decibels for each in found.layers} == names
    assert (found.inputs, found.without_partner) == (32, ())
    assert not any(each.has_factors for each in found.layers)
    lost = {each.output: each.lost_decibels for each in found.layers}
    assert lost["layer1_depthwise"] == names["layer0_conv"] - names["layer1_depthwise"]


def test_factors_of_equalized_channels_are_read_from_the_weights() -> None:
    """The errors are near to those of who knows the factors, where a comparison of elements would find no signal at all."""
    model = plain().changed(equalized(plain(), 0.5))
    found = compare(graph_of(model), model.network.graph, given)
    noise = layer_noise(model, few_of([(each,) for each in given()]))
    names = {model.network.records[index].name: energy.decibels for index, energy in noise.items()}
    assert [each.output for each in found.layers if each.has_factors] == list(names)[:-2]
    for each in found.layers:
        assert each.decibels == pytest.approx(names[each.output], abs=0.5)
        assert each.decibels > 20


def test_values_that_are_not_finite_are_refused() -> None:
    """The data are at fault, and the error names the first tensor that has them."""
    with pytest.raises(InputError, match=r"tensor 'layer0_conv' of float\.tflite has values that are not finite"):
        compare(graph_of(plain()), plain().network.graph, lambda: iter([np.full((1, 12, 12, 1), np.inf, np.float32)]))


def chain(dtype: DType, *names: str, size: int = 4) -> Graph:
    """A chain of ABS whose tensors have these names."""
    builder = ModelBuilder()
    scale = () if dtype is DType.F32 else (0.05, 0)
    last = builder.input((1, size), dtype, *scale, name="x")
    for name in names:
        made = builder.tensor((1, size), dtype, *scale, name=name)
        builder.operator("ABS", [last], [made])
        last = made
    return parse_tflite(builder.finish([last]), f"{dtype}.tflite")


def values(size: int = 4) -> Callable[[], Iterator[Array]]:
    """Three inputs."""
    return lambda: (np.full((1, size), step, np.float32) for step in (-1.0, 0.5, 2.0))


def test_partners_are_found_by_names_and_by_nothing_else() -> None:
    """Parts in another order and a suffix of integers are the same name; one that two tensors have is none."""
    floats = chain(DType.F32, "a", "b;c", "d", "twice", "twice", "only", "out")
    integers = chain(DType.S8, "a", "c;b_int8", "d_int8", "twice", "e", "f", "out")
    found = partners_of(integers, floats)
    names = {integers.tensors[ours].name: floats.tensors[theirs].name for ours, theirs in found.items()}
    assert names == {"a": "a", "c;b_int8": "b;c", "d_int8": "d", "out": "out"}


@pytest.mark.parametrize(
    ("reference", "data", "text"),
    [
        (chain(DType.F32, "a", size=5), values(), "f32.tflite has inputs of \\[5\\] elements, s8.tflite of \\[4\\]"),
        (
            chain(DType.F32, "b", "c"),
            values(),
            "matched by these names, such as 'b', 'c' and 'a'.*Give the float32 model",
        ),
        (chain(DType.S8, "a"), values(), "make no tensor of float32.*Give the float32 model that s8.tflite"),
        (chain(DType.F32, "a"), values(7), "one input has the shape \\[1, 7\\]"),
        (chain(DType.F32, "a"), lambda: iter(()), "there are no inputs"),
        (chain(DType.F32, "a"), "absent.npz", "absent.npz"),
    ],
    ids=["inputs", "names", "integers", "shape", "empty", "absent"],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(reference: Graph, data: str, text: str) -> None:
    """Models of two networks, a reference that is quantized, and data of something else."""
    with pytest.raises(InputError, match=text):
        kibi.compare_layers(chain(DType.S8, "a"), reference, data)
