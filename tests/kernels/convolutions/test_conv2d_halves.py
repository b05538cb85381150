"""Convolutions with two pixels in the halves of a word: any shape and scratch, the assembly and the C, in place, and the choice."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.halves import Conv2DHalvesParams
from kibi.quant import requantize
from kibi.selection import Goal
from kibi.selection.choice import choose
from kibi.selection.conv2d_halves import CONV2D_HALVES, fit_halves
from kibi.selection.sums import MOST_SIZE
from kibi.targets import target
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.quant.boundaries import TRIPLES

_KERNEL = "kibi_conv2d_s8_halves"
_RISCV = ("rv32imac", "zig", "s")
_BUILDS = [
    _RISCV,
    ("cortex-m4", "zig", "s"),
    pytest.param(("rv32imc", "zig", "2"), marks=pytest.mark.slow),
    pytest.param(("cortex-m0plus", "zig", "s"), marks=pytest.mark.slow),
]
"""A core of the set, one that runs the plain C, and others."""
_GEOMETRIES = (
    *GEOMETRIES,
    *(Geometry(12, 5, kernel=(1, 1), size=(1, width)) for width in range(1, 9)),
    Geometry(140, 3, kernel=(1, 1), size=(1, 7)),  # more groups than a word has flags
    Geometry(32, 9, kernel=(5, 5), stride=2, size=(5, 8)),
    Geometry(8, 6, kernel=(3, 5), size=(3, 3)),  # columns outside on both sides of a window
    Geometry(12, 1, dilation=2, size=(5, 6)),
    Geometry(16, 21, stride=3, padding="VALID", size=(3, 12)),
    Geometry(8, 5, size=(3, 1)),
    Geometry(8, 5, size=(3, 5)),
)
_ROOMS = (96, 500, 1500, 1 << 14)
"""Scratch for a tap of two pixels, for some, for windows in pieces, and for all."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernel for a core."""
    return linked((_KERNEL,), *request.param)


def _packed(graph: Graph, room: int) -> KernelCall | None:
    call = replace(graph.general_calls[0], scratch_bytes=room)
    return CONV2D_HALVES.pack(call) if call.kernel == CONV2D_HALVES.of else None


def test_blocks_of_any_size_equal_the_reference(kernels: Kernels) -> None:
    """One to six pixels, odd channels, and windows in pieces."""
    ways = set[tuple[int, bool]]()
    for seed, geometry in enumerate(_GEOMETRIES):
        case = convolution(geometry, seed)
        graph = graph_of(case)
        expected = kibi.run(graph, None, case.inputs)
        for room in _ROOMS:
            packed = _packed(graph, room)
            if packed is None:
                continue
            assert packed.scratch_bytes <= room
            params = packed.params_as(Conv2DHalvesParams)
            ways.add((params.pixels, params.taps < params.kernel_rows * params.kernel_width))
            found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
            assert_same(graph, [found], expected)
    assert ways == {(pixels, in_pieces) for pixels in range(1, 7) for in_pieces in (False, True)}


def _call(
    weights: np.ndarray, bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray, width: int, low: int = -128
) -> KernelCall:
    """The general call of a layer of single pixels, `weights` [O, K]."""
    outputs, depth = weights.shape
    values: dict[str, object] = {
        "filter": weights.astype(np.int8).reshape(-1), "bias": bias.astype(np.int32), "multiplier": multiplier.astype(np.int32),
        "shift": shift.astype(np.int8), "padding": np.zeros(depth, np.int8), "input_width": width, "input_channels": depth,
        "output_width": width, "output_channels": outputs, "output_zero_point": 3, "activation_min": low,
        "activation_max": 127, "groups": 1, "uses_im2col": 0, "kernel_rows": 1, "kernel_width": 1, "stride": 1,
        "dilation": 1, "pad": 0,
    }  # fmt: skip
    return KernelCall.of("kibi_conv2d_s8", values, 1 << 16)


def _outputs(kernels: Kernels, call: KernelCall, inputs: np.ndarray) -> np.ndarray:
    """What the kernel makes of a row, [pixels, K]."""
    params = call.params_as(Conv2DHalvesParams)
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(len(inputs) * params.output_channels, np.int8), writable=True)
    rows = bench.rows([bench.place("input", inputs.astype(np.int8).reshape(-1))])
    bench.call(_KERNEL, output, rows, bench.params(call), bench.scratch(call.scratch_bytes))
    return bench.read(output, len(inputs) * params.output_channels).reshape(len(inputs), -1)


