"""Kernels three columns wide: any shape at any address in any scratch on each core, their plain C twins, and in place."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from kibi.ir import KernelCall
from kibi.kernels.params import PARAMS
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_packed import Conv2DColumnsParams
from kibi.ops.windows.convolution_blocks import block_sizes, shared_columns, tiles_of_block
from kibi.quant import requantize
from kibi.selection import Goal, conv2d_columns, conv2d_winograd
from kibi.selection.convolution_call import blocks_scratch
from tests.kernels.emulated import Bench, Kernels, linked
from tests.kernels.in_place import differing_distances
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.quant.boundaries import triples_to_the_right
from tests.support.amount import IS_EXHAUSTIVE, sample
from tests.toolchain.tools import check_cross

_BUILDS = (
    ("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"), ("cortex-m3", "zig", "s"),
)  # fmt: skip
"""Cores of the set, then one that runs the plain C twins."""
_COLUMNS = "kibi_conv2d_s8_columns"
_PACKS: dict[str, Callable[[KernelCall], KernelCall | None]] = {
    "kibi_conv2d_s8_columns": conv2d_columns.pack,
    "kibi_conv2d_s8_winograd": conv2d_winograd.pack,
}
_SUM_LIMITS = {"kibi_conv2d_s8_columns": 1 << 23, "kibi_conv2d_s8_winograd": 1 << 30}
_PLENTY = 1 << 15
_CASES = 40
_LIMITS = ((-128, 127), (-128, 127), (-10, 127), (-128, 20), (5, 6), (60, 20))
_GEOMETRIES = tuple(
    Geometry(channels, outputs, kernel=(rows, 3), size=size, padding=padding)
    for channels, outputs, rows, size, padding in (
        (16, 16, 3, (5, 12), "SAME"), (8, 5, 3, (4, 7), "SAME"), (4, 8, 3, (4, 9), "VALID"), (12, 3, 1, (3, 5), "SAME"),
        (8, 16, 2, (4, 8), "SAME"), (16, 8, 3, (4, 6), "VALID"), (64, 64, 3, (3, 8), "SAME"), (96, 4, 3, (3, 4), "SAME"),
        (4, 4, 3, (3, 17), "SAME"), (4, 20, 3, (3, 7), "SAME"), (32, 16, 3, (3, 2), "SAME"),
        (64, 8, 3, (3, 2), "SAME"), (4, 2, 3, (3, 11), "SAME"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """A general call, its input rows `[kernel rows, input width, C]`, and the output row that it should make."""

    call: KernelCall
    rows: np.ndarray
    expected: np.ndarray


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else (_BUILDS[0], _BUILDS[-1]), ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """Both kernels, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(tuple(_PACKS), target, compiler, level)


