"""A plan file made like an older one differs from it in constants alone; where it cannot, it says which layer, and why."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kibi
from kibi.dtypes import DType
from kibi.errors import PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.passes import simplify
from kibi.planfile.layout import Layout, layout_path, load_layout
from kibi.planfile.like import layout_of, written_like
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import GRAPH, GROUP, HEADER, NODE
from kibi.planfile.run_reader import runs_of
from kibi.planfile.writer import written_file
from kibi.planner import validate
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.passes.sparse_networks import sparse_graphs
from tests.support.amount import amount

_Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _deployed(graph: Graph, target: str = "cortex-m4", *, fences: bool = False) -> tuple[bytes, Layout]:
    """The plan file of a model, and its layout."""
    simplified = simplify(graph)
    planned = validate(simplified.graph, kibi.plan(simplified.graph, target))
    file = written_file(planned, with_fences=fences)
    return file.data, replace(layout_of(planned, simplified, file), fences=fences)


def _nudged(weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A third of the weights differs by 1 or 2; none becomes zero, so that no channel becomes constant."""
    moved = weights.astype(np.int16) + np.where(
        random.random(weights.shape) < 0.3, random.choice([-2, -1, 1, 2], weights.shape), 0
    )
    return np.where((weights == 0) | (moved == 0), weights, np.clip(moved, -127, 127)).astype(np.int8)


def _tuned(graph: Graph, change: _Change = _nudged, seed: int = 0) -> Graph:
    """The model with other weights: constants of 8 bits."""
    random = np.random.default_rng(seed)
    tensors = [
        replace(each, data=change(each.data, random))
        if each.data is not None and each.type.dtype is DType.S8 and each.data.ndim > 1
        else each
        for each in graph.tensors
    ]
    return replace(graph, tensors=tuple(tensors))


def _skeleton(data: bytes) -> list[object]:
    """All that a file says apart from its constants and parameters: records, the order, where everything is."""
    file = PlanFile(data)
    graph = file.record(GRAPH, file.header["graphs"])
    nodes = [file.record(NODE, graph["nodes"] + k * NODE.size_bytes) for k in range(graph["node_count"])]
    groups = [
        data[
            each["groups"] : each["groups"]
            + GROUP.size_bytes * (each["read_count"] + each["state_count"] + each["output_count"])
        ]
        for each in nodes
    ]
    return [file.header, graph, nodes, groups, list(runs_of(file, graph, nodes))]


def _assert_same_bits(data: bytes, graph: Graph, seed: int = 0) -> None:
    """The file gives the outputs of the model."""
    random = np.random.default_rng(seed)
    inputs = [random.integers(-128, 128, graph.tensors[index].type.shape).astype(np.int8) for index in graph.inputs]
    expected = kibi.run(graph, None, inputs)
    for found, wanted in zip(kibi.open_plan(data, engine="numpy").run(inputs), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "graph",
    [residual_network(), pooled_network("MEAN"), pooled_network("FULLY_CONNECTED"), two_input_network()],
    ids=lambda graph: graph.name,
)
def test_other_weights_change_constants_alone(graph: Graph) -> None:
    """Kernels, order, places and sizes are the same; the bits are those of the new model."""
    old, layout = _deployed(graph)
    new = _tuned(graph)
    made = written_like(new, layout)
    assert made.departures == ()
    assert len(made.data) == len(old)
    assert made.data != old
    assert _skeleton(made.data) == _skeleton(old)
    assert made.layout == replace(layout, digest=made.data[-32:].hex())
    _assert_same_bits(made.data, new)


@pytest.mark.parametrize("graph", [residual_network(), pooled_network("MEAN")], ids=lambda graph: graph.name)
def test_other_weights_of_a_file_with_fences_are_all_behind_them(graph: Graph) -> None:
    """A core can write them while the older file is open: the new file has the same fences, and no other byte differs."""
    old, layout = _deployed(graph, fences=True)
    made = written_like(_tuned(graph), layout)
    before, after = PlanFile(old), PlanFile(made.data)
    assert made.departures == ()
    assert made.layout.fences
    assert before.fences == after.fences != ()
    end = before.fences[-1].offset + before.fences[-1].size_bytes
    differ = [k for k, (a, b) in enumerate(zip(old[:-32], made.data[:-32], strict=True)) if a != b]
    assert differ
    assert HEADER.size_bytes <= min(differ) <= max(differ) < end


