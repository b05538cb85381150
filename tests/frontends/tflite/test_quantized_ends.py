"""Files whose float32 inputs or outputs become the integers inside: the same bits, and TFLM's."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.quantized_ends import with_quantized_ends
from kibi.ir import Graph
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from tests.frontends.models import classifier, fully_connected
from tests.support.oracle import requires_oracle
from tests.support.zoo import model_path, requires_zoo

_SCALE, _ZERO = 0.05, 3


def _changed(data: bytes, *, inputs: bool = True, outputs: bool = True) -> Graph:
    return parse_tflite(with_quantized_ends(data, "model.tflite", inputs=inputs, outputs=outputs)[0], "model.tflite")


def _outputs(graph: Graph, *inputs: Array) -> list[Array]:
    return Interpreter(graph, plan(graph, target("host"))).run(list(inputs))


def _two_inputs() -> bytes:
    """Two float32 inputs that meet in an ADD of int8, an int8 output, its float32 value as another, and a signature."""
    b = ModelBuilder()
    floats = [b.input([1, 6], DType.F32, name=name) for name in ("left", "right")]
    integers = [b.tensor([1, 6], DType.S8, _SCALE, _ZERO, name=f"{name} int8") for name in ("left", "right")]
    for given, made in zip(floats, integers, strict=True):
        b.operator("QUANTIZE", [given], [made])
    total = b.tensor([1, 6], DType.S8, 2 * _SCALE, -_ZERO, name="sum")
    b.operator("ADD", integers, [total])
    value = b.tensor([1, 6], DType.F32, name="value")
    b.operator("DEQUANTIZE", [total], [value])
    b.signature("serve", 0, [("a", floats[0]), ("b", floats[1])], [("value", value), ("sum", total)])
    return b.finish(outputs=[value, total])


def test_integers_have_the_bits_that_floats_led_to() -> None:
    """For inputs of all integers, the outputs of the changed model are those before the DEQUANTIZE."""
    before, after = parse_tflite(classifier(), "model.tflite"), _changed(classifier())
    names = [node.op.name for node in before.nodes]
    assert (names[0], names[-1]) == ("QUANTIZE", "DEQUANTIZE")
    assert [node.op.name for node in after.nodes] == names[1:-1]
    kind = after.tensors[after.inputs[0]].type
    assert (kind.dtype, kind.shape) == (DType.S8, (1, 8, 8, 1))
    assert kind.quantization is not None
    for seed in range(4):
        given = np.random.default_rng(seed).integers(-128, 128, kind.shape).astype(np.int8)
        real = (kind.quantization.scale * (given.astype(np.float32) - kind.quantization.zero_point)).astype(np.float32)
        (expected,) = _outputs(before, real)
        (found,) = _outputs(after, given)
        assert found.dtype == np.int8
        assert np.array_equal((found.astype(np.float32) + 128) / np.float32(256), expected)


@pytest.mark.parametrize(("inputs", "outputs"), [(True, False), (False, True)])
def test_each_side_changes_alone(inputs: bool, outputs: bool) -> None:
    """The other side stays float32."""
    graph = _changed(classifier(), inputs=inputs, outputs=outputs)
    kinds = [graph.tensors[index].type.dtype for index in (*graph.inputs, *graph.outputs)]
    assert kinds == [DType.S8 if inputs else DType.F32, DType.S8 if outputs else DType.F32]


def test_signatures_and_several_inputs_follow() -> None:
    """A signature keeps its names; an output that was an integer already stays."""
    data, count = with_quantized_ends(_two_inputs(), "two.tflite", inputs=True, outputs=True)
    assert count == 3
    graph = parse_tflite(data, "two.tflite", "serve")
    assert [graph.tensors[index].name for index in graph.inputs] == ["a", "b"]
    assert {graph.tensors[index].type.dtype for index in (*graph.inputs, *graph.outputs)} == {DType.S8}
    assert [node.op.name for node in graph.nodes] == ["ADD"]
    found = _outputs(graph, np.full((1, 6), 10, np.int8), np.full((1, 6), -4, np.int8))
    assert len({each.tobytes() for each in found}) == 1


def test_file_without_floats_at_its_ends_stays() -> None:
    """Nothing to do is no error, and no byte changes."""
    assert with_quantized_ends(fully_connected(), "fc.tflite", inputs=True, outputs=True) == (fully_connected(), 0)


def _float_model() -> bytes:
    b = ModelBuilder()
    x, y = b.input([1, 4], DType.F32, name="x"), b.tensor([1, 4], DType.F32, name="y")
    b.operator("RELU", [x], [y])
    return b.finish(outputs=[y])


def _read_twice() -> bytes:
    b = ModelBuilder()
    x = b.input([1, 4], DType.F32, name="x")
    made = [b.tensor([1, 4], DType.S8, _SCALE, _ZERO) for _ in range(2)]
    for each in made:
        b.operator("QUANTIZE", [x], [each])
    return b.finish(outputs=made)


def _input_is_output() -> bytes:
    b = ModelBuilder()
    x, y = b.input([1, 4], DType.F32, name="x"), b.tensor([1, 4], DType.S8, _SCALE, _ZERO)
    b.operator("QUANTIZE", [x], [y])
    return b.finish(outputs=[y, x])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (_float_model(), ["input 'x' is read as float32 by RELU", "output 'y' is made as float32 by RELU"]),
        (_read_twice(), ["input 'x' is read by 2 operators, not by one QUANTIZE"]),
        (_input_is_output(), ["input 'x' is an output, too", "output 'x' is made as float32 by no operator"]),
    ],
    ids=["float", "twice", "output"],
)
def test_ends_that_cannot_be_integers_are_named(data: bytes, what: list[str]) -> None:
    """All of them, with the operator and the remedy."""
    with pytest.raises(ModelError) as refusal:
        with_quantized_ends(data, "model.tflite", inputs=True, outputs=True)
    assert [problem.what for problem in refusal.value.problems] == what
    assert all("kibi quantize" in problem.remedy for problem in refusal.value.problems)


def test_damaged_files_end_in_an_error_or_a_sound_model() -> None:
    """Whatever byte is wrong."""
    data, chosen = classifier(), np.random.default_rng(5)
    for _ in range(150):
        broken = bytearray(data)
        for place in chosen.integers(0, len(data), 2):
            broken[place] = chosen.integers(256)
        try:
            made, _ = with_quantized_ends(bytes(broken), "broken.tflite", inputs=True, outputs=True)
            parse_tflite(made, "broken.tflite")
        except ModelError:
            continue


@requires_oracle
def test_loaded_copy_is_compared_with_tflm(tmp_path: Path) -> None:
    """`kibi.load` gives a graph of a copy that TFLM runs; the file itself stays, and so does its name."""
    path = tmp_path / "classifier.tflite"
    path.write_bytes(classifier())
    graph = kibi.load(path, quantized_inputs=True, quantized_outputs=True)
    assert (graph.source, graph.name) == ("classifier.tflite", "classifier")
    found = kibi.verify(kibi.simplify(graph), target="host", runs=2)
    assert found.is_exact
    assert "tflm" in found.engines
    assert path.read_bytes() == classifier()


def test_converted_file_says_what_changed(tmp_path: Path) -> None:
    """`kibi.convert` writes the file, with a note."""
    (tmp_path / "in.tflite").write_bytes(classifier())
    made = kibi.convert(tmp_path / "in.tflite", tmp_path / "out.tflite", quantized_inputs=True, quantized_outputs=True)
    assert made.notes == ("inputs and outputs that are integers now: 2",)
    graph = kibi.load(tmp_path / "out.tflite")
    assert {graph.tensors[index].type.dtype for index in (*graph.inputs, *graph.outputs)} == {DType.S8}


@requires_zoo
@requires_oracle
@pytest.mark.parametrize(
    "name", ["cfu_magic_wand", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mcunet_vww", "diy_alexa"))]
)
def test_zoo_models_have_the_bits_of_tflm(name: str) -> None:
    """Real files of converters, in Python, in C and in TFLM."""
    graph = kibi.simplify(kibi.load(model_path(name), quantized_inputs=True, quantized_outputs=True))
    found = kibi.verify(graph, target="host", runs=2)
    assert found.is_exact
    assert "tflm" in found.engines
