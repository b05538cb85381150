"""Convolutions in blocks: any shape at any address on each core, the plain C twin, in place, and what the packing proves."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import kibi
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2DBlocksParams
from kibi.ops.windows.convolution_blocks import block_bytes, block_pixels, block_sizes
from kibi.quant import requantize
from kibi.selection import Goal
from kibi.selection.conv2d_blocks import CONV2D_BLOCKS, CONV2D_INT4_BLOCKS, pack
from kibi.selection.sums import simple_sums
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.quant.boundaries import triples_to_the_right
from tests.support.amount import IS_EXHAUSTIVE, sample
from tests.support.operator_models import Case, s8_case
from tests.toolchain.tools import check_cross

_BUILDS = (
    ("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"), ("cortex-m3", "zig", "s"),
    ("cortex-m0plus", "zig", "s"),
)  # fmt: skip
"""Cores of the set, then cores that run the plain C twin."""
_KERNEL, _INT4_KERNEL = "kibi_conv2d_s8_blocks", "kibi_conv2d_s8_int4_blocks"
_DRAWN = 100
_WIDER = tuple(
    Geometry(channels, outputs, kernel=kernel, stride=stride, size=size, dilation=dilation)
    for channels, outputs, kernel, stride, size, dilation in (
        (64, 6, (1, 1), 1, (1, 5), 1), (61, 7, (1, 1), 1, (1, 2), 1), (20, 1, (1, 1), 2, (2, 7), 1),
        (16, 5, (3, 3), 1, (3, 6), 1), (18, 4, (3, 3), 2, (3, 8), 1), (3, 9, (3, 3), 1, (4, 7), 1),
        (3, 8, (3, 3), 2, (4, 9), 1), (1, 8, (4, 8), 2, (5, 20), 1), (1, 6, (5, 4), 2, (6, 10), 1),
        (2, 3, (1, 2), 1, (1, 4), 1), (8, 4, (3, 3), 1, (5, 6), 2), (3, 4, (2, 3), 1, (4, 7), 2),
        (1, 2, (1, 3), 1, (1, 3), 1), (12, 2, (3, 5), 1, (3, 4), 1), (64, 4, (3, 3), 1, (3, 4), 1),
        (8, 7, (1, 1), 1, (2, 8), 1), (16, 3, (3, 3), 2, (3, 16), 1), (3, 8, (3, 3), 2, (4, 24), 1),
        (3, 4, (5, 5), 1, (4, 12), 1), (1, 5, (3, 3), 1, (3, 11), 1), (5, 1, (1, 1), 1, (2, 9), 1),
        (2, 6, (3, 3), 3, (5, 21), 1), (4, 2, (2, 2), 1, (2, 10), 1), (7, 2, (3, 1), 1, (4, 13), 2),
    )
)  # fmt: skip


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else (_BUILDS[0], _BUILDS[-1]), ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels of both types of weights, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked((_KERNEL, _INT4_KERNEL), target, compiler, level)


_VARIANTS = {variant.of: variant for variant in (CONV2D_BLOCKS, CONV2D_INT4_BLOCKS)}


def _given(call: KernelCall, goal: Goal) -> KernelCall:
    """The call with as much scratch as blocks may take."""
    scratch_bytes = _VARIANTS[call.kernel].scratch_bytes(call, goal)
    return replace(call, scratch_bytes=max(call.scratch_bytes, scratch_bytes))


def _packed(graph: Graph, goal: Goal = Goal.BALANCED) -> KernelCall | None:
    call = graph.calls[0]
    return _VARIANTS[call.kernel].pack(_given(call, goal)) if call.kernel in _VARIANTS else None


def _are_side_by_side(call: KernelCall) -> bool:
    return call.params_as(Conv2DBlocksParams).blocks > 1


def _check(kernels: Kernels, case: Case, seed: int) -> bool:
    """Compares with one block at a time, or, where it is of use and the seed is odd, with several side by side."""
    graph, goal = graph_of(case), Goal.SPEED if seed % 2 else Goal.BALANCED
    packed = _packed(graph, goal)
    if packed is None:
        return False
    assert packed.scratch_bytes <= _given(graph.calls[0], goal).scratch_bytes
    found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
    assert_same(graph, [found], kibi.run(graph, None, case.inputs))
    return True


def test_drawn_models_equal_the_reference(kernels: Kernels) -> None:
    """Shapes, paddings, scales and values of every kind give the same bits, and no byte outside is touched."""
    cases = ((s8_case("CONV_2D", seed), seed) for seed in range(_DRAWN))
    assert sum(_check(kernels, case, seed) for case, seed in cases) >= _DRAWN // 40


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("is_int4", [False, True])
def test_geometries_equal_the_reference(kernels: Kernels, is_int4: bool) -> None:
    """Windows that are gathered, read by rows or by columns; edges on both sides; rests of pixels and channels."""
    several = 0
    fitting = [
        seed
        for seed, each in enumerate((*GEOMETRIES, *_WIDER))
        if _check(kernels, convolution(each, seed, is_int4=is_int4), seed)
    ]
    assert len(fitting) >= len(_WIDER)
    for each in _WIDER:
        case = convolution(each, is_int4=is_int4)
        packed = _packed(graph_of(case), Goal.SPEED)
        if packed is not None and _are_side_by_side(packed):
            several += _check(kernels, case, 1)
    assert several > 5


@pytest.mark.parametrize(
    ("geometry", "low", "high"),
    [
        (Geometry(1, 6, kernel=(10, 4), stride=2, size=(21, 10)), -128, 127),  # words at both edges
        (Geometry(2, 3, kernel=(2, 2), size=(3, 7)), 3, 127),  # 3 is the output's zero point
        (Geometry(3, 8, kernel=(3, 3), stride=2, size=(4, 24)), 3, 90),  # three rows of four pixels
        (Geometry(3, 5, kernel=(3, 3), size=(4, 12)), -20, 90),
    ],
)
def test_parts_that_a_layer_needs_are_enough(geometry: Geometry, low: int, high: int) -> None:
    """Whatever no layer needs is left out: ways to requantize, blocks of other sizes, edges, rests."""
    case = convolution(geometry)
    graph = graph_of(case)
    (call,) = graph.calls
    params = call.params_as(Conv2DS8Params).replaced(activation_min=low, activation_max=high)
    packed = pack(_given(replace(call, params=params), Goal.BALANCED))
    assert packed is not None
    kernels = linked((_KERNEL,), "cortex-m4", "zig", "s", packed.features)
    found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(0), packed)
    assert_same(graph, [found], [np.clip(each, low, high) for each in kibi.run(graph, None, case.inputs)])


@cache
def _of_boundaries(pixels: int, zero_point: int, low: int, high: int) -> tuple[KernelCall, NDArray[np.int8]]:
    """A layer whose sums are its biases, and its outputs for each pixel; the same for all cores."""
    acc, multiplier, shift = triples_to_the_right(1 << 23)
    channels, acc_limit = len(acc), (1 << 23) - 129
    bias = np.clip(acc, -acc_limit, acc_limit)
    # One weight keeps each channel from being taken for a constant; its input is zero.
    values: dict[str, object] = {
        "filter": np.ones(channels, np.int8), "bias": bias, "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "padding": np.zeros(1, np.int8), "input_width": pixels, "input_channels": 1,
        "output_width": pixels, "output_channels": channels, "output_zero_point": zero_point, "activation_min": low,
        "activation_max": high, "groups": 1, "uses_im2col": 0, "kernel_rows": 1, "kernel_width": 1, "stride": 1,
        "dilation": 1, "pad": 0,
    }  # fmt: skip
    packed = pack(KernelCall.of("kibi_conv2d_s8", values, 96))
    assert packed is not None
    scaled = requantize(bias, multiplier, shift).astype(np.int64) + zero_point
    return packed, np.minimum(np.maximum(scaled, low), high).astype(np.int8)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("zero_point", "low", "high"),
    sample(
        [(0, -128, 127), (-128, -128, 127), (127, -128, 127), (5, -7, 90), (3, 60, 20)],
        [(-128, -128, 127), (5, -7, 90)],
    ),
)
@pytest.mark.parametrize("pixels", [2, 3, 4])
def test_every_boundary_that_is_simple(kernels: Kernels, pixels: int, zero_point: int, low: int, high: int) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, are rounded, moved and cut as Python does."""
    packed, expected = _of_boundaries(pixels, zero_point, low, high)
    channels = len(expected)
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(pixels * channels, np.int8), writable=True)
    rows = bench.rows([bench.place("input", np.zeros(pixels, np.int8))])
    bench.call(_KERNEL, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
    for row in bench.read(output, pixels * channels).reshape(pixels, channels):
        np.testing.assert_array_equal(row, expected)


@pytest.mark.share(2, part=1)
def test_rows_may_be_overwritten_from_the_declared_distance_on(kernels: Kernels) -> None:
    """At the distance that the variant declares, and at larger ones, no element is overwritten that is still to be read."""
    tried = 0
    goals = (Goal.BALANCED, Goal.SPEED)
    for geometry, is_int4, goal in product((*GEOMETRIES, *_WIDER), (False, True), goals):
        case = convolution(geometry, is_int4=is_int4)
        graph = graph_of(case)
        packed = _packed(graph, goal)
        if packed is None or (goal is Goal.SPEED and not _are_side_by_side(packed)):
            continue
        (distance,) = packed.inplace_distance_bytes
        assert distance is not None
        distances = [distance, distance + 1, distance + 2, distance + 5, distance + 16]
        wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
        assert not wrong, (geometry, is_int4, distance, wrong)
        tried += count
    assert tried > 2 * len(_WIDER)


def test_sums_that_may_leave_their_range_are_left_to_the_general_kernel() -> None:
    """A bias near the end of 32 bits, or a shift that is not to the right, keeps a layer from being packed."""
    weights, multiplier = np.full((2, 3), 7, np.int8), np.full(2, 1 << 30, np.int32)
    right, large = np.full(2, -3, np.int8), np.array([0, (1 << 30) - 2000], np.int32)
    assert simple_sums(weights, np.zeros(2, np.int32), multiplier, right) is not None
    assert simple_sums(weights, large, multiplier, right) is None
    assert simple_sums(weights, np.zeros(2, np.int32), multiplier, np.array([-1, 0], np.int8)) is None


@pytest.mark.parametrize("seed", range(20))
def test_channels_without_weights_get_small_constants_with_the_same_output(seed: int) -> None:
    """Whatever bias, multiplier and shift say, what stands for them gives the same after the zero point and the cut."""
    rng = np.random.default_rng(seed)
    bias = rng.integers(-(1 << 31), 1 << 31, 50).astype(np.int32) >> rng.integers(0, 31, 50)
    multiplier = rng.integers(0, 1 << 31, 50).astype(np.int32)
    shift = rng.integers(-31, 31, 50).astype(np.int32)
    scaled = requantize(bias, multiplier, shift)
    fit = abs(scaled) < 1 << 30
    found = simple_sums(
        np.zeros((int(fit.sum()), 4), np.int8), bias[fit].astype(np.int32), multiplier[fit], shift[fit].astype(np.int8)
    )
    assert found is not None
    again = requantize(found.bias, found.multiplier, found.shift.astype(np.int32))
    for zero_point in (-128, 0, 127):
        np.testing.assert_array_equal(
            np.clip(again + zero_point, -128, 127), np.clip(scaled[fit] + zero_point, -128, 127)
        )


@pytest.mark.parametrize("width", range(2, 40))
@pytest.mark.parametrize("elements", [9, 28, 144, 288, 576, 700])
def test_rows_fall_into_blocks_of_two_to_four(width: int, elements: int) -> None:
    """Every pixel is in one block, and no block needs more scratch than is said."""
    pixels = block_pixels(width, elements, is_whole=elements % 4 == 0)
    if pixels:
        sizes = block_sizes(width, pixels)
        assert sum(sizes) == width
        assert set(sizes) <= {2, 3, 4}
        assert max(sizes) == pixels
        assert block_bytes(max(sizes), elements, is_whole=True) <= block_bytes(pixels, elements, is_whole=True)
