"""Kernels for cores with vectors: any shape and scratch, the assembly and the C, in place, and what they refuse."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.kernels.params.vectors import Conv2DVectorsParams, DepthwiseVectorsParams
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel, plan
from kibi.qemu import why_not_emulated
from kibi.quant import requantize
from kibi.selection import Goal
from kibi.selection.choice import choose
from kibi.selection.conv2d_vectors import CONV2D_VECTORS, FULLY_CONNECTED_VECTORS
from kibi.selection.depthwise_vectors import DEPTHWISE_VECTORS
from kibi.selection.sums import MOST_SIZE
from kibi.selection.variant import Variant
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.batch import CANARY, Batch
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.ops.orders import gaps, spread
from tests.quant.boundaries import TRIPLES
from tests.support.zoo import model_path, requires_zoo
from tests.toolchain.tools import check_gcc

_CONVOLUTION, _DEPTHWISE = "kibi_conv2d_s8_vectors", "kibi_depthwise_conv2d_s8_vectors"
_HELIUM = ("cortex-m55", "zig", "s")
_BUILDS = [
    _HELIUM,
    ("cortex-m4", "zig", "s"),
    pytest.param(("cortex-m55", "gcc", "2"), marks=[pytest.mark.slow, pytest.mark.cross]),
    pytest.param(("rv32imac", "zig", "s"), marks=pytest.mark.slow),
]
"""A core of the set, one that runs the plain C, and others."""
_GEOMETRIES = (
    *GEOMETRIES,
    *(Geometry(8 * width, 5, kernel=(1, 1), size=(1, width)) for width in range(1, 6)),
    Geometry(17, 8, kernel=(1, 3), padding="VALID", size=(1, 9)),  # pieces of a row that overlap
    Geometry(12, 1, dilation=2, size=(5, 6)),
    *(
        Geometry(channels, channels, groups=0, stride=stride, dilation=dilation, size=(3, width))
        for channels, stride, dilation, width in (
            (4, 1, 1, 9), (4, 2, 1, 9), (8, 1, 2, 6), (8, 2, 1, 9), (12, 1, 1, 5), (16, 1, 1, 2), (20, 2, 1, 7), (64, 2, 2, 9),
            (80, 1, 1, 4), (5, 1, 1, 5), (15, 2, 1, 5), (37, 1, 1, 5), (101, 1, 1, 3), (16, 1, 3, 1),
        )
    ),
)  # fmt: skip
"""Rests of pixels, channels and vectors; windows at every edge, and pixels that share vectors."""
_CUT = (
    *(Geometry(channels, outputs, kernel=(1, 1), size=(2, width)) for channels, outputs, width in (
        (8, 4, 3), (16, 8, 4), (11, 12, 5), (15, 4, 6), (9, 16, 7), (16, 4, 13), (16, 5, 8), (16, 4, 2), (7, 4, 8), (17, 4, 8),
    )),
    Geometry(16, 8, kernel=(1, 1), stride=2, size=(2, 9)),
    Geometry(4, 8, kernel=(1, 3), padding="VALID", size=(2, 11)),
    Geometry(1, 20, size=(4, 10)),
    Geometry(1, 8, stride=2, size=(4, 19)),
    Geometry(3, 4, kernel=(2, 2), dilation=2, size=(5, 9)),
    *(
        Geometry(channels, channels, groups=0, stride=stride, size=(3, width))
        for channels, stride, width in ((4, 1, 9), (8, 2, 9), (12, 1, 5), (16, 1, 4), (20, 2, 7), (80, 1, 3), (5, 1, 5), (37, 1, 5))
    ),
)  # fmt: skip
"""Layers whose outputs a RELU cuts at -128: those that are rounded once, and some that have other windows or channels."""
_LAYERS = (*((each, False) for each in _GEOMETRIES), *((each, True) for each in _CUT))
_ROOMS = (1 << 14, 300)
"""Scratch for all windows, and for those of one or two pixels, or of none."""
_VARIANTS = (CONV2D_VECTORS, DEPTHWISE_VECTORS)


_linked = partial(linked, (_CONVOLUTION, _DEPTHWISE))
"""What runs on a core: by its name, the compiler and the level."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels for a core."""
    return _linked(*request.param)


