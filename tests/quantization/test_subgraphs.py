"""Models with several subgraphs: the first one computes integers, the others stay as they are."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.errors import KibiError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir.evaluation import evaluator
from kibi.quantization.calibration import Channels
from kibi.quantization.network import Network
from kibi.quantization.noise import answer_noise
from kibi.quantization.quantizing import Changes, Model, Wishes, quantize_network
from tests.support.amount import amount
from tests.support.case import Case
from tests.support.choices import Seeded
from tests.support.control_models import conditional, loop
from tests.support.variable_models import call_once, handle, initialized

Rows = list[tuple[Array, ...]]


def dense(b: ModelBuilder, at: int, name: str, seed: int) -> int:
    """A dense layer of four units."""
    weights = b.constant(np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32), name=f"{name}_weights")
    made = b.tensor([1, 4], DType.F32, name=name)
    b.operator("FULLY_CONNECTED", [at, weights, -1], [made])
    return made


def branching() -> bytes:
    """A dense layer, an IF whose branches take the square or the opposite, and another dense layer."""
    b = ModelBuilder()
    x, condition = b.input([1, 4], DType.F32, name="x"), b.input([1], DType.BOOL, name="condition")
    chosen = b.tensor([1, 4], DType.F32, name="chosen")
    first = dense(b, x, "first", 1)
    b.operator("IF", [condition, first], [chosen], then_subgraph_index=1, else_subgraph_index=2)
    outputs = [dense(b, chosen, "last", 2)]
    for name, operands in (("MUL", 2), ("NEG", 1)):
        b.end_subgraph(outputs)
        given, made = b.input([1, 4], DType.F32, name="given"), b.tensor([1, 4], DType.F32, name="made")
        b.operator(name, [given] * operands, [made])
        outputs = [made]
    return b.finish(outputs)


def vectors(count: int) -> Rows:
    """Inputs, with either condition."""
    rng = np.random.default_rng(3)
    return [(rng.normal(size=(1, 4)).astype(np.float32), np.array([number % 2 == 0])) for number in range(count)]


def quantized(data: bytes, rows: Rows, wishes: Wishes | None = None) -> Model:
    """A model with the ranges of its inputs."""
    return quantize_network(Network.of(data, "model.tflite"), rows, wishes or Wishes())


def test_branches_stay_float32_between_layers_of_integers() -> None:
    """What goes in and out of an IF is converted, and both branches compute what they did."""
    model = quantized(branching(), vectors(40))
    assert [view.op.name for view in model.graph.views] == [
        *("FULLY_CONNECTED", "DEQUANTIZE", "IF", "QUANTIZE", "FULLY_CONNECTED")
    ]
    assert model.choices[1].reason == "the subgraphs that it runs stay float32"
    assert answer_noise(model, vectors(40)).decibels > 30


@pytest.mark.oracle
def test_model_with_branches_has_the_bits_of_tflm(tmp_path: Path) -> None:
    """The file that is written is one that TFLM runs, with the same bits."""
    (tmp_path / "model.tflite").write_bytes(quantized(branching(), vectors(9)).written.data)
    found = kibi.verify(kibi.load(tmp_path / "model.tflite"), target="host", runs=4)
    assert "tflm" in found.engines
    assert found.differences == ()


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("draw", [conditional, loop])
def test_subgraphs_are_copied_as_they_are(draw: Callable[[Seeded], Case]) -> None:
    """Of drawn models that stay float32, the new file gives the same outputs, bit by bit, however its subgraphs are nested."""
    compared = 0
    for seed in range(amount(200, 2000)):
        case = draw(Seeded(seed))
        try:
            network = Network.of(case.model, "model.tflite")
        except KibiError:  # no float32, or elements of integers with scales
            continue
        names = frozenset(layer.name for layer in network.layers)
        seen = {index: _nothing(network, index) for index in network.reals}
        made = Model.of(network, seen, Wishes(floats=names), Changes(), {})
        outputs = [evaluator(graph)(case.inputs) for graph in (network.graph, made.graph)]
        for first, second in zip(*outputs, strict=True):
            assert np.asarray(first).tobytes() == np.asarray(second).tobytes()
        compared += 1
    assert compared > 5


def _nothing(network: Network, index: int) -> Channels:
    shape = network.graph.tensors[index].type.shape
    zeros = np.zeros(shape[-1] if shape else 1)
    return Channels(zeros, zeros, zeros)


def counting(first: float | None) -> bytes:
    """A model that adds its input to a variable, and multiplies the sum; the variable begins with a value or with 0."""
    b = ModelBuilder()
    if first is not None:
        call_once(b)
    x, place = b.input([1, 4], DType.F32, name="x"), handle(b, "total")
    old, new = (b.tensor([1, 4], DType.F32, name=name) for name in ("old", "new"))
    b.operator("READ_VARIABLE", [place], [old])
    b.operator("ADD", [x, old], [new])
    b.operator("ASSIGN_VARIABLE", [place, new], [])
    y = dense(b, new, "y", 1)
    return b.finish([y]) if first is None else initialized(b, [y], {"total": np.full((1, 4), first, np.float32)})


@pytest.mark.parametrize("first", [None, 30.0, -30.0])
def test_variables_stay_float32_and_what_is_read_has_their_range(first: float | None) -> None:
    """Also their first value, which a subgraph assigns once, is in the range of what reads them."""
    rows: Rows = [(inputs[0],) for inputs in vectors(30)]
    model = quantized(counting(first), rows, Wishes(keep_state=True))
    assert {choice.reason for choice in model.choices.values()} == {"", "its variable stays float32"}
    assert answer_noise(model, rows).decibels > 30
    old = next(index for index, record in enumerate(model.network.records) if record.name == "old")
    low, high = model.seen[old].range.low, model.seen[old].range.high
    assert low <= min(first or 0, 0)
    assert high >= max(first or 0, 0)
    kind = model.written.layout.type_of((old, DType.S8))
    assert (127 - kind.zero_point) * kind.scale >= high - kind.scale


def test_first_value_of_a_variable_is_read_though_nothing_like_it_is_assigned() -> None:
    """A delay by one inference: the first one reads what CALL_ONCE assigned, far from all inputs."""
    b = ModelBuilder()
    call_once(b)
    x, place = b.input([1, 4], DType.F32, name="x"), handle(b, "last")
    old = b.tensor([1, 4], DType.F32, name="old")
    b.operator("READ_VARIABLE", [place], [old])
    b.operator("ASSIGN_VARIABLE", [place, x], [])
    data = initialized(b, [dense(b, old, "y", 1)], {"last": np.full((1, 4), 30, np.float32)})
    rows: Rows = [(inputs[0],) for inputs in vectors(2)]
    assert answer_noise(quantized(data, rows, Wishes(keep_state=True)), rows).decibels > 30


def test_variable_that_is_given_another_ones_value_has_the_range_of_all() -> None:
    """A value that goes from variable to variable is in the ranges of both."""
    b = ModelBuilder()
    x, y = b.input([1, 4], DType.F32, name="x"), b.tensor([1, 4], DType.F32, name="y")
    handles = [handle(b, name) for name in ("one", "two")]
    olds = [b.tensor([1, 4], DType.F32, name=f"old{number}") for number in range(2)]
    for place, old in zip(handles, olds, strict=True):
        b.operator("READ_VARIABLE", [place], [old])
    b.operator("ASSIGN_VARIABLE", [handles[1], olds[0]], [])
    b.operator("ASSIGN_VARIABLE", [handles[0], x], [])
    b.operator("MUL", [olds[1], x], [y])
    rows: Rows = [(np.full((1, 4), 5.0, np.float32),), (np.full((1, 4), -7.0, np.float32),)]
    model = quantized(b.finish([y]), rows, Wishes(keep_state=True))
    found = [model.seen[index].range for index, record in enumerate(model.network.records) if record.name == "old1"]
    assert [(each.low, each.high) for each in found] == [(-7.0, 5.0)]


def test_output_that_is_read_of_a_variable_stays_float32() -> None:
    """It is given as it is stored, with no loss."""
    b = ModelBuilder()
    x, place, old = b.input([1, 4], DType.F32, name="x"), handle(b, "last"), b.tensor([1, 4], DType.F32, name="old")
    b.operator("READ_VARIABLE", [place], [old])
    b.operator("ASSIGN_VARIABLE", [place, x], [])
    y = dense(b, x, "y", 1)
    rows: Rows = [(inputs[0],) for inputs in vectors(20)]
    model = quantized(b.finish([old, y]), rows, Wishes(keep_state=True))
    assert [model.graph.tensors[index].type.dtype for index in model.graph.outputs] == [DType.F32, DType.S8]
    assert answer_noise(model, rows).decibels > 30


def test_other_entry_points_stay_as_they_are(tmp_path: Path) -> None:
    """A file with two signatures keeps both: the first one's graph computes integers, the other's float32."""
    b = ModelBuilder()
    x = b.input([1, 4], DType.F32, name="x")
    first = dense(b, x, "first", 1)
    b.signature("one", 0, [("x", x)], [("y", first)])
    b.end_subgraph([first])
    given = b.input([1, 4], DType.F32, name="given")
    other = dense(b, given, "other", 2)
    b.signature("two", 1, [("x", given)], [("y", other)])
    data = b.finish([other])
    made = quantized(data, [(inputs[0],) for inputs in vectors(9)]).written.data
    graphs = [parse_tflite(each, "model.tflite", "two") for each in (data, made)]
    assert graphs[0] == graphs[1]
    one = parse_tflite(made, "model.tflite", "one")
    assert {one.tensors[index].type.dtype for index in (*one.inputs, *one.outputs)} == {DType.S8}
    assert [each.key for each in one.signatures] == ["one", "two"]
    (tmp_path / "model.tflite").write_bytes(made)
    assert kibi.load(tmp_path / "model.tflite", signature="two").tensors[0].type.dtype is DType.F32


def test_subgraphs_that_cannot_be_written_are_refused() -> None:
    """With the tensor or the operator, and what to do."""
    network = Network.of(branching(), "model.tflite")
    subgraph = network.subgraphs[0]
    sparse = replace(subgraph, tensors=(replace(subgraph.tensors[0], is_sparse=True), *subgraph.tensors[1:]))
    strange = replace(subgraph, tensors=(replace(subgraph.tensors[0], type_code=99), *subgraph.tensors[1:]))
    layer = subgraph.layers[0]
    unknown = replace(subgraph, layers=(replace(layer, record=replace(layer.record, name="BUILTIN:999")),))
    found = [str(problem) for each in (subgraph, sparse, strange, unknown) for problem in each.problems()]
    assert [text.split(". ")[0] for text in found] == [
        "tensor 'given': subgraph 1 has a tensor that is sparse, or stored in a way that Kibi does not write",
        "tensor 'given': subgraph 1 has a tensor of an unknown type",
        "operator 0: subgraph 1 has an operator that Kibi does not know: BUILTIN:999",
    ]
