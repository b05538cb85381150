"""Fully connected layers that leave out zeros give the general kernel's bytes, and take less time for more zeros."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.engines.core import CoreEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, KernelCall
from kibi.ops.overlap import least_distance
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.quant import requantize
from kibi.reports.branches import usual_runs
from kibi.runtime import seeded_inputs
from kibi.selection import Goal, fully_connected_nonzero, select
from kibi.selection.fully_connected_nonzero import FULLY_CONNECTED_NONZERO
from kibi.targets import target
from tests.kernels.emulated import Bench, linked
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.kernels.test_fully_connected_variants import Values, fully_connected
from tests.ops.batch import Batch
from tests.quant.boundaries import triples_to_the_right

_KERNEL, _GENERAL = FULLY_CONNECTED_NONZERO.kernel, FULLY_CONNECTED_NONZERO.of
_BUILDS = (
    ("cortex-m4", "zig", "s", ARMV7EM),
    ("cortex-m4", "gcc", "2", ARMV7EM),
    ("cortex-m0plus", "zig", "s", PORTABLE),
)
_CASES = 60
_SIZES = (600, 96, 96, 128)
"""Of the vectors of a network whose arena has room for steps."""


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small layers are packed, too."""
    monkeypatch.setattr(fully_connected_nonzero, "LEAST_WEIGHTS_BY_ZEROS", 1)


