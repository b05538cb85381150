"""Convolutions and fully connected layers of int16 from packed constants: any shape, in place, and what the packing proves."""

from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.ir import Graph, KernelCall
from kibi.kernels.params.conv2d import Conv2DS16Params
from kibi.kernels.params.conv2d_s16_packed import Conv2DS16BlocksParams
from kibi.quant import requantize_wide
from kibi.selection import Goal, choose
from kibi.selection.conv2d_s16_3x3x1 import CONV2D_S16_3X3X1
from kibi.selection.conv2d_s16_blocks import CONV2D_S16_BLOCKS
from kibi.selection.sums import wide_factors
from kibi.targets import target
from tests.kernels.emulated import WIDE_KERNELS, Bench, Kernels, linked, run
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution_s16
from tests.support.amount import IS_EXHAUSTIVE, amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.toolchain.tools import check_cross

_KERNEL = "kibi_conv2d_s16_blocks"
_THREE_BY_THREE = "kibi_conv2d_s16_3x3x1"
_BUILDS = (
    ("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"), ("cortex-m3", "zig", "s"),
)  # fmt: skip
"""Cores of the set, then a core that runs the plain C twin."""
_DRAWN = amount(20, 60)
_WIDER = tuple(
    Geometry(channels, outputs, kernel=kernel, stride=stride, size=size, dilation=dilation)
    for channels, outputs, kernel, stride, size, dilation in (
        (64, 6, (1, 1), 1, (1, 5), 1), (61, 7, (1, 1), 1, (1, 2), 1), (20, 1, (1, 1), 2, (2, 7), 1),
        (16, 5, (3, 3), 1, (3, 6), 1), (3, 9, (3, 3), 1, (4, 7), 1), (1, 8, (4, 8), 2, (5, 20), 1),
        (8, 4, (3, 3), 1, (5, 6), 2), (3, 4, (2, 3), 1, (4, 7), 2), (64, 4, (3, 3), 1, (3, 4), 1), (40, 3, (2, 3), 1, (2, 5), 1),
        (1, 2, (1, 3), 1, (1, 3), 1), (8, 6, (1, 1), 1, (2, 1), 1), (33, 1, (1, 1), 1, (1, 4), 1),
        (3, 9, (3, 3), 1, (3, 12), 1), (5, 4, (2, 3), 1, (3, 11), 1), (4, 6, (3, 2), 1, (4, 14), 2),
        (1, 3, (5, 1), 1, (6, 5), 1), (1, 6, (3, 2), 1, (5, 6), 1), (5, 4, (2, 3), 1, (4, 7), 1),
    )
)  # fmt: skip
_VARIANTS = {variant.of: variant for variant in CONV2D_S16_BLOCKS}


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernel, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(WIDE_KERNELS, target, compiler, level)


def _packed(graph: Graph, goal: Goal = Goal.BALANCED) -> list[KernelCall]:
    """The calls of the variants that fit, in the order in which they are asked."""
    call = replace(graph.calls[0], least_arena_bytes=1 << 16)
    fitting = [each for each in (CONV2D_S16_3X3X1, *CONV2D_S16_BLOCKS) if each.of == call.kernel]
    calls = (each.pack(replace(call, scratch_bytes=each.scratch_bytes(call, goal))) for each in fitting)
    return [each for each in calls if each is not None]


def _check(kernels: Kernels, case: Case, seed: int) -> set[str]:
    """Returns the kernels that fit, all of which give the reference's bits."""
    graph = graph_of(case)
    packed = _packed(graph)
    expected = kibi.run(graph, None, case.inputs) if packed else None
    for each in packed:
        found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), each)
        assert expected is not None
        assert_same(graph, [found], expected)
    return {each.kernel for each in packed}


def test_drawn_models_equal_the_reference(kernels: Kernels) -> None:
    """Shapes, paddings, scales, zero points and values of every kind give the same bits, and no byte outside is touched."""
    tried = [
        _check(kernels, OPERATOR_MODELS[operator](Seeded(seed)), seed)
        for operator in ("CONV_2D", "FULLY_CONNECTED")
        for seed in range(_DRAWN)
    ]
    assert set[str]().union(*tried)


