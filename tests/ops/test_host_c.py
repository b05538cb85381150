"""The C code of drawn models, compiled for this machine many at a time, against TFLM."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import ArenaError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.ops import operators
from kibi.planner import Plan, plan
from kibi.runtime import Interpreter
from kibi.selection import Goal
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import CANARY, Batch, Outcome
from tests.ops.comparison import (
    assert_same,
    assert_same_as_tflm,
    describe,
    graph_of,
    outputs_of,
    python_outputs_of,
    ulps_of,
)
from tests.ops.convolutions import GEOMETRIES, convolution
from tests.ops.orders import gaps, interleaved, spread
from tests.ops.telling_models import telling_models
from tests.support.amount import amount, sample
from tests.support.choices import Seeded
from tests.support.network_models import network
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.toolchain.tools import check_gcc

_WINDOWS = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D")
_NETWORKS = amount(4, 24)
_SHARE_OPTIMIZED = amount(6, 2)
"""Of the models, each one after so many is compiled with optimization, too."""
_STATUSES = (-1, -1, -2, -3, -1, -4, 0)
"""What wrong arguments give: see `Outcome`."""


def _cases() -> list[Case]:
    """More models of the operators that have more to go wrong; each operator's seeds are its own."""
    counts = {name: amount(3, 16) if name in _WINDOWS else amount(1, 4) for name in operators()}
    seeds = [(name, 1000 * place + k) for place, (name, count) in enumerate(counts.items()) for k in range(count)]
    return [
        *(OPERATOR_MODELS[name](Seeded(seed)) for name, seed in seeds),
        *map(convolution, GEOMETRIES[:: amount(2, 1)]),
        *(network(Seeded(k)) for k in range(_NETWORKS)),
    ]


@pytest.fixture(scope="module")
def drawn() -> list[tuple[Case, Graph]]:
    """Models of each operator, then networks."""
    return [(case, graph_of(case)) for case in _cases()]


@pytest.fixture(scope="module")
def wanted(drawn: Sequence[tuple[Case, Graph]], oracle: Oracle) -> list[tuple[Array, ...]]:
    """TFLM's outputs for them; where TFLM's C library decides the last place, Python's, which are near them."""
    outputs = []
    for case, graph in drawn:
        its = outputs_of(case, oracle)
        is_near = ulps_of(graph) and len(graph.nodes) == 1
        mine = python_outputs_of(case, Interpreter(graph)) if is_near else its
        assert_same_as_tflm(graph, mine, its)
        outputs.append(mine)
    return outputs


def _plans(drawn: Sequence[tuple[Case, Graph]], processor: str = "host", goal: Goal = Goal.BALANCED) -> list[Plan]:
    """Plans in which operators interleave row by row where there are several."""
    return [plan(graph, target(processor), runs=interleaved(graph), goal=goal) for _, graph in drawn]


def _check(drawn: Sequence[tuple[Case, Graph]], wanted: Sequence[Sequence[Array]], batch: Batch) -> list[Outcome]:
    outcomes = batch.run([case.every_input for case, _ in drawn])
    for (_, graph), outputs, outcome in zip(drawn, wanted, outcomes, strict=True):
        assert outcome.statuses == _STATUSES, describe(graph)
        for run in outcome.outputs:
            assert_same(graph, run, outputs)
    return outcomes


@pytest.mark.parametrize(
    ("processor", "goal"),
    sample([("host", Goal.FLASH), ("cortex-m4", Goal.SPEED), ("cortex-m55", Goal.SPEED)], [("cortex-m4", Goal.SPEED)]),
    ids=str,
)
def test_host_c_under_sanitizers_equals_tflm(
    drawn: Sequence[tuple[Case, Graph]], wanted: Sequence[Sequence[Array]], processor: str, goal: Goal, tmp_path: Path
) -> None:
    """With sanitizers, checked preconditions, and canaries between buffers, C gives TFLM's bits and touches no other byte.

    The general kernels, and the plain C twins of the variants for another core.
    """
    check_gcc()
    plans = [spread(made) for made in _plans(drawn, processor, goal)]
    graphs = [graph for _, graph in drawn]
    batch = Batch(graphs, plans, tmp_path, compiler="gcc", level="0", sanitize=True, processor=processor)
    for (_, graph), made, outcome in zip(drawn, plans, _check(drawn, wanted, batch), strict=True):
        broken = [byte for byte in gaps(made) if outcome.arena[byte] != CANARY]
        assert not broken, f"arena bytes {broken} belong to no buffer; {describe(graph)}"