@settings(max_examples=amount(10, 30), suppress_health_check=[HealthCheck.too_slow])
@given(sparse_graphs(), st.integers(0, 1 << 16), st.booleans())
def test_file_like_another_has_its_layout_or_says_why_not(graph: Graph, seed: int, is_rough: bool) -> None:
    """Networks with constant channels: some wake up, others become constant. The bits are always those of the new model."""

    def rough(weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
        return np.where(random.random(weights.shape) < 0.05, random.integers(-127, 128, weights.shape), weights).astype(
            np.int8
        )

    old, layout = _deployed(graph)
    new = _tuned(graph, rough if is_rough else _nudged, seed)
    made = written_like(new, layout)
    if not made.departures:
        assert _skeleton(made.data) == _skeleton(old)
    _assert_same_bits(made.data, new, seed)


def _three_channels(weights: Sequence[int]) -> Graph:
    """Two 1 x 1 convolutions; channel k of the first is weights[k] times the image."""
    builder = ModelBuilder()
    image = builder.input([1, 4, 4, 1], DType.S8, 0.05, 0)
    first = builder.constant(np.array(weights, np.int8).reshape(3, 1, 1, 1), 0.01, 0)
    second = builder.constant(np.array([[5, 6, 7], [8, 9, 10]], np.int8).reshape(2, 1, 1, 3), 0.01, 0)
    middle = builder.tensor([1, 4, 4, 3], DType.S8, 0.05, 0, name="middle")
    output = builder.tensor([1, 4, 4, 2], DType.S8, 0.05, 0)
    options: dict[str, Attribute] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    builder.operator("CONV_2D", [image, first], [middle], options)
    builder.operator("CONV_2D", [middle, second], [output], options)
    return parse_tflite(builder.finish([output]), "three.tflite")


def test_channel_that_wakes_up_is_named() -> None:
    """It was constant, so the old file does not have it."""
    _, layout = _deployed(_three_channels((30, 0, 50)))
    made = written_like(_three_channels((30, 40, 50)), layout)
    assert [each.where for each in made.departures] == ["operator 0 (CONV_2D)"]
    assert "channel 1 must stay" in made.departures[0].what
    _assert_same_bits(made.data, _three_channels((30, 40, 50)))


def test_channel_that_becomes_constant_stays() -> None:
    """A new model would be smaller by it; like the old one it keeps the layout."""
    old, layout = _deployed(_three_channels((30, 40, 50)))
    new = _three_channels((30, 0, 50))
    made = written_like(new, layout)
    assert made.departures == ()
    assert _skeleton(made.data) == _skeleton(old)
    assert any(_deployed(new)[1].channels)
    assert not any(layout.channels)
    _assert_same_bits(made.data, new)


def _depthwise(scale: float = 0.002) -> Graph:
    """A depthwise convolution whose fast kernel needs a small scale of its weights."""
    builder = ModelBuilder()
    image = builder.input([1, 8, 8, 8], DType.S8, 0.05, -128)
    weights = np.full((1, 3, 3, 8), 3, np.int8)
    filters = builder.constant(weights, [scale] * 8, [0] * 8, axis=3)
    output = builder.tensor([1, 8, 8, 8], DType.S8, 0.04, -128)
    options: dict[str, Attribute] = {
        "padding": "SAME",
        "stride_h": 1,
        "stride_w": 1,
        "fused_activation_function": "RELU",
        "depth_multiplier": 1,
    }
    builder.operator("DEPTHWISE_CONV_2D", [image, filters, builder.constant(np.zeros(8, np.int32))], [output], options)
    return parse_tflite(builder.finish([output]), "depthwise.tflite")


def test_layer_that_its_kernel_cannot_run_gets_the_general_one() -> None:
    """The text names the layer and both kernels."""
    _, layout = _deployed(_depthwise())
    assert layout.plan.kernels == ("kibi_depthwise_conv2d_s8_3x3_relu",)
    made = written_like(_depthwise(0.9), layout)
    assert [each.where for each in made.departures] == ["operator 0 (DEPTHWISE_CONV_2D)"]
    assert "kibi_depthwise_conv2d_s8 runs it" in made.departures[0].what
    assert made.layout.plan.kernels == ("kibi_depthwise_conv2d_s8",)
    _assert_same_bits(made.data, _depthwise(0.9))


def test_another_structure_is_named() -> None:
    """A model with further operators gets a plan of its own."""
    _, layout = _deployed(residual_network())
    for other in (two_input_network(), residual_network(height=10)):
        made = written_like(other, layout)
        assert made.departures
        _assert_same_bits(made.data, other)


def test_constants_that_were_equal_and_differ_are_a_departure() -> None:
    """Two layers shared their bytes; all that follows moves."""

    def twice(first: int, second: int) -> Graph:
        builder = ModelBuilder()
        tensor = builder.input([1, 4, 4, 2], DType.S8, 0.05, 0)
        for value in (first, second):
            weights = np.arange(value, value + 4, dtype=np.int8).reshape(2, 1, 1, 2)
            output = builder.tensor([1, 4, 4, 2], DType.S8, 0.05, 0)
            options: dict[str, Attribute] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
            builder.operator("CONV_2D", [tensor, builder.constant(weights, 0.1, 0)], [output], options)
            tensor = output
        return parse_tflite(builder.finish([tensor]), "twice.tflite")

    _, layout = _deployed(twice(20, 20))
    assert written_like(twice(30, 30), layout).departures == ()
    (departure,) = written_like(twice(20, 30), layout).departures
    assert "equal in the old file" in departure.what
    _, apart = _deployed(twice(20, 30))
    made = written_like(twice(20, 20), apart)
    assert made.departures == ()
    assert made.layout.places == apart.places != layout.places


def test_layout_is_written_beside_the_file_and_read_again(tmp_path: Path) -> None:
    """`compile_plan` writes both; `compile_like` needs both."""
    graph = residual_network()
    path, new = tmp_path / "old.kibi", tmp_path / "new.kibi"
    simplified = simplify(graph)
    kibi.compile_plan(simplified.graph, path=path, simplified=simplified)
    layout = load_layout(path, path.read_bytes())
    assert layout.digest == path.read_bytes()[-32:].hex()
    made = kibi.compile_like(_tuned(graph), path, new)
    assert new.read_bytes() == made.data
    assert load_layout(new, made.data) == made.layout
    kibi.compile_like(_tuned(graph, seed=1), new, tmp_path / "newer.kibi")


@pytest.mark.parametrize("what", ["missing", "other", "text", "format", "plan", "channels"])
def test_wrong_layout_is_refused(what: str, tmp_path: Path) -> None:
    """It is missing, that of another file, no JSON, of another version, or damaged: the error names it, and nothing is written."""
    graph, path = residual_network(), tmp_path / "old.kibi"
    simplified = simplify(graph)
    kibi.compile_plan(simplified.graph, path=path, simplified=simplified)
    place = layout_path(path)
    saved = json.loads(place.read_text())
    if what == "missing":
        place.unlink()
    elif what == "text":
        place.write_text("{")
    else:
        wrong = {
            "other": ("digest", "0" * 64),
            "format": ("layout", 9),
            "plan": ("plan", 3),
            "channels": ("channels", [[1]]),
        }
        name, value = wrong[what]
        place.write_text(json.dumps({**saved, name: value}))
    with pytest.raises(PlanError, match=r"old\.kibi|plan"):
        kibi.compile_like(graph, path, tmp_path / "new.kibi")
    assert not (tmp_path / "new.kibi").exists()


def test_departures_are_written_only_where_they_are_wanted(tmp_path: Path) -> None:
    """Without `otherwise` the error lists them."""
    path, new = tmp_path / "old.kibi", tmp_path / "new.kibi"
    simplified = simplify(_depthwise())
    kibi.compile_plan(simplified.graph, path=path, simplified=simplified)
    with pytest.raises(PlanError, match=r"cannot keep the layout of old\.kibi"):
        kibi.compile_like(_depthwise(0.9), path, new)
    assert not new.exists()
    assert kibi.compile_like(_depthwise(0.9), path, new, otherwise=True).departures
    assert new.exists()