def _call(values: Values) -> KernelCall:
    """A call of the general kernel after a ReLU, with room for steps."""
    depth = int(values["depth"])
    scratch_bytes = 4 * (-(-(depth + 2) // 4) + -(-depth // 4))
    return KernelCall.of(_GENERAL, values, scratch_bytes, is_often_least=True, inplace_distance_bytes=(1 << 15,))


def _in_range(weights: Array, inputs: Sequence[Array], rng: np.random.Generator) -> Values:
    """Scales with which outputs use their range, and differ where one product does."""
    channels, depth = weights.shape
    elements = np.concatenate(inputs).astype(np.int64) + 128
    sums = np.abs(weights.astype(np.int64) @ elements[: len(elements) // depth * depth].reshape(-1, depth).T)
    biases = rng.integers(-50, 50, channels) + 128 * weights.sum(axis=1, dtype=np.int64)
    shift = -int(np.clip(np.ceil(np.log2(sums.max() / 200 + 1)), 1, 20))
    return {
        "bias": biases.astype(np.int32), "multiplier": np.full(channels, 1 << 30, np.int32),
        "shift": np.full(channels, shift, np.int8), "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip


def _cases(rng: np.random.Generator) -> tuple[Case, Case]:
    """The same task for the general kernel and for this one: any weights, -128 too; no, some or only zeros, in long runs."""
    values, rows = fully_connected(rng)
    if rng.integers(4) == 0:
        values, rows = values | {"piece": 600, "pieces": 1, "vectors": 1, "vectors_per_row": 1, "depth": 600}, [600]
    channels = 8 * int(rng.integers(1, 4))
    depth, old = int(values["depth"]), int(values["output_channels"])
    picked = rng.integers(0, old, channels)
    values |= {name: np.asarray(values[name])[picked] for name in ("bias", "multiplier", "shift")}
    least = int(rng.choice([-128, -20, 100]))
    drawn = rng.integers(least, 128, channels * depth) if rng.integers(4) else rng.choice([-128, 127], channels * depth)
    # The general kernel's bias has -zero point * sum in it; sums stay small, so that layers of any depth fit.
    values |= {"filter": (drawn // (4 if depth > 400 else 1)).astype(np.int8), "output_channels": channels}
    zeros = float(rng.choice([0, 0.3, 0.6, 0.99, 1]))
    inputs = [np.where(rng.random(size) < zeros, -128, rng.integers(-128, 128, size)).astype(np.int8) for size in rows]
    if rng.integers(4):
        values |= _in_range(np.asarray(values["filter"]).reshape(channels, depth), inputs, rng)
    packed = FULLY_CONNECTED_NONZERO.pack(_call(values))
    assert packed is not None
    output_bytes = int(values["vectors"]) * channels
    case = Case(values, [range(len(rows))], inputs, output_bytes, at_end=bool(rng.integers(2)))
    own = {name: value for name, value in packed.by_name.items() if isinstance(value, int | np.ndarray)}
    return case, replace(case, params=own, scratch_bytes=packed.scratch_bytes)


@pytest.mark.parametrize(("name", "compiler", "level", "sets"), _BUILDS)
def test_drawn_layer_gives_the_general_bytes(
    name: str, compiler: str, level: str, sets: tuple[str, ...], tmp_path: Path
) -> None:
    """Whatever the shape, the scales, the weights and the zeros, it writes the same, and nothing beside it."""
    own_kernel = KernelOnCore(_KERNEL, sets, tmp_path / "own", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(_GENERAL, PORTABLE, tmp_path / "plain")
    rng = np.random.default_rng(0)
    for _ in range(_CASES):
        case, own = _cases(rng)
        assert own_kernel.run(own) == plain.run(case), case


def _of_ones(acc: Array, multiplier: Array, shift: Array, zero_point: int, limits: tuple[int, int]) -> KernelCall:
    """The packed call of channels whose only weight is one, so that sums are biases where the element is zero."""
    channels = len(acc)
    values: Values = {
        "filter": np.ones(channels, np.int8), "bias": (acc + 128).astype(np.int32), "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "depth": 1, "piece": 1, "pieces": 1, "vectors": 1, "vectors_per_row": 1,
        "output_channels": channels, "output_zero_point": zero_point, "activation_min": limits[0],
        "activation_max": limits[1],
    }  # fmt: skip
    packed = FULLY_CONNECTED_NONZERO.pack(_call(values))
    assert packed is not None
    return packed


@pytest.mark.parametrize(("zero_point", "limits"), [(0, (-128, 127)), (127, (-128, 127)), (5, (-7, 90))])
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m3"])
def test_every_boundary_that_is_simple(core: str, zero_point: int, limits: tuple[int, int]) -> None:
    """Sums are separated, rounded, moved and cut as Python does, by a core of the set and by the plain C twin."""
    acc, multiplier, shift = (each[: len(each) // 8 * 8] for each in triples_to_the_right(1 << 23))
    acc = np.clip(acc, 256 - (1 << 23), (1 << 23) - 512)
    packed = _of_ones(acc, multiplier, shift, zero_point, limits)
    bench, channels = Bench(linked((_KERNEL,), core, "zig", "s"), np.random.default_rng(0)), len(acc)
    output = bench.place("output", np.zeros(channels, np.int8), writable=True)
    for element in (-128, 127):
        rows = bench.rows([bench.place("input", np.full(1, element, np.int8))])
        bench.call(_KERNEL, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
        sums = (acc + 128 + element).astype(np.int32)
        scaled = requantize(sums, multiplier, shift).astype(np.int64) + zero_point
        np.testing.assert_array_equal(bench.read(output, channels), np.clip(scaled, *limits).astype(np.int8))


def test_zeros_cost_no_products() -> None:
    """A listed element takes twelve instructions for eight channels, a zero is only looked at; few zeros cost nothing each."""
    rng, channels, depth = np.random.default_rng(0), 64, 100
    values: Values = {
        "filter": rng.integers(-9, 10, channels * depth).astype(np.int8), "bias": np.zeros(channels, np.int32),
        "multiplier": np.full(channels, 1 << 30, np.int32), "shift": np.full(channels, -6, np.int8), "depth": depth,
        "piece": depth, "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": channels,
        "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    packed = FULLY_CONNECTED_NONZERO.pack(_call(values))
    assert packed is not None
    assert packed.inplace_distance_bytes == (least_distance([(0, 0)]),)
    counts = []
    for count in (10, 30, 50, 90, 100):
        bench = Bench(linked((_KERNEL,), "cortex-m4", "zig", "s"), rng)
        elements = np.where(np.arange(depth) < count, 5, -128).astype(np.int8)
        output = bench.place("output", np.zeros(channels, np.int8), writable=True)
        rows = bench.rows([bench.place("input", elements)])
        scratch = bench.scratch(packed.scratch_bytes)
        counts.append(bench.call(_KERNEL, output, rows, bench.params(packed), scratch))
    steps = np.diff(counts)
    assert (steps[:2] < 20 * (12 * channels // 8 + 6)).all()
    assert (steps[:2] > 20 * 10 * channels // 8).all()
    assert steps[3] == 0
    assert counts[4] < counts[2] + 50 * (9 * channels // 8)


def network(activation: str = "RELU", zero_point: int = -128) -> Graph:
    """Layers one after another, all but the last with an activation."""
    b, rng = ModelBuilder(), np.random.default_rng(0)
    x = b.input([1, _SIZES[0]], DType.S8, 0.5, 3)
    for depth, channels in pairwise(_SIZES):
        weights = b.constant(np.round(rng.normal(0, 12, (channels, depth))).astype(np.int8), [0.002], [0])
        biases = b.constant(rng.integers(-500, 500, channels).astype(np.int32), [0.001], [0])
        is_last = channels == _SIZES[-1]
        y = b.tensor([1, channels], DType.S8, 0.5, 0 if is_last else zero_point)
        used = "NONE" if is_last else activation
        b.operator("FULLY_CONNECTED", [x, weights, biases], [y], fused_activation_function=used)
        x = y
    return parse_tflite(b.finish([x]), "network.tflite")


def test_engines_give_the_bits_of_the_reference(tmp_path: Path) -> None:
    """C on this machine, with sanitizers and canaries; NumPy and C from a plan file."""
    graph = network()
    plan = kibi.plan(graph, "cortex-m4", goal="speed")
    assert plan.kernels[1:] == (_KERNEL, _KERNEL)
    file = PlanFile(plan_file(PlannedModel.of(graph, plan)))
    inputs = seeded_inputs(graph, 0)
    expected = [each.tobytes() for each in kibi.Interpreter(graph, plan).run(inputs)]
    for engine in (NumpyPlanEngine(file), CoreEngine(file)):
        assert [each.tobytes() for each in engine.run(inputs)] == expected
    batch = Batch([graph], [plan], tmp_path, compiler="gcc", level="0", sanitize=True, processor="cortex-m4")
    (outcome,) = batch.run([inputs])
    assert [each.tobytes() for each in outcome.outputs[0]] == expected


@pytest.mark.parametrize(
    ("graph", "goal", "taken"),
    [
        pytest.param(network(), Goal.SPEED, [False, True, True], id="relu"),
        pytest.param(network("RELU6"), Goal.SPEED, [False, True, True], id="relu6"),
        pytest.param(network(), Goal.BALANCED, [False, True, True], id="balanced"),
        pytest.param(network(), Goal.FLASH, [False, False, False], id="flash"),
        pytest.param(network("NONE"), Goal.SPEED, [False, False, False], id="no activation"),
        pytest.param(network(zero_point=-120), Goal.SPEED, [False, False, False], id="another zero point"),
    ],
)
def test_layers_after_a_relu_take_it(graph: Graph, goal: Goal, taken: list[bool]) -> None:
    """For speed, where zero is -128; such models are measured with several inputs."""
    found = select(graph, target("cortex-m4"), goal)
    assert [kernel == _KERNEL for kernel in found.kernels] == taken
    assert (usual_runs(found) > 1) == any(taken)


def test_elements_are_scratch() -> None:
    """Two bytes for each element and two more, in words; where speed is not all, only bytes that the arena has anyway."""
    general, most = network().general_calls[2], 2 * _SIZES[2] + 4
    assert FULLY_CONNECTED_NONZERO.scratch_bytes(general, Goal.SPEED) == most
    least = _SIZES[2] + _SIZES[3] + most
    for room, granted in ((least, most), (least - 1, 0)):
        assert FULLY_CONNECTED_NONZERO.scratch_bytes(replace(general, least_arena_bytes=room), Goal.BALANCED) == granted
    assert FULLY_CONNECTED_NONZERO.pack(replace(general, scratch_bytes=most)) is not None
    assert FULLY_CONNECTED_NONZERO.pack(replace(general, scratch_bytes=most - 1)) is None
