"""Layers of int16 by their general kernels for Armv7E-M, and depthwise ones in blocks: any shape, every boundary of a scale."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.depthwise_conv2d import DepthwiseS16Params
from kibi.quant import requantize_wide
from kibi.selection.depthwise_s16_blocks import DEPTHWISE_S16_BLOCKS
from tests.kernels.emulated import WIDE_KERNELS, Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution_s16
from tests.support.amount import IS_EXHAUSTIVE, amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.toolchain.tools import check_cross

_KERNELS = (
    "kibi_conv2d_s16", "kibi_depthwise_conv2d_s16", "kibi_fully_connected_s16", "kibi_fully_connected_s16_accumulate",
)  # fmt: skip
_ROWS = "kibi_fully_connected_s16_accumulate"
_OF_FOURS = "KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS"
_MULTIPLIED = (Geometry(2, 14, groups=0, size=(3, 4)), Geometry(1, 8, groups=0, stride=2, size=(3, 7)))
_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_DRAWN = amount(10, 200)
_DEPTHWISE = tuple(
    Geometry(channels, channels, kernel=kernel, stride=stride, dilation=dilation, groups=0, size=size)
    for channels, kernel, stride, dilation, size in (
        (8, (3, 3), 1, 1, (3, 4)), (13, (3, 3), 2, 1, (5, 9)), (4, (1, 1), 1, 1, (2, 3)), (9, (2, 5), 1, 2, (4, 6)),
        (5, (3, 7), 1, 1, (4, 2)), (4, (1, 2), 1, 4, (1, 2)), (4, (23, 23), 1, 1, (24, 1)),
    )
)  # fmt: skip
"""Whole fours of channels and rests, columns outside on both sides, windows of none inside; at last more products than 32 bits are
known to hold."""


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(WIDE_KERNELS, target, compiler, level)


def _calls(graph: Graph) -> list[KernelCall]:
    """The general call, and that of the depthwise kernel from packed constants where it fits."""
    (call,) = graph.calls
    packed = DEPTHWISE_S16_BLOCKS.pack(call) if call.kernel == DEPTHWISE_S16_BLOCKS.of else None
    return [call] if packed is None else [call, packed]


def _check(kernels: Kernels, case: Case, seed: int) -> set[str]:
    """Returns the kernels that the layer was computed by, each with the reference's bits."""
    graph = graph_of(case)
    if graph.calls[0].kernel not in _KERNELS:
        return set()
    expected = kibi.run(graph, None, case.inputs)
    for call in _calls(graph):
        found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), call)
        assert_same(graph, [found], expected)
    return {call.kernel for call in _calls(graph)}


@pytest.mark.parametrize("operator", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_drawn_models_equal_the_reference(kernels: Kernels, operator: str) -> None:
    """Sums of 64 bits and of 32, scales of every kind, and values of every kind."""
    tried = [_check(kernels, OPERATOR_MODELS[operator](Seeded(seed)), seed) for seed in range(_DRAWN)]
    assert any(tried)


def test_geometries_equal_the_reference(kernels: Kernels) -> None:
    """Grouped, dilated, depthwise with and without a multiplier, at the edges."""
    tried = [
        _check(kernels, convolution_s16(geometry, seed, ("NONE", "RELU", "RELU6")[seed % 3]), seed)
        for seed, geometry in enumerate((*GEOMETRIES[:: amount(3, 1)], *_DEPTHWISE, *_MULTIPLIED))
    ]
    assert all(tried)
    assert sum(DEPTHWISE_S16_BLOCKS.kernel in each for each in tried) >= len(_DEPTHWISE)


def test_rows_of_depthwise_may_be_overwritten_from_the_declared_distance_on(kernels: Kernels) -> None:
    """No element is overwritten that is still to be read."""
    for geometry in (*(each for each in GEOMETRIES if not each.groups), *_DEPTHWISE[:4], *_MULTIPLIED):
        case = convolution_s16(geometry)
        graph = graph_of(case)
        for call in _calls(graph):
            (distance,) = call.inplace_distance_bytes
            assert distance is not None
            wrong, count = differing_distances(kernels, graph.views[0], call, case.inputs[0], [distance, distance + 2])
            assert count == 2
            assert not wrong, (call.kernel, geometry, distance)


def test_wide_sums_are_scaled_by_every_multiplier_and_shift(kernels: Kernels) -> None:
    """Sums of nothing but the bias, of 32 bits, one beyond, and of 46, as rule N26 says."""
    sums = [-(1 << 45), -(1 << 31) - 1, -(1 << 31), -1, 0, 1, 99999, (1 << 31) - 1, 1 << 31, (1 << 46) - 1]
    multipliers = [0, 1, 1 << 15, (1 << 30) - 1, 1 << 30, 0x5A5A_8000, 0x7FFE_FFFF, 0x7FFF_0000, (1 << 31) - 1]
    bias, multiplier, shift = (each.reshape(-1) for each in np.meshgrid(sums, multipliers, np.arange(-31, 8)))
    channels = len(bias)
    values: dict[str, object] = {
        "filter": np.zeros(channels, np.int8), "bias": bias.astype(np.int64), "multiplier": multiplier.astype(np.int32),
        "shift": shift.astype(np.int8), "is_wide": 1, "depth": 1, "piece": 1, "pieces": 1, "vectors": 1, "vectors_per_row": 1,
        "output_channels": channels, "output_zero_point": 0, "activation_min": -32768, "activation_max": 32767,
    }  # fmt: skip
    call = KernelCall.of("kibi_fully_connected_s16", values)
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(channels, np.int16), writable=True)
    rows = bench.rows([bench.place("input", np.array([123], np.int16))])
    bench.call(call.kernel, output, rows, bench.params(call), 0)
    scaled = requantize_wide(bias, multiplier.astype(np.int32), shift.astype(np.int32)).astype(np.int64)
    np.testing.assert_array_equal(
        bench.read(output, 2 * channels).view(np.int16), np.clip(scaled, -32768, 32767).astype(np.int16)
    )