def _bytes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Any bytes, or extreme ones alone."""
    if rng.integers(3) == 0:
        return rng.choice([-128, 127], shape).astype(np.int8)
    return rng.integers(-128, 128, shape).astype(np.int8)


def _layer(rng: np.random.Generator, sum_limit: int, *, is_deep: bool = False, stride: int = 1) -> _Layer:
    """Any shape, padding, scales and offsets that a kernel is made for whose sums have a limit; or one of many channels."""
    rows, depth = int(rng.integers(1, 4)), int(rng.choice([64, 96] if is_deep else [4, 8, 12, 16, 20, 32, 64, 68]))
    outputs, width = int(rng.integers(15, 40) if is_deep else rng.integers(1, 8)), int(rng.integers(2, 16))
    if stride == 2:  # of large windows, in rows of several blocks of four pixels
        rows, depth, width = max(rows, 2), int(rng.choice([32, 64, 96])), width // 4 * 4 + 8
    input_width, pad, zero_point = int(rng.integers(1, width + 4)), int(rng.integers(0, 5)), int(_bytes(rng, 1)[0])
    weights = np.maximum(_bytes(rng, outputs, rows, 3, depth), -127)
    most = sum_limit - 1 - 128 * np.abs(weights.astype(np.int64)).sum(axis=(1, 2, 3))
    bias = rng.choice([-1, 1], outputs) * np.clip(rng.choice([0, 20000, 1 << 30], outputs), 0, np.maximum(most, 0))
    multiplier = rng.choice([0, 1 << 30, (1 << 31) - 1, 1234567890, 1987654321], outputs)
    shift = rng.choice([-1, -2, -8, -10, -12, -31], outputs)
    low, high = _LIMITS[rng.integers(len(_LIMITS))]
    sizes = {
        "input_width": input_width, "input_channels": depth, "output_width": width, "output_channels": outputs,
        "output_zero_point": int(_bytes(rng, 1)[0]), "activation_min": low, "activation_max": high, "groups": 1,
        "uses_im2col": 0, "kernel_rows": rows, "kernel_width": 3, "stride": stride, "dilation": 1, "pad": pad,
    }  # fmt: skip
    arrays = {
        "filter": weights.reshape(-1), "bias": bias.astype(np.int32), "multiplier": multiplier.astype(np.int32),
        "shift": shift.astype(np.int8), "padding": np.full(4 * depth, zero_point, np.int8),
    }  # fmt: skip
    data = _bytes(rng, rows, input_width, depth)
    wide = np.full((rows, pad + input_width + stride * width + 3, depth), zero_point, np.int64)
    wide[:, pad : pad + input_width] = data
    windows = np.stack([wide[:, x : x + 3] for x in range(0, stride * width, stride)])
    sums = np.einsum("xrkc,orkc->xo", windows, weights.astype(np.int64)) + bias
    scaled = requantize(sums, multiplier, shift).astype(np.int64) + sizes["output_zero_point"]
    expected = np.minimum(np.maximum(scaled, low), high).astype(np.int8)
    params = PARAMS["kibi_conv2d_s8"](**arrays, **sizes)
    return _Layer(KernelCall("kibi_conv2d_s8", params, _PLENTY), data, expected)


def _ways(layer: _Layer, kernel: str) -> Iterator[KernelCall]:
    """The packed calls for all scratch that makes a difference."""
    call = layer.call
    while (packed := _PACKS[kernel](call)) is not None:
        assert packed.scratch_bytes <= call.scratch_bytes
        yield packed
        call = replace(call, scratch_bytes=packed.scratch_bytes - 1)


def _run(kernels: Kernels, layer: _Layer, packed: KernelCall, rng: np.random.Generator) -> np.ndarray:
    bench = Bench(kernels, rng)
    output = bench.place("output", np.zeros(layer.expected.shape, np.int8), writable=True)
    rows = bench.rows([bench.place("input", row) for row in layer.rows])
    bench.call(packed.kernel, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
    return bench.read(output, layer.expected.size).reshape(layer.expected.shape)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(("kernel", "stride"), [*((each, 1) for each in sorted(_PACKS)), (_COLUMNS, 2)])
def test_drawn_rows_in_any_scratch_equal_the_definition(kernels: Kernels, kernel: str, stride: int) -> None:
    """Shapes, edges, scales, values and addresses of every kind give the same bits, and no byte outside is touched."""
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(_CASES):
        layer = _layer(rng, _SUM_LIMITS[kernel], stride=stride)
        for packed in _ways(layer, kernel):
            np.testing.assert_array_equal(_run(kernels, layer, packed, rng), layer.expected, str(layer.call))
            tried += 1
    assert tried > _CASES


def test_channels_one_part_after_another_equal_the_definition(kernels: Kernels) -> None:
    """Sums of some channels are kept between parts of the windows, of any block, and the outputs of all but the last wait."""
    rng, tried = np.random.default_rng(3), set()
    for number in range(15):
        layer = _layer(rng, _SUM_LIMITS[_COLUMNS], is_deep=True, stride=1 + number // 12)
        for packed in _ways(layer, _COLUMNS):
            params = packed.params_as(Conv2DColumnsParams)
            kind = params.pixels, params.outputs_at_once < params.output_channels, params.output_channels % 2
            if params.channels_at_once < params.input_channels or kind not in tried:
                np.testing.assert_array_equal(_run(kernels, layer, packed, rng), layer.expected, str(layer.call))
                tried.add(kind)
    assert {(pixels, True, 0) for pixels in (2, 3, 4)} <= tried


@pytest.mark.parametrize(
    ("pixels", "blocks", "in_passes", "stride"),
    [
        (3, 1, False, 1), (4, 1, False, 1), (4, 2, False, 1), (3, 1, True, 1), (4, 1, True, 1), (4, 1, False, 2), (4, 2, False, 2),
        (4, 1, True, 2),
    ],
)  # fmt: skip
def test_columns_with_the_parts_that_a_layer_needs_give_the_same_bits(
    pixels: int, blocks: int, in_passes: bool, stride: int
) -> None:
    """A library without blocks of four pixels, two of them side by side, passes, or stride 2 leaves their part out."""
    rng = np.random.default_rng(1)
    layers = (_layer(rng, _SUM_LIMITS[_COLUMNS], is_deep=in_passes, stride=stride) for _ in range(60))
    ways = ((layer, way, way.params_as(Conv2DColumnsParams)) for layer in layers for way in _ways(layer, _COLUMNS))
    parity = 2 - blocks  # two blocks are for even numbers of channels
    layer, packed = next(
        (layer, way)
        for layer, way, its in ways
        if (its.pixels, its.blocks, its.output_channels % 2) == (pixels, blocks, parity)
        and (its.rows_at_once * its.channels_at_once < its.kernel_rows * its.input_channels) == in_passes
    )
    kernels = linked((_COLUMNS,), "cortex-m4", "zig", "s", packed.features)
    np.testing.assert_array_equal(_run(kernels, layer, packed, rng), layer.expected)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize(
    ("zero_point", "low", "high"), sample([(-128, -128, 127), (127, -128, 127), (5, -7, 90), (3, 60, 20)])
)
@pytest.mark.parametrize("kernel", sorted(_PACKS))
def test_every_boundary_that_is_simple(kernels: Kernels, kernel: str, zero_point: int, low: int, high: int) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, are rounded, moved and cut as Python does."""
    acc, multiplier, shift = triples_to_the_right(1 << 30)
    # One weight keeps each channel from being taken for a constant; its input is zero.
    limit, channels, width = _SUM_LIMITS[kernel] - 129, len(acc), 5
    bias, weights = np.clip(acc, -limit, limit), np.zeros((channels, 1, 3, 4), np.int8)
    weights[:, 0, 1, 2] = 1
    values: dict[str, object] = {
        "filter": weights.reshape(-1), "bias": bias.astype(np.int32), "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "padding": np.zeros(4, np.int8), "input_width": width, "input_channels": 4,
        "output_width": width, "output_channels": channels, "output_zero_point": zero_point, "activation_min": low,
        "activation_max": high, "groups": 1, "uses_im2col": 0, "kernel_rows": 1, "kernel_width": 3, "stride": 1,
        "dilation": 1, "pad": 1,
    }  # fmt: skip
    general = KernelCall("kibi_conv2d_s8", PARAMS["kibi_conv2d_s8"](**values), _PLENTY)
    packed = _PACKS[kernel](general)
    assert packed is not None
    scaled = requantize(bias, multiplier, shift).astype(np.int64) + zero_point
    expected = np.minimum(np.maximum(scaled, low), high).astype(np.int8)
    layer = _Layer(general, np.zeros((1, width, 4), np.int8), np.tile(expected, (width, 1)))
    np.testing.assert_array_equal(_run(kernels, layer, packed, np.random.default_rng(0)), layer.expected)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("kernel", sorted(_PACKS))
