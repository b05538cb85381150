"""Convolutions whose windows are multiplied piece by piece: any shape and scratch, the plain C twin, in place, and the choice."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2DPiecesParams
from kibi.quant import requantize
from kibi.selection import Goal
from kibi.selection.choice import choose
from kibi.selection.conv2d_pieces import CONV2D_PIECES, pieces_of
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.quant.boundaries import triples_to_the_right
from tests.toolchain.tools import check_cross

_KERNEL = "kibi_conv2d_s8_pieces"
_M4 = ("cortex-m4", "zig", "s")
_BUILDS = [
    _M4,
    pytest.param(("cortex-m0plus", "zig", "s"), marks=pytest.mark.slow),
    pytest.param(("cortex-m4", "gcc", "2"), marks=pytest.mark.slow),
    pytest.param(("cortex-m33", "zig", "2"), marks=pytest.mark.slow),
]  # fmt: skip
"""A core of the set, one that runs the plain C twin, and others."""
_GEOMETRIES = (
    Geometry(32, 9, kernel=(5, 5), stride=2, size=(5, 8)),
    Geometry(28, 7, kernel=(4, 4), size=(4, 7)),
    Geometry(8, 6, kernel=(3, 5), size=(3, 3)),  # columns outside on both sides of a window
    Geometry(4, 17, kernel=(5, 5), padding="VALID", size=(5, 11)),
    Geometry(64, 2, kernel=(1, 1), size=(1, 5)),
    Geometry(12, 1, dilation=2, size=(5, 6)),
    Geometry(16, 21, stride=3, padding="VALID", size=(3, 12)),
)
_ROOMS = (120, 200, 1000)
"""Scratch for parts of a column, for one, and for several."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernel for a core by a compiler."""
    if request.param[1] == "gcc":
        check_cross()
    return linked((_KERNEL,), *request.param)


def _packed(graph: Graph, room: int) -> KernelCall | None:
    return CONV2D_PIECES.pack(replace(graph.general_calls[0], scratch_bytes=room))


def test_pieces_of_any_size_equal_the_reference(kernels: Kernels) -> None:
    """Windows inside and outside, odd widths and channels, in pieces from a part of a column to the whole window."""
    ways = set[tuple[bool, bool]]()
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution(geometry, seed)
        graph = graph_of(case)
        expected = kibi.run(graph, None, case.inputs)
        for room in _ROOMS:
            packed = _packed(graph, room)
            if packed is None:
                continue
            assert packed.scratch_bytes <= room
            params = packed.params_as(Conv2DPiecesParams)
            ways.add((params.elements_at_once < geometry.channels, 2 * params.pairs_at_once < geometry.outputs))
            found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
            assert_same(graph, [found], expected)
    assert len(ways) == 4


