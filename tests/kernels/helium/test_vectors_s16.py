"""Layers of int16 by the kernels for cores with vectors: any shape, every boundary of a scale, in place, and what they refuse."""

from functools import partial

import numpy as np
import pytest

import kibi
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.ir import Graph, KernelCall
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel, plan
from kibi.quant import requantize_wide
from kibi.selection import Goal
from kibi.selection.choice import choose
from kibi.selection.conv2d_vector_rows import CONV2D_VECTOR_ROWS
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution_s16

_KERNEL, _ROWS = "kibi_conv2d_s16_vectors", "kibi_fully_connected_s16_accumulate"
_HELIUM = ("cortex-m55", "zig", "s")
_BUILDS = [
    _HELIUM,
    ("cortex-m4", "zig", "s"),
    pytest.param(("cortex-m55", "gcc", "2"), marks=[pytest.mark.slow, pytest.mark.cross]),
]
"""A core of the set, and one that runs the plain C."""
_GEOMETRIES = (
    *(each for each in GEOMETRIES if each.groups == 1),
    *(Geometry(12, outputs, kernel=(1, 1), size=(1, width)) for width, outputs in enumerate((4, 5, 6, 7, 8, 11), 1)),
    Geometry(64, 16, kernel=(1, 1), size=(2, 7)),
    Geometry(7, 9, kernel=(2, 3), size=(3, 2)),
    Geometry(3, 8, stride=2, size=(4, 13)),
    Geometry(11, 4, kernel=(3, 1), dilation=2, size=(4, 6)),
)
_VARIANTS = {variant.of: variant for variant in CONV2D_VECTOR_ROWS}


_linked = partial(linked, (_KERNEL, _ROWS))
"""What runs on a core: by its name, the compiler and the level."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernel for a core."""
    return _linked(*request.param)


def _packed(graph: Graph) -> KernelCall | None:
    """What the kernel makes of a layer."""
    (general,) = graph.general_calls
    return _VARIANTS[general.kernel].pack(general)


def test_rows_equal_the_reference(kernels: Kernels) -> None:
    """Blocks of one and of three pixels, runs of any length, channels that are no multiple of four, edges, activations."""
    tried = 0
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution_s16(geometry, seed, ("NONE", "RELU", "RELU6")[seed % 3])
        graph = graph_of(case)
        call = _packed(graph)
        if call is not None:
            found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), call)
            assert_same(graph, [found], kibi.run(graph, None, case.inputs))
            tried += 1
    assert tried > len(_GEOMETRIES) // 2


def _call(bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, zero_point: int = 0) -> KernelCall:
    """The general call of a fully connected layer of one vector of eight elements, whose weights are 0."""
    values: dict[str, object] = {
        "filter": np.zeros(8 * len(bias), np.int8), "bias": bias.astype(np.int64), "multiplier": multiplier.astype(np.int32),
        "shift": shift.astype(np.int8), "is_wide": 1, "depth": 8, "piece": 8, "pieces": 1, "vectors": 1, "vectors_per_row": 1,
        "output_channels": len(bias), "output_zero_point": zero_point, "activation_min": -700, "activation_max": 32767,
    }  # fmt: skip
    return KernelCall.of("kibi_fully_connected_s16", values)


def test_every_boundary_of_sum_multiplier_and_shift(kernels: Kernels) -> None:
    """Sums of nothing but the bias are rounded and cut as rule N26 says, by every shift and multipliers of all kinds."""
    ends = np.array([-(1 << 31), -(1 << 31) + 1, -1, 0, 1, 77, 1 << 20, (1 << 31) - 1])
    multipliers = np.array([0, 1 << 15, 1 << 30, 0x5A5A_8000, 0x7FFE_FFFF, (1 << 31) - 1])
    bias, multiplier, shift = (each.reshape(-1) for each in np.meshgrid(ends, multipliers, np.arange(-17, 0)))
    call = _VARIANTS["kibi_fully_connected_s16"].pack(_call(bias, multiplier, shift))
    assert call is not None
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(len(bias), np.int16), writable=True)
    rows = bench.rows([bench.place("input", np.full(8, 123, np.int16))])
    bench.call(_KERNEL, output, rows, bench.params(call), 0)
    scaled = requantize_wide(bias, multiplier.astype(np.int32), shift.astype(np.int32)).astype(np.int64)
    expected = np.clip(scaled, -700, 32767).astype(np.int16)
    np.testing.assert_array_equal(bench.read(output, 2 * len(bias)).view(np.int16), expected)