def _packed(graph: Graph) -> Iterator[KernelCall]:
    """What the kernels make of a layer, with much scratch and with little, each once."""
    general, found = graph.general_calls[0], list[KernelCall]()
    for variant in _VARIANTS:
        for room in _ROOMS:
            call = variant.pack(replace(general, scratch_bytes=room)) if variant.of == general.kernel else None
            if call is not None and call not in found:
                assert call.scratch_bytes <= room
                found.append(call)
                yield call


@pytest.mark.share(2, part=0)
def test_rows_equal_the_reference(kernels: Kernels) -> None:
    """Blocks of one to four pixels, windows that are copied and such that are not, any number of channels."""
    ways, once = set[tuple[int, int]](), 0
    for seed, (geometry, is_cut) in enumerate(_LAYERS):
        case = convolution(geometry, seed, is_cut=is_cut)
        graph = graph_of(case)
        expected = kibi.run(graph, None, case.inputs)
        for call in _packed(graph):
            if isinstance(call.params, Conv2DVectorsParams):
                ways.add((call.params.pixels, call.params.gathers))
            if isinstance(call.params, DepthwiseVectorsParams):
                once += call.params.rounds_once
            assert_same(graph, [run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), call)], expected)
    assert {(3, 0), (3, 1), (4, 0), (4, 1)} <= ways
    assert once >= 4


def _call(weights: np.ndarray, bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, low: int) -> KernelCall:
    """The general call of a fully connected layer of one vector, `weights` [O, K]."""
    outputs, depth = weights.shape
    values: dict[str, object] = {
        "filter": weights.astype(np.int8).reshape(-1), "bias": bias.astype(np.int32), "multiplier": multiplier.astype(np.int32),
        "shift": shift.astype(np.int8), "vectors": 1, "vectors_per_row": 1, "pieces": 1, "piece": depth, "depth": depth,
        "output_channels": outputs, "output_zero_point": 3, "activation_min": low, "activation_max": 127,
    }  # fmt: skip
    return KernelCall.of("kibi_fully_connected_s8", values, 0, inplace_distance_bytes=(1 << 15,))


