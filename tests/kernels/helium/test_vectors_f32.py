"""Layers of floats by the kernels for cores with vectors of floats: any shape, denormal numbers, in place, and what they refuse."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.conv2d import Conv2DF32Params
from kibi.kernels.params.depthwise_conv2d import DepthwiseF32Params
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel, plan
from kibi.selection import Goal
from kibi.selection.choice import choose
from kibi.selection.conv2d_vector_rows import CONV2D_VECTOR_ROWS
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.batch import CANARY, Batch
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution_f32
from tests.ops.orders import gaps, spread
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.toolchain.tools import check_gcc

_CONVOLUTION, _DEPTHWISE = "kibi_conv2d_f32_vectors", "kibi_depthwise_conv2d_f32"
_HELIUM = ("cortex-m55", "zig", "s")
_BUILDS = [
    _HELIUM,
    ("cortex-m4", "zig", "s"),
    pytest.param(("cortex-m55", "gcc", "2"), marks=[pytest.mark.slow, pytest.mark.cross]),
]
"""A core of the set, and one that runs the plain C."""
_GEOMETRIES = (
    *(each for each in GEOMETRIES if each.groups == 1),
    *(Geometry(4, outputs, kernel=(1, 1), size=(1, width)) for width, outputs in enumerate((4, 5, 6, 7, 8, 11), 1)),
    Geometry(64, 16, kernel=(1, 1), size=(2, 7)),
    Geometry(7, 9, kernel=(2, 3), size=(3, 2)),
    Geometry(3, 8, stride=2, size=(4, 13)),
    Geometry(3, 4, kernel=(3, 1), dilation=2, size=(4, 6)),
    Geometry(1, 4, kernel=(2, 10), padding="VALID", size=(3, 25)),
    *(each for each in GEOMETRIES if not each.groups),
    *(
        Geometry(channels, outputs, groups=0, kernel=kernel, stride=stride, dilation=dilation, size=(3, width))
        for channels, outputs, kernel, stride, dilation, width in (
            (16, 16, (3, 3), 1, 1, 5), (47, 47, (3, 3), 2, 1, 6), (24, 24, (2, 3), 1, 2, 7), (36, 36, (3, 1), 1, 1, 2),
            (8, 8, (2, 7), 1, 1, 3), (1, 14, (3, 3), 1, 1, 4), (6, 12, (3, 3), 1, 1, 3), (5, 15, (2, 2), 1, 2, 5),
        )
    ),
)  # fmt: skip


_linked = partial(linked, (_CONVOLUTION, _DEPTHWISE))
"""What runs on a core: by its name, the compiler and the level."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels for a core."""
    return _linked(*request.param)


def _packed(graph: Graph) -> KernelCall | None:
    """What the first kernel that fits makes of a layer: of depthwise ones, the general kernel has vectors of its own."""
    (general,) = graph.general_calls
    if general.kernel == _DEPTHWISE:
        return general
    made = (variant.pack(general) for variant in CONV2D_VECTOR_ROWS if variant.of == general.kernel)
    return next((each for each in made if each is not None), None)


def _without_nan(values: Array) -> Array:
    """Which bits a NaN has is up to the processor."""
    return np.where(np.isnan(values), np.float32(12345), values)


def _check(kernels: Kernels, case: Case, seed: int) -> bool:
    """Returns whether a kernel fits, which gives the reference's bits."""
    graph = graph_of(case)
    call = _packed(graph)
    if call is None:
        return False
    with np.errstate(all="ignore"):
        (wanted,) = kibi.run(graph, None, case.inputs)
    found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), call)
    assert_same(graph, [_without_nan(found)], [_without_nan(wanted)])
    return True