def test_outputs_are_rounded_once_where_a_relu_cuts() -> None:
    """Odd and even numbers of channels and of pixels, cut off at the zero point."""
    kernels, tried = linked((_KERNEL,), *_M4), 0
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution(geometry, seed)
        graph = graph_of(case)
        general = graph.general_calls[0]
        layer = general.params_as(Conv2DS8Params)
        zero_point = layer.output_zero_point
        relu = replace(general, params=layer.replaced(activation_min=zero_point), scratch_bytes=1000)
        packed = CONV2D_PIECES.pack(relu)
        if packed is None:
            continue
        tried += packed.params_as(Conv2DPiecesParams).rounds_once
        (expected,) = kibi.run(graph, None, case.inputs)
        found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
        np.testing.assert_array_equal(found.reshape(expected.shape), np.maximum(expected, zero_point))
    assert tried > 2


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(("zero_point", "low", "high"), [(0, -128, 127), (-128, -128, 127), (5, -7, 90), (3, 60, 20)])
def test_every_boundary_that_is_simple(zero_point: int, low: int, high: int) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, are rounded, moved and cut as Python does."""
    acc, multiplier, shift = triples_to_the_right(1 << 23)
    acc = np.clip(acc, 1025 - (1 << 23), (1 << 23) - 1025)
    channels = len(acc)
    # Weights keep each channel from being taken for a constant; their inputs are zero.
    values: dict[str, object] = {
        "filter": np.ones(4 * channels, np.int8), "bias": acc, "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "padding": np.zeros(4, np.int8), "input_width": 3, "input_channels": 4,
        "output_width": 3, "output_channels": channels, "output_zero_point": zero_point, "activation_min": low,
        "activation_max": high, "groups": 1, "uses_im2col": 0, "kernel_rows": 1, "kernel_width": 1, "stride": 1,
        "dilation": 1, "pad": 0,
    }  # fmt: skip
    packed = CONV2D_PIECES.pack(KernelCall.of("kibi_conv2d_s8", values, 1 << 16))
    assert packed is not None
    bench = Bench(linked((_KERNEL,), *_M4), np.random.default_rng(0))
    output = bench.place("output", np.zeros(3 * channels, np.int8), writable=True)
    rows = bench.rows([bench.place("input", np.zeros(12, np.int8))])
    bench.call(_KERNEL, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
    scaled = requantize(acc, multiplier, shift).astype(np.int64) + zero_point
    expected = np.minimum(np.maximum(scaled, low), high).astype(np.int8)
    for row in bench.read(output, 3 * channels).reshape(3, channels):
        np.testing.assert_array_equal(row, expected)


def test_rows_may_be_overwritten_from_the_declared_distance_on() -> None:
    """With all channels at once, and with parts of them, which read the windows again after others were written."""
    kernels, tried = linked((_KERNEL,), *_M4), 0
    for geometry in _GEOMETRIES:
        case = convolution(geometry)
        graph = graph_of(case)
        for room in _ROOMS:
            packed = _packed(graph, room)
            if packed is None:
                continue
            (distance,) = packed.inplace_distance_bytes
            assert distance is not None
            distances = [distance, distance + 1, distance + 7]
            wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
            assert not wrong, (geometry, room, wrong)
            tried += count
    assert tried > 6 * len(_GEOMETRIES)


@pytest.mark.parametrize("depth", [4, 12, 28, 64, 1000])
@pytest.mark.parametrize("most_bytes", [80, 300, 512, 6144])
def test_pieces_fit_their_scratch_and_divide_windows(depth: int, most_bytes: int) -> None:
    """Pieces are whole columns, or a part of which several make up a column; with room for all there is one piece."""
    for columns in (1, 9, 40):
        size = columns * depth
        for pairs in (1, 5, 64):
            pieces = pieces_of(size, depth, pairs, most_bytes)
            if pieces is None:
                assert most_bytes < 512
                continue
            assert pieces.scratch_bytes <= most_bytes
            assert pieces.elements % 4 == 0
            assert pieces.elements % depth == 0 or depth % pieces.elements == 0
            assert pieces.elements <= size
            assert pieces.pairs <= pairs
            if 16 * pairs + 4 * size <= most_bytes:
                assert (pieces.elements, pieces.pairs) == (size, pairs)


def test_windows_too_large_for_blocks_are_computed_in_pieces() -> None:
    """Balanced code takes little scratch for them, and instructions for a product stay below one."""
    graph = graph_of(convolution(Geometry(32, 32, kernel=(5, 5), stride=2, size=(5, 16))))
    (call,) = choose(graph.general_calls, target("cortex-m4"), Goal.BALANCED)
    assert (call.kernel, call.scratch_bytes) == (_KERNEL, 512)
    kernels, view = linked((_KERNEL,), *_M4), graph.views[0]
    bench, rng = Bench(kernels, np.random.default_rng(0)), np.random.default_rng(1)
    rows = bench.rows([bench.place("input", rng.integers(-128, 128, 512).astype(np.int8)) for _ in range(5)])
    output = bench.place("output", np.zeros(256, np.int8), writable=True)
    instructions = bench.call(_KERNEL, output, rows, bench.params(call), bench.scratch(call.scratch_bytes))
    assert instructions * view.steps < 0.88 * view.op.macs(view)