def test_depthwise_sums_are_scaled_and_cut(kernels: Kernels) -> None:
    """Sums of nothing but the bias, at the ends of what is allowed, by every shift; with activations of every kind."""
    ends = [-(1 << 31), -(1 << 31) + 1, -65536, -1, 0, 1, 77, 1 << 20, (1 << 31) - 1]
    multipliers = [0, 1 << 15, 1 << 30, 0x5A5A_8000, 0x7FFE_FFFF, (1 << 31) - 1]
    bias, multiplier, shift = (each.reshape(-1) for each in np.meshgrid(ends, multipliers, np.arange(-17, 0)))
    channels = len(bias)
    case = convolution_s16(Geometry(channels, channels, kernel=(1, 1), groups=0, size=(1, 1)))
    (call,) = graph_of(case).calls
    layer = call.params_as(DepthwiseS16Params)
    scaled = requantize_wide(bias, multiplier.astype(np.int32), shift.astype(np.int32)).astype(np.int64)
    for low, high in ((-32768, 32767), (0, 32767), (-32768, -5), (-300, 12345)):
        changed = layer.replaced(
            filter=np.zeros_like(layer.filter), bias=bias.astype(np.int64), multiplier=multiplier.astype(np.int32),
            shift=shift.astype(np.int8), activation_min=low, activation_max=high,
        )  # fmt: skip
        packed = DEPTHWISE_S16_BLOCKS.pack(replace(call, params=changed))
        assert packed is not None
        bench = Bench(kernels, np.random.default_rng(0))
        output = bench.place("output", np.zeros(channels, np.int16), writable=True)
        rows = bench.rows([bench.place("input", np.full(channels, 123, np.int16))])
        bench.call(packed.kernel, output, rows, bench.params(packed), 0)
        np.testing.assert_array_equal(
            bench.read(output, 2 * channels).view(np.int16), np.clip(scaled, low, high).astype(np.int16)
        )


def test_few_depthwise_layers_have_no_blocks() -> None:
    """Multipliers, fewer than four channels, and sums or shifts that do not fit are left to the general kernel."""
    (call,) = graph_of(convolution_s16(Geometry(8, 8, groups=0))).calls
    layer = call.params_as(DepthwiseS16Params)
    assert DEPTHWISE_S16_BLOCKS.pack(call) is not None
    for changed in (
        layer.replaced(shift=np.zeros_like(layer.shift)), layer.replaced(bias=layer.bias + (1 << 31)), layer.replaced(is_wide=0),
    ):  # fmt: skip
        assert DEPTHWISE_S16_BLOCKS.pack(replace(call, params=changed)) is None
    for geometry in (Geometry(3, 3, groups=0), *_MULTIPLIED):
        assert len(_calls(graph_of(convolution_s16(geometry)))) == 1


@pytest.mark.parametrize(("is_packed", "most"), [(False, 11), (True, 4.3)])
def test_depthwise_products_take_few_instructions(*, is_packed: bool, most: float) -> None:
    """For each multiply-accumulate of 64 channels, everything counted."""
    graph = graph_of(convolution_s16(Geometry(64, 64, groups=0, size=(3, 12))))
    kernels, view, call = linked(WIDE_KERNELS, "cortex-m4", "zig", "s"), graph.views[0], _calls(graph)[is_packed]
    bench = Bench(kernels, np.random.default_rng(0))
    row = bench.place("input", np.ones(12 * 64, np.int16))
    output = bench.place("output", np.zeros(12 * 64, np.int16), writable=True)
    taken = bench.call(call.kernel, output, bench.rows([row] * 3), bench.params(call), 0)
    assert taken < most * view.op.macs(view) / view.steps