@pytest.mark.parametrize("low", [-128, 3])
def test_every_boundary(kernels: Kernels, low: int) -> None:
    """Sums of the bias alone, each with its multiplier and shift, rounded away from zero and cut at the zero point."""
    limit = (1 << 30) - 256
    triples = np.array([each for each in TRIPLES if each[2] < 0 <= each[1] and abs(each[0]) < limit], np.int32)
    for part in np.array_split(triples, len(triples) // MOST_SIZE + 1):
        acc, multiplier, shift = part.T
        weights = np.tile([1, 0, 0, 0], (len(acc), 1))
        call = FULLY_CONNECTED_VECTORS.pack(_call(weights, acc, multiplier, shift, low))
        assert call is not None
        bench = Bench(kernels, np.random.default_rng(0))
        output = bench.place("output", np.zeros(len(acc), np.int8), writable=True)
        rows = bench.rows([bench.place("input", np.zeros(4, np.int8))])
        bench.call(_CONVOLUTION, output, rows, bench.params(call), bench.scratch(0))
        wanted = np.clip(requantize(acc, multiplier, shift).astype(np.int64) + 3, low, 127)
        np.testing.assert_array_equal(bench.read(output, len(acc)), wanted)


def test_products_at_the_ends_of_16_bits(kernels: Kernels) -> None:
    """Weights of 127 and -127 with the least and the greatest inputs: pairs of products of depthwise layers have 16 bits."""
    graph = graph_of(convolution(Geometry(16, 16, groups=0, padding="VALID", size=(3, 3))))
    general = graph.general_calls[0]
    signs = np.random.default_rng(0).choice([-1, 1], (9, 16))
    signs[:, 0], signs[:, 1] = 1, -1
    layer = general.params_as(DepthwiseS8Params).replaced(
        filter=(127 * signs).astype(np.int8).reshape(-1), bias=np.zeros(16, np.int32), multiplier=np.full(16, 1 << 30, np.int32),
        shift=np.full(16, -10, np.int8),
    )  # fmt: skip
    call = DEPTHWISE_VECTORS.pack(replace(general, params=layer))
    assert call is not None
    for data in (np.where(signs > 0, -128, 127), np.full((9, 16), -128)):
        bench = Bench(kernels, np.random.default_rng(0))
        output = bench.place("output", np.zeros(16, np.int8), writable=True)
        source = bench.place("input", data.astype(np.int8).reshape(-1))
        bench.call(
            _DEPTHWISE,
            output,
            bench.rows([source + 48 * row for row in range(3)]),
            bench.params(call),
            bench.scratch(0),
        )
        sums = (127 * signs * data).sum(axis=0).astype(np.int32)
        wanted = np.clip(requantize(sums, layer.multiplier, layer.shift) + layer.output_zero_point, -128, 127)
        np.testing.assert_array_equal(bench.read(output, 16), wanted)


def test_what_the_kernels_refuse() -> None:
    """A shift by nothing, a window without scratch, depthwise weights of -128 and other windows."""
    weights, ones = np.ones((4, 4)), np.ones(4)
    assert FULLY_CONNECTED_VECTORS.pack(_call(weights, ones, ones * (1 << 30), 0 * ones, -128)) is None
    assert FULLY_CONNECTED_VECTORS.pack(_call(weights, ones, ones * (1 << 30), -ones, -128)) is not None
    general = graph_of(convolution(Geometry(4, 4))).general_calls[0]
    assert CONV2D_VECTORS.pack(replace(general, scratch_bytes=35)) is None
    assert CONV2D_VECTORS.pack(replace(general, scratch_bytes=36)) is not None
    general = graph_of(convolution(Geometry(16, 16, groups=0), is_cut=True)).general_calls[0]
    for low, high, once in ((-128, 127, 1), (-127, 127, 0), (-128, 126, 0)):
        changed = general.params_as(DepthwiseS8Params).replaced(activation_min=low, activation_max=high)
        packed = DEPTHWISE_VECTORS.pack(replace(general, params=changed))
        assert packed is not None
        assert packed.params_as(DepthwiseVectorsParams).rounds_once == once
    general = graph_of(convolution(Geometry(16, 16, groups=0))).general_calls[0]
    least = general.params_as(DepthwiseS8Params).replaced(filter=np.full(144, -128, np.int8))
    assert DEPTHWISE_VECTORS.pack(replace(general, params=least)) is None
    assert DEPTHWISE_VECTORS.pack(general) is not None
    assert (
        DEPTHWISE_VECTORS.pack(graph_of(convolution(Geometry(16, 16, kernel=(3, 2), groups=0))).general_calls[0])
        is None
    )


@pytest.mark.parametrize(
    "build", [("cortex-m4", "zig", "s"), pytest.param(_HELIUM, marks=pytest.mark.slow)], ids=" ".join
)
def test_rows_may_be_overwritten_from_the_declared_distance_on(build: tuple[str, str, str]) -> None:
    """Where windows are copied, where they are not, and in depthwise layers."""
    kernels, tried = _linked(*build), 0
    for geometry, is_cut in _LAYERS:
        case = convolution(geometry, is_cut=is_cut)
        graph = graph_of(case)
        for call in _packed(graph):
            (distance,) = call.inplace_distance_bytes
            assert distance is not None
            distances = [distance, distance + 1, distance + 7]
            wrong, count = differing_distances(kernels, graph.views[0], call, case.inputs[0], distances)
            assert not wrong, (geometry, wrong)
            tried += count
    assert tried > 2 * len(_GEOMETRIES)


@pytest.mark.parametrize(
    ("geometry", "variant", "least", "most"),
    [
        (Geometry(64, 64, kernel=(1, 1), size=(2, 12)), CONV2D_VECTORS, 0.15, 0.23),
        (Geometry(64, 64, groups=0, size=(3, 25)), DEPTHWISE_VECTORS, 0.7, 1.0),
    ],
)
def test_instructions_of_a_product(geometry: Geometry, variant: Variant, least: float, most: float) -> None:
    """Rows of usual layers take few instructions, and they are computed by these kernels."""
    graph = graph_of(convolution(geometry))
    (call,) = choose(graph.general_calls, target("cortex-m55"), Goal.BALANCED)
    assert call.kernel == variant.kernel
    params = call.params
    assert isinstance(params, (Conv2DVectorsParams, DepthwiseVectorsParams))
    height, width = geometry.size
    bench, rng = Bench(_linked(*_HELIUM), np.random.default_rng(0)), np.random.default_rng(1)
    data = bench.place("input", rng.integers(-128, 128, height * width * geometry.channels).astype(np.int8))
    count = 1 if variant is CONV2D_VECTORS else 3
    rows = bench.rows([data + row * width * geometry.channels for row in range(count)])
    output = bench.place("output", np.zeros(width * geometry.outputs, np.int8), writable=True)
    instructions = bench.call(call.kernel, output, rows, bench.params(call), bench.scratch(call.scratch_bytes))
    macs = graph.views[0].op.macs(graph.views[0]) / graph.views[0].steps
    assert least < instructions / macs < most


@pytest.mark.slow
@requires_zoo
@pytest.mark.parametrize(
    "name",
    [
        "mlperf_kws_int8",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "mlperf_ad_int8",
                "mlperf_ic_int8",
                "mlperf_vww_int8",
                "mlperf_sww_int8",
                "tflm_micro_speech",
                "tflm_person_detect",
            )
        ),
    ],
)
def test_models_have_the_same_bits(name: str, tmp_path: Path) -> None:
    """On the core of the set, as Python has them."""
    reason = why_not_emulated(target("cortex-m55"))
    if reason:
        pytest.skip(reason)
    model = kibi.simplify(kibi.load(model_path(name)))
    planned = kibi.plan(model, "cortex-m55")
    assert _CONVOLUTION in planned.kernels
    found = kibi.measure(kibi.compile(model, planned, tmp_path))
    assert found.bit_exact