def test_rows_may_be_overwritten_from_the_declared_distance_on(kernels: Kernels, kernel: str) -> None:
    """At the distance that the variant declares, and at larger ones, no element is overwritten that is still to be read."""
    tried = 0
    for geometry, goal in product(_GEOMETRIES, (Goal.SPEED, Goal.BALANCED)):
        case = convolution(geometry)
        graph = graph_of(case)
        (call,) = graph.calls
        packed = _PACKS[kernel](replace(call, scratch_bytes=blocks_scratch(call, goal)))
        if packed is None:
            continue
        (distance,) = packed.inplace_distance_bytes
        assert distance is not None
        distances = [distance, distance + 1, distance + 5, distance + 16]
        wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
        assert not wrong, (geometry, goal, distance, wrong)
        tried += count
    assert tried > len(_GEOMETRIES)


@pytest.mark.parametrize("geometry", _GEOMETRIES, ids=str)
def test_layers_are_given_scratch_for_a_kernel_of_columns(geometry: Geometry) -> None:
    """What balanced code allows is enough for columns, and what speed allows is enough for tiles."""
    (call,) = graph_of(convolution(geometry)).calls
    few, most = (replace(call, scratch_bytes=blocks_scratch(call, goal)) for goal in (Goal.BALANCED, Goal.SPEED))
    assert conv2d_columns.pack(few) is not None
    if geometry.size[1] > 2:
        assert conv2d_winograd.pack(most) is not None


@pytest.mark.parametrize("bias", [(1 << 30) - 2000, -(1 << 30) + 2000])
def test_sums_that_may_leave_their_range_are_left_to_others(bias: int) -> None:
    """A bias near half the range of 32 bits keeps a layer from being packed, and so do groups, strides and dilation."""
    layer = _layer(np.random.default_rng(5), 1 << 23)
    params = layer.call.params_as(Conv2DS8Params)
    # At a step of the output: else the channels would have one output each, and need no sums.
    at_step = {
        "multiplier": np.full_like(params.multiplier, 1 << 30), "shift": np.full_like(params.shift, -30),
        "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    others: list[dict[str, Any]] = [
        {"bias": np.full_like(params.bias, bias), **at_step},
        {"stride": 3},
        {"dilation": 2},
        {"groups": 2},
    ]
    for pack in _PACKS.values():
        assert pack(layer.call) is not None
        for other in others:
            assert pack(replace(layer.call, params=params.replaced(**other))) is None


@pytest.mark.parametrize("width", range(1, 40))
def test_the_fewest_pixels_are_taken_where_scratch_is_short(width: int) -> None:
    """Less scratch never gives more pixels, and blocks of the pixels found make up the row."""
    found = [shared_columns(width, 3, (16, 16), most_bytes=most) for most in (384, 480, 1151, 1152)]
    pixels = [way.pixels if way else 0 for way in found]
    has_two = block_sizes(width, 4)[:2] == (4, 4)
    assert [way.blocks for way in found if way] == [1] * sum(map(bool, found[:3])) + [1 + has_two] * bool(found[3])
    assert pixels == sorted(pixels)
    assert all(sum(block_sizes(width, each)) == width for each in pixels if each)
    tiles = [tiles_of_block(width, 3, 16, most_bytes=most) for most in (768, 1152)]
    assert tiles == sorted(tiles)
    assert all(sum(block_sizes((width + 1) // 2, each)) == (width + 1) // 2 for each in tiles if each)
