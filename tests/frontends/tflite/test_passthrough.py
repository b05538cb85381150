"""Models without operators: their outputs are inputs and constants, which are copied."""

from collections.abc import Callable

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.passes.external_buffers import with_external_buffers
from kibi.passes.stream_inputs import stream_inputs
from kibi.runtime import Interpreter
from kibi.tflm import Oracle

_IMAGE = np.arange(-16, 16, dtype=np.int8).reshape(1, 4, 4, 2)
_CONSTANT = np.array([3, -4, 5], np.int16)


def _model(kind: str) -> tuple[bytes, list[Array]]:
    """A model without operators, and what it gives."""
    b = ModelBuilder()
    x = b.input(_IMAGE.shape, DType.S8, 0.1, 3)
    c = b.constant(_CONSTANT, 0.1, 0)
    outputs = {"input": [x], "constant": [c], "input twice": [x, x], "both": [c, x]}[kind]
    return b.finish(outputs), [_IMAGE if index == x else _CONSTANT for index in outputs]


_KINDS = ["input", "constant", "input twice", "both"]


@pytest.mark.parametrize("kind", _KINDS)
def test_model_without_operators_copies_its_outputs_as_tflm(kind: str, oracle: Oracle) -> None:
    """Raw and simplified, Python gives what TFLM gives."""
    model, wanted = _model(kind)
    graph = parse_tflite(model, "m.tflite")
    given = oracle.run(model, [[_IMAGE]])[0].outputs
    for each in (graph, kibi.simplify(graph)):
        found = Interpreter(each).run([_IMAGE])
        assert [array.tobytes() for array in found] == [array.tobytes() for array in wanted]
        assert [array.tobytes() for array in found] == [array.tobytes() for array in given]


_WAYS: dict[str, Callable[[Graph], Graph]] = {
    "plain": lambda graph: graph,
    "external": lambda graph: with_external_buffers(graph, (*graph.inputs, *graph.outputs)),
    "streamed": stream_inputs,
}


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("way", _WAYS)
def test_model_without_operators_runs_in_c(kind: str, way: str) -> None:
    """On this machine and on the emulated core, also with inputs that stream, or buffers that the caller owns."""
    graph = _WAYS[way](parse_tflite(_model(kind)[0], "m.tflite"))
    assert kibi.verify(graph, target="cortex-m4", inputs=[[_IMAGE]], runs=1).is_exact