def test_vectors_row_by_row(kernels: Kernels) -> None:
    """Products that need more than 32 bits together; whole vectors of elements and others, rests of channels; few instructions."""
    for channels, piece in ((4, 8), (6, 22), (9, 511), (32, 112)):
        rng = np.random.default_rng(piece)
        weights = np.where(
            rng.random((channels, 2 * piece)) < 0.9, -128, rng.integers(-128, 128, (channels, 2 * piece))
        )
        x = np.where(rng.random(2 * piece) < 0.9, -32768, rng.integers(-32768, 32768, 2 * piece))
        bias = rng.integers(-(1 << 40), 1 << 40, channels)
        multiplier, shift = np.full(channels, 3 << 29, np.int32), np.full(channels, -24, np.int8)
        values: dict[str, object] = {
            "filter": weights.astype(np.int8).reshape(-1), "bias": bias, "multiplier": multiplier, "shift": shift, "is_wide": 1,
            "piece": piece, "pieces": 2, "vectors": 1, "output_channels": channels, "output_zero_point": 0,
            "activation_min": -32768, "activation_max": 32767,
        }  # fmt: skip
        call = KernelCall.of(_ROWS, values)
        bench = Bench(kernels, rng)
        output = bench.place("output", np.zeros(channels, np.int16), writable=True)
        pieces = [bench.place("input", each) for each in x.astype(np.int16).reshape(2, piece)]
        rows, params, scratch = bench.rows(pieces[:1]), bench.params(call), bench.scratch(8 * channels)
        taken = bench.call(_ROWS, output, rows, params, scratch, 0)
        bench.write_rows(rows, pieces[1:])
        bench.call(_ROWS, output, rows, params, scratch, 1)
        sums = bias + weights.astype(np.int64) @ x.astype(np.int64)
        expected = np.clip(requantize_wide(sums, multiplier, shift.astype(np.int32)), -32768, 32767)
        np.testing.assert_array_equal(bench.read(output, 2 * channels).view(np.int16), expected)
    most = 0.63 if "helium" in kernels.target.kernel_sets else 2.0
    assert taken < most * channels * piece, taken / (channels * piece)


@pytest.mark.parametrize(
    "build", [("cortex-m4", "zig", "s"), pytest.param(_HELIUM, marks=pytest.mark.slow)], ids=" ".join
)
def test_rows_may_be_overwritten_from_the_declared_distance_on(build: tuple[str, str, str]) -> None:
    """No element is overwritten that is still to be read."""
    kernels, tried = _linked(*build), 0
    for geometry in _GEOMETRIES[::2]:
        case = convolution_s16(geometry)
        graph = graph_of(case)
        call = _packed(graph)
        if call is not None:
            (distance,) = call.inplace_distance_bytes
            assert distance is not None
            wrong, count = differing_distances(
                kernels, graph.views[0], call, case.inputs[0], [distance, distance + 2, distance + 16]
            )
            assert not wrong, (geometry, wrong)
            tried += count
    assert tried > len(_GEOMETRIES) // 2


@pytest.mark.parametrize(
    ("geometry", "most"),
    [(Geometry(64, 64, kernel=(1, 1), size=(2, 12)), 0.38), (Geometry(16, 16, size=(4, 20)), 0.42)],
    ids=["pointwise", "three by three"],
)
def test_multiplications_take_few_instructions(geometry: Geometry, most: float) -> None:
    """For each multiply-accumulate, everything counted, and the layers are computed by this kernel."""
    graph = graph_of(convolution_s16(geometry, 0, "RELU"))
    (call,) = choose(graph.general_calls, target("cortex-m55"), Goal.BALANCED)
    assert call.kernel == _KERNEL
    bench, view = Bench(_linked(*_HELIUM), np.random.default_rng(0)), graph.views[0]
    row = bench.place("input", np.ones(view["input"].type.row_elements, np.int16))
    output = bench.place("output", np.zeros(view.output.type.row_elements, np.int16), writable=True)
    rows = bench.rows([row] * geometry.kernel[0])
    taken = bench.call(call.kernel, output, rows, bench.params(call), 0)
    assert taken < most * view.op.macs(view) / view.steps


def test_what_the_kernel_refuses() -> None:
    """Groups, spread columns, runs that fill no vector, zero points of the output, and shifts by nothing."""
    fits = [
        _packed(graph_of(convolution_s16(geometry))) is not None
        for geometry in (
            Geometry(16, 4, groups=2), Geometry(16, 4, dilation=2), Geometry(2, 4), Geometry(7, 4, kernel=(1, 1)),
            Geometry(8, 4, kernel=(1, 1)), Geometry(3, 4),
        )
    ]  # fmt: skip
    assert fits == [False, False, False, False, True, True]
    ones = np.ones(4)
    pack = _VARIANTS["kibi_fully_connected_s16"].pack
    assert pack(_call(ones, ones * (1 << 30), -ones)) is not None
    assert pack(_call(ones, ones * (1 << 30), 0 * ones)) is None
    assert pack(_call(ones, ones * (1 << 30), -ones, zero_point=1)) is None


@pytest.mark.slow
def test_plan_files_on_numpy_equal_the_reference() -> None:
    """Constants of all layers are unpacked as they were packed."""
    used = set[str]()
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution_s16(geometry, seed)
        graph = graph_of(case)
        file = PlanFile(plan_file(PlannedModel.of(graph, plan(graph, target("cortex-m55")))))
        assert_same(graph, NumpyPlanEngine(file).run(case.inputs), kibi.run(graph, None, case.inputs))
        used |= set(file.kernels)
    assert _KERNEL in used


@pytest.mark.slow
def test_parts_that_a_call_needs_are_enough() -> None:
    """Other parts are left out of the library."""
    tried = set[frozenset[str]]()
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution_s16(geometry, seed)
        graph = graph_of(case)
        call = _packed(graph)
        if call is not None and call.features not in tried:
            tried.add(call.features)
            kernels = linked((_KERNEL,), *_HELIUM, call.features)
            found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), call)
            assert_same(graph, [found], kibi.run(graph, None, case.inputs))
    assert len(tried) > 1
