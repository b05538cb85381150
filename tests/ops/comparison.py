"""Comparing arrays bit for bit, with a text that says which model differs and where."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.support.operator_models import Case


def graph_of(case: Case) -> Graph:
    """The case's graph, from its file."""
    return parse_tflite(case.model, "drawn.tflite")


def outputs_of(case: Case, oracle: Oracle) -> tuple[Array, ...]:
    """TFLM's outputs of all inferences in a row; of those that end early it has none that mean anything."""
    results = oracle.run(case.model, case.runs)[case.cycles - 1 :: case.cycles]
    return tuple(array for run in results for array in run.outputs)


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


def assert_same_as_tflm(graph: Graph, got: Sequence[Array], wanted: Sequence[Array]) -> None:
    """As `assert_same`, but that floats may differ by as many units in the last place as the operators' `ulps` say."""
    if not ulps_of(graph):
        assert_same(graph, got, wanted)
        return
    assert len(got) == len(wanted)
    for number, (mine, its) in enumerate(zip(got, wanted, strict=True)):
        if mine.dtype != np.float32:
            assert_same(graph, [mine], [its])
            continue
        assert (mine.shape, mine.dtype) == (its.shape, its.dtype), f"output {number} of {describe(graph)}"
        both_nan = np.isnan(mine.astype(np.float32)) & np.isnan(its.astype(np.float32))
        apart = np.where(both_nan, 0, np.abs(_in_order(mine) - _in_order(its)))
        assert (apart <= ulps_of(graph)).all(), f"output {number}: {apart.max()} units apart; {describe(graph)}"


def ulps_of(graph: Graph) -> int:
    """By how many units in the last place a graph of one operator may differ from TFLM."""
    return max((view.op.ulps for view in graph.views), default=0)


def _in_order(values: Array) -> NDArray[np.int64]:
    """Whole numbers in the order of these f32, neighbours 1 apart."""
    bits = np.asarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(1 << 31) - bits, bits)


def describe(graph: Graph) -> str:
    """The operators with their attributes, shapes and quantization."""
    lines = []
    for view in graph.views:
        operands = [(name, tensor.type) for name, tensor in view.operands if tensor is not None]
        texts = (f"{name} {kind} {kind.quantization or ''}".strip() for name, kind in operands)
        lines.append(f"{view.op}: {'; '.join(texts)}")
    return "\n".join(lines)
