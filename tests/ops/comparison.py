"""Comparing arrays bit for bit, with a text that says which model differs and where."""

from collections.abc import Sequence

import numpy as np

from kibi.dtypes import Array
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.oracle import Oracle
from kibi.runtime import Interpreter
from tests.support.operator_models import Case


def graph_of(case: Case) -> Graph:
    """The case's graph, from its file."""
    return parse_tflite(case.model, "drawn.tflite")


def outputs_of(case: Case, oracle: Oracle) -> tuple[Array, ...]:
    """TFLM's outputs of all inferences in a row."""
    return tuple(array for run in oracle.run(case.model, case.runs) for array in run.outputs)


def python_outputs_of(case: Case, interpreter: Interpreter) -> tuple[Array, ...]:
    """The interpreter's outputs of all inferences in a row."""
    return tuple(array for inputs in case.runs for array in interpreter.run(inputs))


def assert_same(graph: Graph, got: Sequence[Array], wanted: Sequence[Array]) -> None:
    """Every output has the wanted shape, type and bytes; a NaN equals only itself."""
    assert len(got) == len(wanted)
    for number, (mine, its) in enumerate(zip(got, wanted, strict=True)):
        assert (mine.shape, mine.dtype) == (its.shape, its.dtype), f"output {number} of {describe(graph)}"
        if mine.tobytes() != its.tobytes():
            differs = np.flatnonzero(mine.reshape(-1) != its.reshape(-1))
            places = ", ".join(f"[{k}] {mine.reshape(-1)[k]} not {its.reshape(-1)[k]}" for k in differs[:8])
            raise AssertionError(f"output {number}: {len(differs)} elements differ: {places}; {describe(graph)}")


def describe(graph: Graph) -> str:
    """The operators with their attributes, shapes and quantization."""
    lines = []
    for site in graph.sites:
        operands = [(name, tensor.type) for name, tensor in site.operands if tensor is not None]
        texts = (f"{name} {kind} {kind.quantization or ''}".strip() for name, kind in operands)
        lines.append(f"{site.op}: {'; '.join(texts)}")
    return "\n".join(lines)
