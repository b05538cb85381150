"""Forms of operators that files have and TFLM refuses: what they mean, in Python and in C."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import sample
from tests.support.choices import Seeded
from tests.support.wider_models import WIDER_MODELS

_Given = tuple[Array, float | None, int | None]
"""An input with its scale and zero point."""


def _graph(
    name: str,
    inputs: Sequence[_Given],
    constants: Sequence[_Given],
    output: tuple[Sequence[int], DType, float | None, int | None],
    **attributes: Attribute,
) -> Graph:
    """An operator on inputs, and on constants behind them."""
    b = ModelBuilder()
    operands = [b.input(array.shape, DType.of(array), scale, zero_point) for array, scale, zero_point in inputs]
    operands += [b.constant(*constant) for constant in constants]
    made = b.tensor(*output)
    b.operator(name, operands, [made], attributes)
    return parse_tflite(b.finish([made]), "m.tflite")


def _check(graphs: Sequence[Graph], inputs: Sequence[Sequence[Array]], wanted: Sequence[Array], folder: Path) -> None:
    """Python gives what is wanted, and C under sanitizers gives it, too."""
    for graph, arrays, data in zip(graphs, inputs, wanted, strict=True):
        assert_same(graph, Interpreter(graph).run(arrays), [data])
    plans = [plan(graph, target("host")) for graph in graphs]
    compiler = "gcc" if shutil.which("gcc") else "zig"
    outcomes = Batch(graphs, plans, folder, compiler=compiler, level="0", sanitize=True).run(inputs)
    for graph, data, outcome in zip(graphs, wanted, outcomes, strict=True):
        assert_same(graph, outcome.outputs[0], [data])


def test_floor_division_of_s32_rounds_down(tmp_path: Path) -> None:
    """FLOOR_DIV and FLOOR_MOD of s32 are Python's; by 0 they are the dividend and 0; the one quotient that overflows wraps."""
    low = -(1 << 31)
    a = np.array([7, -7, 7, -7, 6, -6, 5, -5, low, low, low, 0, 1 << 30], np.int32)
    b = np.array([3, 3, -3, -3, 3, 3, 0, 0, -1, 1, 2, -5, -(1 << 31)], np.int32)
    quotients = np.array([2, -3, -3, 2, 2, -2, 5, -5, low, low, low // 2, 0, -1], np.int32)
    rests = np.array([1, 2, -2, -1, 0, 0, 0, 0, 0, 0, 0, 0, (1 << 30) + low], np.int32)
    given: list[_Given] = [(a, None, None), (b, None, None)]
    graphs = [_graph(name, given, [], (a.shape, DType.S32, None, None)) for name in ("FLOOR_DIV", "FLOOR_MOD")]
    _check(graphs, [[a, b]] * 2, [quotients, rests], tmp_path)


@pytest.mark.parametrize("name", sample((name,) for name in WIDER_MODELS))
def test_drawn_models_give_the_same_in_c(name: str, tmp_path: Path) -> None:
    """Of any shapes that broadcast, and any elements."""
    cases = [WIDER_MODELS[name](Seeded(seed)) for seed in range(24)]
    graphs = [graph_of(case) for case in cases]
    wanted = [Interpreter(graph).run(case.inputs)[0] for case, graph in zip(cases, graphs, strict=True)]
    _check(graphs, [case.inputs for case in cases], wanted, tmp_path)


@pytest.mark.parametrize("name", WIDER_MODELS)
def test_drawn_models_give_the_same_on_the_device(name: str) -> None:
    """The emulated core gives what Python gives."""
    case = WIDER_MODELS[name](Seeded(1))
    assert kibi.verify(graph_of(case), target="cortex-m0plus", inputs=[case.inputs], runs=1).is_exact


def test_floor_division_of_s32_by_one_number_broadcasts(tmp_path: Path) -> None:
    """A divisor of one element, as in the decoders of poses, meets all dividends."""
    a, b = np.arange(-9, 9, dtype=np.int32).reshape(1, 3, 6), np.array(4, np.int32)
    graph = _graph("FLOOR_DIV", [(a, None, None)], [(b, None, None)], (a.shape, DType.S32, None, None))
    _check([graph], [[a]], [a // 4], tmp_path)


def test_cast_of_u8_keeps_the_number(tmp_path: Path) -> None:
    """A pixel becomes the number that it is; of s8 its bits, and of bool whether it is not 0."""
    pixels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)
    kinds = (DType.S8, DType.S16, DType.S32, DType.U32, DType.F32, DType.BOOL)
    graphs = [_graph("CAST", [(pixels, 1 / 255, 0)], [], (pixels.shape, kind, None, None)) for kind in kinds]
    _check(graphs, [[pixels]] * len(kinds), [pixels.astype(kind.numpy) for kind in kinds], tmp_path)


@pytest.mark.parametrize("is_constant", [True, False])
def test_batch_matmul_of_s16_and_s8_is_that_of_s16(is_constant: bool, tmp_path: Path) -> None:
    """A matrix of s8 counts as one of s16 with the same numbers, whether it is a constant or computed."""
    rng = np.random.default_rng(3)
    a = rng.integers(-(1 << 15), 1 << 15, (1, 3, 9)).astype(np.int16)
    b = rng.integers(-128, 128, (1, 9, 5)).astype(np.int8)
    output = ((1, 3, 5), DType.S16, 0.02, 0)
    first: _Given = (a, 2.0**-12, 0)
    mixed, wide = (
        _graph("BATCH_MATMUL", [first], [second], output)
        if is_constant
        else _graph("BATCH_MATMUL", [first, second], [], output)
        for second in ((b, 0.01, 0), (b.astype(np.int16), 0.01, 0))
    )
    given: list[Array] = [a] if is_constant else [a, b]
    (wanted,) = Interpreter(wide).run([a] if is_constant else [a, b.astype(np.int16)])
    assert len(np.unique(wanted)) > 8
    _check([mixed], [given], [wanted], tmp_path)


def test_transpose_conv_of_s16_with_a_bias_of_s32_is_that_with_s64(tmp_path: Path) -> None:
    """The bias counts as what it is; TFLM reads it as s64, beyond its end."""
    rng = np.random.default_rng(4)
    data = rng.integers(-(1 << 15), 1 << 15, (1, 3, 3, 2)).astype(np.int16)
    weights = rng.integers(-127, 128, (2, 3, 3, 2)).astype(np.int8)
    bias = rng.integers(-(1 << 30), 1 << 30, 2)
    graphs = []
    for kind in (np.int32, np.int64):
        b = ModelBuilder()
        x = b.input(data.shape, DType.S16, 2.0**-12, 0)
        shape = b.constant(np.array([1, 6, 6, 2], np.int32))
        filters = b.constant(weights, 0.01, 0)
        added = b.constant(bias.astype(kind), 0.01 * 2.0**-12, 0)
        y = b.tensor((1, 6, 6, 2), DType.S16, 0.05, 0)
        b.operator("TRANSPOSE_CONV", [shape, filters, x, added], [y], stride_h=2, stride_w=2, padding="SAME")
        graphs.append(parse_tflite(b.finish([y]), "m.tflite"))
    (wanted,) = Interpreter(graphs[1]).run([data])
    assert len(np.unique(wanted)) > 8
    _check(graphs, [[data]] * 2, [wanted] * 2, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("count", [11, pytest.param(64, marks=pytest.mark.slow)])
def test_concatenation_of_many_inputs_lays_them_side_by_side(count: int, tmp_path: Path) -> None:
    """More inputs than TFLM's ten, along rows and within them."""
    parts = [np.full((1, 2, 3, 2), number, np.int8) for number in range(count)]
    given: list[_Given] = [(part, 0.5, 3) for part in parts]
    wanted = [np.concatenate(parts, axis) for axis in (1, 3)]
    graphs = [
        _graph("CONCATENATION", given, [], (whole.shape, DType.S8, 0.5, 3), axis=axis)
        for axis, whole in zip((1, 3), wanted, strict=True)
    ]
    _check(graphs, [parts] * 2, wanted, tmp_path)