def _cases() -> Iterator[Case]:
    """Layers of chosen geometry, with and without a RELU, half of them with numbers that are not finite."""
    for seed, geometry in enumerate(_GEOMETRIES):
        yield convolution_f32(geometry, seed, ("NONE", "RELU", "RELU6")[seed // 2 % 3])


def test_rows_equal_the_reference(kernels: Kernels) -> None:
    """Blocks of one and of three pixels, runs of any length, numbers of channels that are no multiple of four, edges."""
    assert sum(_check(kernels, case, seed) for seed, case in enumerate(_cases())) > len(_GEOMETRIES) * 2 // 3
    drawn = [
        _check(kernels, OPERATOR_MODELS[operator](Seeded(seed)), seed)
        for operator in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
        for seed in range(10)
    ]
    assert any(drawn)


def _scalar(kernel: str) -> Kernels:
    """A kernel for a core without vectors."""
    return linked((kernel,), "cortex-m33", "zig", "s")


@pytest.mark.parametrize(("elements", "weights"), [(1e-20, 1e-20), (1e-38, 1.0), (1.0, 1e-44)])
def test_denormal_numbers_are_none_that_vectors_flush(kernels: Kernels, elements: float, weights: float) -> None:
    """Products, sums, elements and weights below the least normal number are those of the rule."""
    for seed, geometry in enumerate(
        (
            Geometry(5, 9, size=(3, 8)), Geometry(8, 4, kernel=(1, 1), size=(2, 4)), Geometry(31, 31, groups=0, size=(3, 4)),
            Geometry(2, 6, groups=0, size=(3, 4)),
        )
    ):  # fmt: skip
        graph = graph_of(convolution_f32(geometry, 2 * seed))
        (general,) = graph.general_calls
        layer = general.params
        assert isinstance(layer, (Conv2DF32Params, DepthwiseF32Params))
        small = replace(
            general, params=layer.replaced(filter=np.multiply(layer.filter, np.float32(weights)), bias=0 * layer.bias)
        )
        call = CONV2D_VECTOR_ROWS[0].pack(small) if geometry.groups else small
        assert call is not None
        rng = np.random.default_rng(seed)
        data = rng.standard_normal(graph.views[0]["input"].type.shape).astype(np.float32) * np.float32(elements)
        wanted = run(_scalar(general.kernel), graph.views[0], (data,), rng, small)
        assert (np.abs(wanted[wanted != 0]) < np.finfo(np.float32).tiny).any()
        assert_same(graph, [run(kernels, graph.views[0], (data,), rng, call)], [wanted])


@pytest.mark.parametrize(
    "build", [("cortex-m4", "zig", "s"), pytest.param(_HELIUM, marks=pytest.mark.slow)], ids=" ".join
)
def test_rows_may_be_overwritten_from_the_declared_distance_on(build: tuple[str, str, str]) -> None:
    """No element is overwritten that is still to be read."""
    kernels, tried = _linked(*build), 0
    for geometry in _GEOMETRIES:
        case = convolution_f32(geometry)
        graph = graph_of(case)
        call = _packed(graph)
        if call is None:
            continue
        (distance,) = call.inplace_distance_bytes
        assert distance is not None
        distances = [distance, distance + 4, distance + 16]
        wrong, count = differing_distances(kernels, graph.views[0], call, case.inputs[0], distances)
        assert not wrong, (geometry, wrong)
        tried += count
    assert tried > 2 * len(_GEOMETRIES)


@pytest.mark.parametrize(
    ("geometry", "most"),
    [
        (Geometry(64, 64, kernel=(1, 1), size=(2, 12)), 0.77),
        (Geometry(16, 16, size=(4, 20)), 0.76),
        (Geometry(3, 8, size=(5, 20)), 1.25),
        (Geometry(64, 64, groups=0, size=(5, 24)), 1.85),
    ],
    ids=["pointwise", "sixteen channels", "three channels", "depthwise"],
)
def test_multiplications_take_few_instructions(geometry: Geometry, most: float) -> None:
    """For each multiply-accumulate, everything counted, and the layers are computed by these kernels."""
    graph = graph_of(convolution_f32(geometry, 0, "RELU"))
    (call,) = choose(graph.general_calls, target("cortex-m55"), Goal.BALANCED)
    assert call.kernel == (_CONVOLUTION if geometry.groups else _DEPTHWISE)
    bench, view = Bench(_linked(*_HELIUM), np.random.default_rng(0)), graph.views[0]
    row = bench.place("input", np.ones(view["input"].type.row_elements, np.float32))
    output = bench.place("output", np.zeros(view.output.type.row_elements, np.float32), writable=True)
    rows = bench.rows([row] * geometry.kernel[0])
    taken = bench.call(call.kernel, output, rows, bench.params(call), 0)
    assert taken < most * view.op.macs(view) / view.steps


def test_what_the_kernels_refuse() -> None:
    """Groups, columns that are spread, two channels, and windows of which some have no column inside."""
    fits = {
        geometry: _packed(graph_of(convolution_f32(geometry))) is not None
        for geometry in (
            Geometry(4, 4, groups=2), Geometry(4, 4, dilation=2), Geometry(4, 2), Geometry(4, 3),
            Geometry(4, 4, kernel=(3, 1), dilation=2), Geometry(4, 4),
        )
    }  # fmt: skip
    assert list(fits.values()) == [False, False, False, True, True, True]


def test_plain_c_under_sanitizers_equals_the_reference(tmp_path: Path) -> None:
    """The twin on this machine, with canaries between buffers: instructions of vectors do not run here."""
    check_gcc()
    cases = list(_cases())[::4]
    graphs = [graph_of(case) for case in cases]
    plans = [spread(plan(graph, target("cortex-m55"), goal=Goal.SPEED)) for graph in graphs]
    assert any(_CONVOLUTION in made.kernels for made in plans)
    batch = Batch(graphs, plans, tmp_path, compiler="gcc", level="0", sanitize=True, processor="cortex-m55")
    outcomes = batch.run([case.inputs for case in cases])
    for case, graph, made, outcome in zip(cases, graphs, plans, outcomes, strict=True):
        for outputs in outcome.outputs:
            with np.errstate(all="ignore"):
                wanted = kibi.run(graph, None, case.inputs)
            assert_same(graph, [_without_nan(each) for each in outputs], [_without_nan(each) for each in wanted])
        assert all(outcome.arena[byte] == CANARY for byte in gaps(made))


@pytest.mark.slow
def test_plan_files_on_numpy_equal_the_reference() -> None:
    """Constants of all layers are unpacked as they were packed."""
    used = set[str]()
    for case in _cases():
        graph = graph_of(case)
        file = PlanFile(plan_file(PlannedModel.of(graph, plan(graph, target("cortex-m55")))))
        with np.errstate(all="ignore"):
            found, wanted = NumpyPlanEngine(file).run(case.inputs), kibi.run(graph, None, case.inputs)
        assert_same(graph, [_without_nan(each) for each in found], [_without_nan(each) for each in wanted])
        used |= set(file.kernels)
    assert _CONVOLUTION in used


@pytest.mark.slow
def test_parts_that_a_call_needs_are_enough() -> None:
    """Other parts are left out of the library."""
    tried = set[frozenset[str]]()
    for seed, case in enumerate(_cases()):
        graph = graph_of(case)
        call = _packed(graph)
        if call is not None and call.features not in tried:
            tried.add(call.features)
            assert _check(linked((call.kernel,), *_HELIUM, call.features), case, seed)
    assert len(tried) > 3