def test_plain_c_under_sanitizers_equals_the_reference(tmp_path: Path) -> None:
    """The twins on this machine, with canaries between buffers: Helium's instructions do not run here."""
    check_gcc()
    cases = [convolution(each, seed, is_cut=is_cut) for seed, (each, is_cut) in enumerate(_LAYERS[::3])]
    graphs = [graph_of(case) for case in cases]
    plans = [spread(plan(graph, target("cortex-m55"), goal=Goal.SPEED)) for graph in graphs]
    assert {_CONVOLUTION, _DEPTHWISE} <= {kernel for made in plans for kernel in made.kernels}
    batch = Batch(graphs, plans, tmp_path, compiler="gcc", level="0", sanitize=True, processor="cortex-m55")
    for case, graph, made, outcome in zip(
        cases, graphs, plans, batch.run([case.inputs for case in cases]), strict=True
    ):
        for outputs in outcome.outputs:
            assert_same(graph, outputs, kibi.run(graph, None, case.inputs))
        assert all(outcome.arena[byte] == CANARY for byte in gaps(made))


@pytest.mark.slow
def test_plan_files_on_numpy_equal_the_reference() -> None:
    """Constants of all layers are unpacked as they were packed."""
    used = set[str]()
    for seed, (geometry, is_cut) in enumerate(_LAYERS):
        case = convolution(geometry, seed, is_cut=is_cut)
        graph = graph_of(case)
        file = PlanFile(plan_file(PlannedModel.of(graph, plan(graph, target("cortex-m55")))))
        assert_same(graph, NumpyPlanEngine(file).run(case.inputs), kibi.run(graph, None, case.inputs))
        used |= set(file.kernels)
    assert {_CONVOLUTION, _DEPTHWISE} <= used


def test_arenas_are_worth_more_than_windows_of_single_pixels() -> None:
    """Where the M4's kernel takes no scratch, that one runs the layer, but for speed."""
    graph = graph_of(convolution(Geometry(32, 16, kernel=(3, 5), padding="VALID", size=(3, 5))))
    found = {goal: choose(graph.general_calls, target("cortex-m55"), goal)[0] for goal in (Goal.BALANCED, Goal.SPEED)}
    assert (found[Goal.BALANCED].kernel, found[Goal.BALANCED].scratch_bytes) == ("kibi_fully_connected_s8_blocks", 0)
    assert (found[Goal.SPEED].kernel, found[Goal.SPEED].scratch_bytes) == (_CONVOLUTION, 3 * 5 * 32)
