"""Every operator that has a rule computes integers that are near to its floats."""

from collections.abc import Iterator

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import KibiError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.quantization.network import Network
from kibi.quantization.noise import exact_elements, noise_of
from kibi.quantization.quantizing import Model, Wishes, quantize_network
from kibi.quantization.rules import RULES, Scales
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.python_runner import PythonRunner, without_compiler

Rows = list[tuple[Array, ...]]
_LEAST = {DType.S8: 22.0, DType.S16: 30.0}
_LEAST_OF_DIRECTIONS = 15.0
"""Of L2_NORMALIZATION: a vector that rounds to 0 has no direction."""
_HARD = {
    "DIV": "a quotient by what is almost 0 has an error of any size",
    "SOFTMAX": "steep ones lose what small differences of their inputs say",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "it has variables: test_recurrent.py",
}
_ASKING = sorted(name for name, rule in RULES.items() if rule.scales is Scales.NONE)
_EXACT = sorted(RULES.keys() - _HARD.keys() - set(_ASKING))


@pytest.fixture(autouse=True)
def in_python() -> Iterator[None]:
    """Graphs run in Python."""
    with without_compiler():
        yield


def drawn(name: str, seed: int) -> tuple[Network, Rows] | None:
    """A float32 model of an operator, and inputs; None where the seed draws integers or constants beyond all measure."""
    case = OPERATOR_MODELS[name](Seeded(seed))
    try:
        network = Network.of(case.model, "model.tflite")
    except KibiError:
        return None
    if network.graph.variables or not network.reals or not _are_usual(network):
        return None
    rng = np.random.default_rng(seed)
    kinds = [network.graph.tensors[index].type for index in network.inputs]
    return network, [
        tuple(
            _values(name, rng, kind.shape) if kind.dtype is DType.F32 else given
            for kind, given in zip(kinds, case.inputs, strict=True)
        )
        for _ in range(3)
    ]


def _values(name: str, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Inputs of an operator; a root needs values above 0."""
    values = rng.uniform(0.5, 2, shape) if name == "RSQRT" else rng.normal(size=shape)
    return values.astype(np.float32)


def _are_usual(network: Network) -> bool:
    """True if constants are numbers that a trained network may have."""
    reals = [
        tensor.data for tensor in network.graph.tensors if tensor.data is not None and tensor.data.dtype == np.float32
    ]
    sizes = np.concatenate([np.abs(each[each != 0]).reshape(-1) for each in reals] or [np.ones(1)])
    return bool(np.isfinite(sizes).all() and sizes.max(initial=1) < 1e3 and sizes.min(initial=1) > 1e-4)


def models(name: str, activations: DType) -> Iterator[tuple[Model, Rows]]:
    """Quantized models of an operator in which it computes integers."""
    for seed in range(amount(8, 200)):
        made = drawn(name, seed)
        if made is None:
            continue
        network, rows = made
        model = quantize_network(network, rows, Wishes(activations=activations))
        if not any(choice.dtype is DType.F32 for choice in model.choices.values()):
            yield model, rows


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("activations", [DType.S8, DType.S16], ids=str)
@pytest.mark.parametrize("name", _EXACT)
def test_integers_are_near_to_floats(name: str, activations: DType) -> None:
    """Also in operators whose kernels in TFLM take 0 for the zero point, or copy elements whatever their scales."""
    least = _LEAST_OF_DIRECTIONS if name == "L2_NORMALIZATION" else _LEAST[activations]
    for model, rows in models(name, activations):
        outputs = [index for index in model.network.outputs if model.network.is_real(index)]
        exact = list(exact_elements(model.network, outputs, rows))
        for energy in noise_of(model, outputs, exact, rows).values():
            if energy.signal > 1e-3:
                assert energy.decibels > least, model.graph.views


@pytest.mark.parametrize("name", sorted(set(_EXACT) - {"ADD_N"}))
def test_operator_computes_int8_for_most_models(name: str) -> None:
    """A rule would be of no use if kernels refused what it makes."""
    networks = sum(drawn(name, seed) is not None for seed in range(amount(8, 200)))
    made = sum(1 for _ in models(name, DType.S8))
    assert made >= networks * 0.5
    assert made or not networks


def test_quotient_and_softmax_are_near_to_floats_where_that_can_be() -> None:
    """A quotient by what is far from 0, and a softmax of usual steepness."""
    b = ModelBuilder()
    x, y = b.input([1, 64], DType.F32, name="x"), b.input([1, 64], DType.F32, name="y")
    quotient, scores = b.tensor([1, 64], DType.F32, name="quotient"), b.tensor([1, 64], DType.F32, name="scores")
    b.operator("DIV", [x, y], [quotient])
    b.operator("SOFTMAX", [quotient], [scores], beta=1.0)
    network, rng = Network.of(b.finish([quotient, scores]), "model.tflite"), np.random.default_rng(0)
    rows: Rows = [
        (rng.normal(size=(1, 64)).astype(np.float32), rng.uniform(1, 2, (1, 64)).astype(np.float32)) for _ in range(9)
    ]
    model = quantize_network(network, rows, Wishes())
    outputs = list(network.outputs)
    noise_found = noise_of(model, outputs, exact_elements(network, outputs, rows), rows)
    assert [noise_found[index].decibels > least for index, least in zip(outputs, (30, 20), strict=True)] == [True, True]


@pytest.mark.parametrize("name", _ASKING)
def test_answers_about_integers_are_mostly_those_about_floats(name: str) -> None:
    """Comparisons and the places of extremes differ only where values are almost equal."""
    same, count = 0, 0
    for model, rows in models(name, DType.S8):
        outputs = list(model.network.outputs)
        exact = exact_elements(model.network, outputs, rows)
        places = [model.graph.outputs[0]]
        found = PythonRunner(model.graph, places).run_all([model.inputs_of(inputs) for inputs in rows])
        for (wanted,), (answer,) in zip(exact, found, strict=True):
            same, count = same + int((wanted == answer).sum()), count + wanted.size
    assert same >= 0.9 * count


def test_every_operator_without_an_int8_kernel_stays_float32() -> None:
    """With the reason; conversions are on both sides."""
    b = ModelBuilder()
    x = b.input([1, 8], DType.F32, name="x")
    y, z = b.tensor([1, 8], DType.F32, name="sine"), b.tensor([1, 8], DType.F32, name="z")
    b.operator("SIN", [x], [y])
    b.operator("ADD", [y, y], [z])
    network = Network.of(b.finish([z]), "model.tflite")
    rows: Rows = [(np.linspace(-2, 2, 8, dtype=np.float32).reshape(1, 8),)]
    model = quantize_network(network, rows, Wishes())
    assert model.choices[0].reason == "there is no SIN of int8"
    assert [view.op.name for view in model.graph.views] == ["SIN", "QUANTIZE", "ADD"]
    assert model.graph.tensors[model.graph.inputs[0]].type.dtype is DType.F32