def test_rows_of_fully_connected_add_up(kernels: Kernels) -> None:
    """With and without the part for four channels at once."""
    _check_rows(kernels)
    _check_rows(linked((_ROWS,), "cortex-m4", "zig", "s", frozenset()))


def _check_rows(kernels: Kernels) -> None:
    """Whole fours of elements and of channels, rests of both, and more products than 32 bits hold; sums of 64 bits."""
    rng = np.random.default_rng(0)
    for piece, channels, pieces in ((1, 5, 2), (3, 4, 3), (4, 4, 1), (7, 9, 2), (112, 8, 2), (511, 4, 2), (1025, 6, 2)):
        weights = rng.choice([-128, -127, 3, 127], (channels, pieces, piece)).astype(np.int8)
        x = rng.choice([-32768, 32767, 5], (pieces, piece)).astype(np.int16)
        weights[0], x[0] = -128, -32768
        bias = rng.integers(-(1 << 36), 1 << 36, channels)
        multiplier, shift = np.full(channels, 0x6A5A_8000, np.int32), rng.integers(-26, -22, channels).astype(np.int8)
        values: dict[str, object] = {
            "filter": weights.reshape(-1), "bias": bias, "multiplier": multiplier, "shift": shift, "is_wide": 1,
            "piece": piece, "pieces": pieces, "vectors": 1, "output_channels": channels, "output_zero_point": 0,
            "activation_min": -32768, "activation_max": 32767,
        }  # fmt: skip
        call = KernelCall.of(_ROWS, values)
        bench = Bench(kernels, np.random.default_rng(piece))
        output = bench.place("output", np.zeros(channels, np.int16), writable=True)
        params, scratch = bench.params(call), bench.scratch(8 * channels)
        for step in range(pieces):
            rows = bench.rows([bench.place("input", x[step])])
            bench.call(call.kernel, output, rows, params, scratch, step)
        sums = bias + (weights.astype(np.int64) * x).sum(axis=(1, 2))
        expected = np.clip(requantize_wide(sums, multiplier, shift.astype(np.int32)), -32768, 32767).astype(np.int16)
        np.testing.assert_array_equal(bench.read(output, 2 * channels).view(np.int16), expected)


def test_four_channels_at_once_are_a_part_that_the_least_flash_leaves_out() -> None:
    """Rows of layers with fewer channels, or with fewer elements, need none of it in any case."""
    parts = (frozenset({_OF_FOURS}), frozenset[str]())
    fast, small = (linked((_ROWS,), "cortex-m4", "zig", "s", each).image.code_bytes for each in parts)
    assert small + 250 < fast
    for channels, elements, needed in ((4, 4, {_OF_FOURS}), (3, 8, set()), (8, 3, set())):
        (call,) = _vector_of_rows(channels, elements).calls
        assert call.kernel == _ROWS
        assert call.features == needed
        assert call.least_features == frozenset()


def _vector_of_rows(channels: int, elements: int) -> Graph:
    """A layer whose vector spans 64 rows."""
    builder = ModelBuilder()
    operands = [builder.input([1, 64, 1, elements], DType.S16, 0.5, 0)]
    operands.append(builder.constant(np.ones((channels, 64 * elements), np.int8), 0.25, 0))
    output = builder.tensor([1, channels], DType.S16, 0.5, 0)
    builder.operator("FULLY_CONNECTED", operands, [output], {})
    return parse_tflite(builder.finish([output]), "rows.tflite")


def test_rows_of_fully_connected_take_few_instructions() -> None:
    """For each multiply-accumulate of a row of 112 elements and 32 channels, the last one's outputs counted."""
    values: dict[str, object] = {
        "filter": np.ones(112 * 32, np.int8), "bias": np.zeros(32, np.int64), "multiplier": np.full(32, 1 << 30, np.int32),
        "shift": np.full(32, -9, np.int8), "is_wide": 1, "piece": 112, "pieces": 1, "vectors": 1, "output_channels": 32,
        "output_zero_point": 0, "activation_min": -32768, "activation_max": 32767,
    }  # fmt: skip
    call = KernelCall.of(_ROWS, values)
    bench = Bench(linked(WIDE_KERNELS, "cortex-m4", "zig", "s"), np.random.default_rng(0))
    output = bench.place("output", np.zeros(32, np.int16), writable=True)
    rows = bench.rows([bench.place("input", np.ones(112, np.int16))])
    taken = bench.call(call.kernel, output, rows, bench.params(call), bench.scratch(256), 0)
    assert taken < 2.3 * 112 * 32, taken / (112 * 32)