def test_sums_at_the_ends_of_a_half(kernels: Kernels) -> None:
    """The largest weights that fit, with the inputs that make their sums least and greatest, in either pixel of a pair."""
    signs = np.array(np.meshgrid(*[[1, -1]] * 4)).reshape(4, -1).T
    weights = np.concatenate([signs * 64, signs * [127, 128, 127, 128], signs * [127, 126, 1, 1]])
    weights = np.clip(weights, -128, 127)
    weights = np.array([each for each in weights if fit_halves(each[:2]) and fit_halves(each[2:])])
    inputs = np.where(np.concatenate([signs, signs[::-1]]) > 0, 127, -128)
    channels = len(weights)
    multiplier, shift = np.full(channels, 1 << 30), np.full(channels, -10)
    packed = CONV2D_HALVES.pack(_call(weights, np.zeros(channels), multiplier, shift, len(inputs)))
    assert packed is not None
    flags = packed.params_as(Conv2DHalvesParams).breaks
    assert np.any(flags == 0)
    assert np.any(flags != 0)
    scaled = requantize((inputs @ weights.T).astype(np.int32), multiplier, shift) + 3
    np.testing.assert_array_equal(_outputs(kernels, packed, inputs), np.clip(scaled, -128, 127))


@pytest.mark.parametrize("low", [-128, 3])
def test_every_boundary(kernels: Kernels, low: int) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, to both sides; outputs are cut at the zero point, too."""
    triples = np.array(TRIPLES, np.int32)
    for part in np.array_split(triples, len(triples) // MOST_SIZE + 1):
        acc, multiplier, shift = part.T
        packed = CONV2D_HALVES.pack(_call(np.zeros((len(acc), 4)), acc, multiplier, shift, 3, low))
        assert packed is not None
        scaled = requantize(acc, multiplier, shift).astype(np.int64) + 3
        scaled = (scaled + (1 << 31)) % (1 << 32) - (1 << 31)
        for row in _outputs(kernels, packed, np.zeros((3, 4))):
            np.testing.assert_array_equal(row, np.clip(scaled, low, 127))


@pytest.mark.parametrize(
    ("weights", "fits"),
    [([-128, -127], True), ([-128, -128], False), ([127, 127, 2], True), ([127, 127, 3], False)],
)
def test_what_fits_a_half(weights: list[int], fits: bool) -> None:
    """The bound is the exact one: it refuses what does not fit for some input, and nothing else."""
    most = sum(each * (127 if each > 0 else -128) for each in weights)
    least = sum(each * (-128 if each > 0 else 127) for each in weights)
    assert (least >= -(1 << 15) and most < 1 << 15) == fits
    assert fit_halves(np.array(weights)) == fits


def test_what_the_kernel_refuses() -> None:
    """Two products that do not fit, too little scratch, and rows of one pixel of many channels."""
    call = _call(np.full((1, 4), -128), np.zeros(1), np.ones(1), np.zeros(1), 4)
    assert CONV2D_HALVES.pack(call) is None
    call = _call(np.ones((1, 4)), np.zeros(1), np.ones(1), np.zeros(1), 4)
    assert CONV2D_HALVES.pack(call) is not None
    assert CONV2D_HALVES.pack(replace(call, scratch_bytes=15)) is None
    assert CONV2D_HALVES.pack(_call(np.ones((8, 4)), np.zeros(8), np.ones(8), np.zeros(8), 1)) is None


def test_rows_may_be_overwritten_from_the_declared_distance_on() -> None:
    """With all taps at once, and in pieces."""
    kernels, tried = linked((_KERNEL,), *_RISCV), 0
    for geometry in _GEOMETRIES:
        case = convolution(geometry)
        graph = graph_of(case)
        for room in _ROOMS[1:]:
            packed = _packed(graph, room)
            if packed is None:
                continue
            (distance,) = packed.inplace_distance_bytes
            assert distance is not None
            distances = [distance, distance + 1, distance + 7]
            wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
            assert not wrong, (geometry, room, wrong)
            tried += count
    assert tried > 3 * len(_GEOMETRIES)


def test_balanced_code_takes_it_where_scratch_is_little() -> None:
    """A layer of single pixels takes 768 bytes, and few instructions for a product."""
    graph = graph_of(convolution(Geometry(64, 64, kernel=(1, 1), size=(2, 12))))
    (call,) = choose(graph.general_calls, target("rv32imac"), Goal.BALANCED)
    assert (call.kernel, call.scratch_bytes) == (_KERNEL, 768)
    bench, rng = Bench(linked((_KERNEL,), *_RISCV), np.random.default_rng(0)), np.random.default_rng(1)
    rows = bench.rows([bench.place("input", rng.integers(-128, 128, 12 * 64).astype(np.int8))])
    output = bench.place("output", np.zeros(12 * 64, np.int8), writable=True)
    instructions = bench.call(_KERNEL, output, rows, bench.params(call), bench.scratch(call.scratch_bytes))
    assert instructions < 2.8 * 12 * 64 * 64