@pytest.mark.slow
def test_host_c_optimized_by_the_default_compiler_equals_tflm(
    drawn: Sequence[tuple[Case, Graph]], wanted: Sequence[Sequence[Array]], tmp_path: Path
) -> None:
    """Optimized, with undefined behaviour trapped, at the offsets that users get, C gives TFLM's bits."""
    some = drawn[::_SHARE_OPTIMIZED]
    graphs = [graph for _, graph in some]
    batch = Batch(graphs, _plans(some), tmp_path, compiler="zig", level="2", sanitize=True)
    _check(some, wanted[::_SHARE_OPTIMIZED], batch)


def test_host_c_of_telling_models_equals_tflm(oracle: Oracle, tmp_path: Path) -> None:
    """Models that are made so that single lines of kernels and of generated code decide."""
    models = [(case, graph_of(case)) for case in telling_models()]
    batch = Batch([graph for _, graph in models], _plans(models), tmp_path, compiler="zig", level="0", sanitize=True)
    _check(models, [outputs_of(case, oracle) for case, _ in models], batch)


def test_host_c_of_elements_of_eight_bytes_reads_them_where_they_are_aligned(
    drawn: Sequence[tuple[Case, Graph]], wanted: Sequence[Sequence[Array]], tmp_path: Path
) -> None:
    """With a plan for a 32-bit core, too, UBSan finds no access to s64 or u64 at less than 8 bytes."""
    check_gcc()
    wide = [place for place, (_, graph) in enumerate(drawn) if any(t.type.dtype.size_bytes == 8 for t in graph.tensors)]
    models = [drawn[place] for place in wide]
    assert {case.operator for case, _ in models} >= {"SignalFilterBank", "SignalFilterBankSquareRoot"}
    plans = [plan(graph, target("cortex-m4")) for _, graph in models]
    graphs = [graph for _, graph in models]
    batch = Batch(graphs, plans, tmp_path, compiler="gcc", level="0", processor="cortex-m4", sanitize=True)
    _check(models, [wanted[place] for place in wide], batch)


@pytest.mark.parametrize("dtype", [DType.S8, DType.S16], ids=str)
def test_host_c_quantize_of_any_float_equals_python(dtype: DType, tmp_path: Path) -> None:
    """Floats that TFLM converts with undefined results (NaN, infinities, beyond 32 bits) give one answer in Python and C."""
    halves = [sign * (k + 0.5) * 0.25 for k in range(130) for sign in (-1, 1)]
    values = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, -0.0, 1e10, -1e10, *halves], np.float32)
    b = ModelBuilder()
    x, y = b.input(values.shape, DType.F32), b.tensor(values.shape, dtype, 0.25, 7)
    b.operator("QUANTIZE", [x], [y])
    graph = graph_of(Case("QUANTIZE", b.finish([y]), ()))
    compiler = "gcc" if shutil.which("gcc") else "zig"
    made = plan(graph, target("host"))
    outcome = Batch([graph], [made], tmp_path, compiler=compiler, level="0", sanitize=True).run([[values]])[0]
    assert_same(graph, outcome.outputs[0], Interpreter(graph).run([values]))
    assert outcome.outputs[0][0][:3].tolist() == [7, *reversed(dtype.limits)]


def test_interpreter_arena_one_byte_too_small_is_refused(drawn: Sequence[tuple[Case, Graph]]) -> None:
    """The plan's size is exact in Python, too: with one byte less no model runs, with that size each does."""
    for case, graph in drawn[::5]:
        made = plan(graph, target("host"))
        with pytest.raises(ArenaError, match=str(made.arena_bytes)):
            Interpreter(graph, made, bytearray(made.arena_bytes - 1))
        Interpreter(graph, made, bytearray(made.arena_bytes)).run(case.inputs)
