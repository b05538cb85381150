"""Elementwise operators whose inputs broadcast along axes in any turns, up to six axes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same
from tests.support.amount import sample

_SHAPE = (2, 2, 3, 2, 3, 2)
_Shapes = list[tuple[int, ...]]


def _masked(mask: int, rank: int) -> tuple[int, ...]:
    """The last axes of the shape, those that the mask has not with one element."""
    return tuple(size if mask >> axis & 1 else 1 for axis, size in enumerate(_SHAPE[-rank:]))


def _model(name: str, shapes: _Shapes, constants: dict[int, np.ndarray] | None = None) -> bytes:
    b = ModelBuilder()
    output = np.broadcast_shapes(*shapes)
    given = [
        b.constant(constants[place]) if constants and place in constants else b.input(shape, DType.F32)
        for place, shape in enumerate(shapes)
    ]
    y = b.tensor(output, DType.BOOL if name == "LESS" else DType.F32)
    b.operator(name, given, [y])
    return b.finish([y])


@pytest.mark.parametrize(
    ("name", "rank"), sample([("SUB", 5), ("SUB", 6), ("LESS", 6), ("LESS", 5)], [("SUB", 6), ("LESS", 5)])
)
def test_broadcast_along_any_axes_equals_tflm(name: str, rank: int, oracle: Oracle) -> None:
    """Each input has any of the axes."""
    rng = np.random.default_rng(rank)
    everything = (1 << rank) - 1
    pairs = [(first, second) for first in range(everything + 1) for second in (everything, everything ^ first)]
    for first, second in pairs:
        shapes = [_masked(first, rank), _masked(second, rank)]
        data = [rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes]
        model = _model(name, shapes)
        graph = parse_tflite(model, "m.tflite")
        assert_same(graph, Interpreter(graph).run(data), oracle.run(model, [data])[0].outputs)


@pytest.mark.slow
def test_broadcast_along_alternating_axes_equals_tflm_in_c(oracle: Oracle, tmp_path: Path) -> None:
    """Also where an input is a constant, which stays as small as it is."""
    rng = np.random.default_rng(7)
    graphs, inputs, outputs = [], [], []
    for first, second in ((0b111111, 0b101010), (0b101010, 0b010101), (0b110110, 0b011011), (0b010010, 0b111111)):
        shapes = [_masked(first, 6), _masked(second, 6)]
        data = [rng.normal(0, 2, shape).astype(np.float32) for shape in shapes]
        for constants in ({}, {1: data[1]}):
            model = _model("SUB", shapes, constants)
            graphs.append(parse_tflite(model, "m.tflite"))
            inputs.append([array for place, array in enumerate(data) if place not in constants])
            outputs.append(oracle.run(model, [inputs[-1]])[0].outputs)
            assert_same(graphs[-1], Interpreter(graphs[-1]).run(inputs[-1]), outputs[-1])
    compiler, plans = "gcc" if shutil.which("gcc") else "zig", [plan(graph, target("host")) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler=compiler, level="0", sanitize=True)
    for graph, outcome, wanted in zip(graphs, batch.run(inputs), outputs, strict=True):
        assert_same(graph, outcome.outputs[0], wanted)
    assert kibi.verify(graphs[0], target="cortex-m0plus", inputs=[inputs[0]], runs=1).is_exact


def test_broadcast_repeats_no_more_than_it_must() -> None:
    """One axis of one input is enough here; where two groups do, nothing is repeated."""
    graph = parse_tflite(_model("ADD", [_masked(0b111111, 6), _masked(0b101011, 6)]), "m.tflite")
    assert [view.op.name for view in graph.views] == ["RESHAPE", "BROADCAST_TO", "RESHAPE", "ADD"]
    repeated = graph.views[2].output.type.elements
    assert repeated * 3 == np.prod(_SHAPE)
    plain = parse_tflite(_model("ADD", [_masked(0b111111, 6), _masked(0b000011, 6)]), "m.tflite")
    assert [view.op.name for view in plain.views] == ["ADD"]