def test_geometries_equal_the_reference(kernels: Kernels) -> None:
    """Runs by rows and by columns; edges on both sides; rests of pixels, channels and elements; with and without a ReLU."""
    fitting = [
        _check(kernels, convolution_s16(each, seed, ("NONE", "RELU", "RELU6")[seed % 3]), seed)
        for seed, each in enumerate((*GEOMETRIES, *_WIDER))
        if each.groups
    ]
    assert sum(_KERNEL in each for each in fitting) >= len(_WIDER)


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_three_by_three_equals_the_reference(kernels: Kernels, activation: str) -> None:
    """With rows and columns outside and without, numbers of channels by fours and others, rows longer than the zeros outside."""
    for seed, (outputs, padding, size) in enumerate(
        ((4, "SAME", (4, 3)), (8, "VALID", (3, 9)), (5, "SAME", (3, 21)), (1, "SAME", (2, 10)), (3, "VALID", (4, 3)))
    ):
        geometry = Geometry(1, outputs, padding=padding, size=size)
        assert _check(kernels, convolution_s16(geometry, seed, activation), seed) == {_KERNEL, _THREE_BY_THREE}


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_three_by_three_rounds_and_cuts_every_sum(kernels: Kernels, activation: str) -> None:
    """Sums of nothing but the bias, at the ends of what is allowed."""
    ends = np.array([-(1 << 31), -(1 << 31) + 1, -65536, -1, 0, 1, 77, 1 << 20, (1 << 31) - 1])
    multipliers, shifts = np.array([0, 1 << 30, 0x5A5A_8000, (1 << 31) - 1]), np.array([-17, -8, -1])
    bias, multiplier, shift = (each.reshape(-1) for each in np.meshgrid(ends, multipliers, shifts))
    call = graph_of(convolution_s16(Geometry(1, len(bias), size=(3, 3)), 0, activation)).calls[0]
    layer = call.params_as(Conv2DS16Params)
    changed = layer.replaced(
        filter=np.zeros_like(layer.filter),
        bias=bias.astype(np.int64),
        multiplier=multiplier.astype(np.int32),
        shift=shift.astype(np.int8),
    )
    packed = CONV2D_S16_3X3X1.pack(replace(call, params=changed))
    assert packed is not None
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(3 * len(bias), np.int16), writable=True)
    rows = bench.rows([bench.place("input", np.full(3, 123, np.int16))] * 3)
    bench.call(packed.kernel, output, rows, bench.params(packed), 0)
    scaled = requantize_wide(bias, multiplier.astype(np.int32), shift.astype(np.int32)).astype(np.int64)
    expected = np.clip(scaled, 0 if activation == "RELU" else -32768, 32767).astype(np.int16)
    np.testing.assert_array_equal(bench.read(output, 6 * len(bias)).view(np.int16).reshape(3, -1), [expected] * 3)


def test_three_by_three_fits_few_layers() -> None:
    """Not other strides, spread columns, activations or widths of two."""
    for geometry, activation in (
        (Geometry(1, 4), "RELU6"), (Geometry(1, 4, stride=2), "NONE"), (Geometry(1, 4, dilation=2), "NONE"),
        (Geometry(2, 4), "NONE"), (Geometry(1, 4, size=(4, 2)), "NONE"), (Geometry(1, 4, kernel=(3, 2)), "NONE"),
    ):  # fmt: skip
        packed = _packed(graph_of(convolution_s16(geometry, 0, activation)))
        assert {each.kernel for each in packed} == {_KERNEL}


def test_rows_may_be_overwritten_from_the_declared_distance_on(kernels: Kernels) -> None:
    """At the distance that the variant declares, and at larger ones, no element is overwritten that is still to be read."""
    tried = 0
    for geometry in (*GEOMETRIES, *_WIDER)[:: amount(4, 1)]:
        case = convolution_s16(geometry)
        graph = graph_of(case)
        for packed in _packed(graph) if geometry.groups else ():
            (distance,) = packed.inplace_distance_bytes
            assert distance is not None
            distances = [distance, distance + 2, distance + 4, distance + 16]
            wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
            assert not wrong, (packed.kernel, geometry, distance, wrong)
            tried += count
    assert tried > amount(4, 2 * len(_WIDER))


@pytest.mark.slow
def test_parts_that_a_call_needs_are_enough() -> None:
    """Other parts are left out of the library."""
    tried = set[frozenset[str]]()
    for seed, geometry in enumerate((*GEOMETRIES, *_WIDER)):
        case = convolution_s16(geometry, seed, ("NONE", "RELU", "RELU6")[seed % 3])
        graph = graph_of(case)
        for packed in _packed(graph) if geometry.groups else ():
            if packed.features not in tried:
                tried.add(packed.features)
                kernels = linked((packed.kernel,), "cortex-m4", "zig", "s", packed.features)
                found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), packed)
                assert_same(graph, [found], kibi.run(graph, None, case.inputs))
    assert len(tried) > 2


_ENDS = np.array([-(1 << 31), -(1 << 31) + 1, -1, 0, 1, 77, 1 << 20, (1 << 31) - 1])


@pytest.mark.parametrize(
    ("zero_point", "low", "high"),
    [(0, -32768, 32767), (-300, -32768, 9), (32767, 0, 32767), (7, -700, 32767)],
)
def test_every_boundary_of_sum_multiplier_and_shift(kernels: Kernels, zero_point: int, low: int, high: int) -> None:
    """Sums of nothing but the bias are rounded, moved and cut as rule N26 says, by every shift and multipliers of all kinds."""
    multipliers = np.array(
        [0, 1, 1 << 15, (1 << 30) - 1, 1 << 30, 0x5A5A_8000, 0x7FFE_FFFF, 0x7FFF_0000, (1 << 31) - 1]
    )
    shifts = np.arange(-17, 0)
    bias, multiplier, shift = (each.reshape(-1) for each in np.meshgrid(_ENDS, multipliers, shifts))
    channels = len(bias)
    values: dict[str, object] = {
        "filter": np.zeros(channels, np.int8), "bias": bias.astype(np.int64), "multiplier": multiplier.astype(np.int32),
        "shift": shift.astype(np.int8), "is_wide": 1, "depth": 1, "piece": 1, "pieces": 1, "vectors": 1, "vectors_per_row": 1,
        "output_channels": channels, "output_zero_point": zero_point, "activation_min": low, "activation_max": high,
    }  # fmt: skip
    general = KernelCall.of("kibi_fully_connected_s16", values)
    variant = _VARIANTS[general.kernel]
    packed = variant.pack(replace(general, scratch_bytes=variant.scratch_bytes(general, Goal.BALANCED)))
    assert packed is not None
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(channels, np.int16), writable=True)
    rows = bench.rows([bench.place("input", np.array([123], np.int16))])
    bench.call(_KERNEL, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
    scaled = requantize_wide(bias, multiplier.astype(np.int32), shift.astype(np.int32)).astype(np.int64)
    expected = np.clip(scaled + zero_point, low, high).astype(np.int16)
    np.testing.assert_array_equal(bench.read(output, 2 * channels).view(np.int16), expected)


def test_sums_and_scales_that_do_not_fit_are_left_to_the_general_kernel() -> None:
    """A bias with which a sum may leave 32 bits, by one; shifts that are not -17 … -1."""
    weights, multiplier, shift = np.full((1, 2), -3, np.int8), np.full(1, 1 << 30, np.int32), np.full(1, -5, np.int8)
    most = (1 << 31) - 1 - 6 * 32768
    fits = {
        bias: wide_factors(weights, np.array([bias], np.int64), multiplier, shift) is not None
        for bias in (most, most + 1, -(1 << 31) + 6 * 32767, -(1 << 31) + 6 * 32767 - 1)
    }
    assert list(fits.values()) == [True, False, True, False]
    for power in (-18, 0):
        assert wide_factors(weights, np.zeros(1, np.int64), multiplier, np.full(1, power, np.int8)) is None


@pytest.mark.parametrize(
    ("channels", "balanced", "speed"), [(4, 3, 3), (152, 3, 3), (300, 1, 3), (700, 1, 3), (2000, 0, 3), (3000, 0, 2)]
)
def test_scratch_is_for_as_many_pixels_as_its_limits_allow(channels: int, balanced: int, speed: int) -> None:
    """One pixel where several would take more than a little; none where one would take too much."""
    call = graph_of(convolution_s16(Geometry(channels, 2, kernel=(1, 1), size=(2, 9)))).calls[0]
    for goal, pixels in ((Goal.BALANCED, balanced), (Goal.SPEED, speed)):
        assert _VARIANTS[call.kernel].scratch_bytes(call, goal) == 2 * pixels * channels


def test_weights_have_16_bits_for_speed_where_blocks_have_three_pixels() -> None:
    """Not where rows have one pixel, and not for balanced code."""
    for geometry, goal, bits in (
        (Geometry(3, 8), Goal.SPEED, 16), (Geometry(3, 8), Goal.BALANCED, 8),
        (Geometry(3, 8, size=(9, 1)), Goal.SPEED, 8),
    ):  # fmt: skip
        call = graph_of(convolution_s16(geometry)).calls[0]
        chosen = choose([call], target("cortex-m4"), goal)[0]
        assert chosen.params_as(Conv2DS16BlocksParams).weight_bits == bits, (geometry, goal)


def test_weights_are_widened_once_a_row_where_it_is_long_and_the_arena_large() -> None:
    """Not for other goals, for rows of few blocks, or where wide weights would take more than a small part of the arena."""
    for geometry, goal, is_widened in (
        (Geometry(3, 8, size=(32, 32)), Goal.BALANCED, 1), (Geometry(3, 8, size=(8, 32)), Goal.BALANCED, 0),
        (Geometry(3, 8, size=(96, 9)), Goal.BALANCED, 0), (Geometry(3, 8, size=(96, 10)), Goal.BALANCED, 1),
        (Geometry(3, 8, size=(32, 32)), Goal.SPEED, 0),
    ):  # fmt: skip
        call = graph_of(convolution_s16(geometry)).calls[0]
        chosen = choose([call], target("cortex-m4"), goal)[0].params_as(Conv2DS16BlocksParams)
        assert chosen.is_widened == is_widened, (geometry, goal)


@pytest.mark.parametrize(
    ("geometry", "goal", "most"),
    [
        (Geometry(64, 64, kernel=(1, 1), size=(4, 24)), Goal.BALANCED, 0.93),
        (Geometry(64, 64, kernel=(1, 1), size=(4, 24)), Goal.SPEED, 0.79),
        (Geometry(16, 16, size=(4, 18)), Goal.BALANCED, 0.97),
        (Geometry(3, 16, size=(4, 24)), Goal.BALANCED, 1.25),
        (Geometry(3, 8, size=(4, 24)), Goal.BALANCED, 1.45),
        (Geometry(3, 8, size=(32, 32)), Goal.BALANCED, 1.3),
        (Geometry(3, 8, size=(4, 24)), Goal.SPEED, 1.29),
        (Geometry(1, 8, size=(4, 24)), Goal.BALANCED, 1.3),
        (Geometry(1, 5, size=(4, 24)), Goal.BALANCED, 1.7),
    ],
)
def test_multiplications_take_few_instructions(geometry: Geometry, goal: Goal, most: float) -> None:
    """For each multiply-accumulate, everything counted."""
    graph = graph_of(convolution_s16(geometry))
    packed, view = choose(graph.calls, target("cortex-m4"), goal)[0], graph.views[0]
    kernels = linked((packed.kernel,), "cortex-m4", "zig", "s", packed.features)
    bench = Bench(kernels, np.random.default_rng(0))
    row = bench.place("input", np.ones(view["input"].type.row_elements, np.int16))
    output = bench.place("output", np.zeros(view.output.type.row_elements, np.int16), writable=True)
    rows = bench.rows([row] * graph.calls[0].params_as(Conv2DS16Params).kernel_rows)
    taken = bench.call(packed.kernel, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
    assert taken < most * view.op.macs(view) / view.steps
