"""Fully connected layers from packed weights give the general kernels' bytes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params import PARAMS
from kibi.kernels.params.fully_connected_packed import FullyConnectedBlocksParams
from kibi.ops.overlap import least_distance
from kibi.quant import requantize
from kibi.selection.fully_connected_blocks import FULLY_CONNECTED_BLOCKS
from tests.kernels.emulated import Bench, linked
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.kernels.overlaps import probes_of, run
from tests.ops.comparison import graph_of
from tests.ops.convolutions import GEOMETRIES, convolution
from tests.quant.boundaries import triples_to_the_right
from tests.support.amount import amount
from tests.support.operator_models import s8_case

Values = dict[str, int | Array]
_KERNEL = FULLY_CONNECTED_BLOCKS[0].kernel
_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_CASES = amount(35, 80)
_LIMITS = ((-128, 127), (-128, 127), (-128, 20), (-10, 127), (0, 0), (30, -30))
_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 15, 16, 17, 20, 23, 31, 40)


def _elements(rng: np.random.Generator, least: int, *shape: int) -> Array:
    """Any bytes from `least` on, or extreme ones alone."""
    if rng.integers(4) == 0:
        return rng.choice([least, 127], shape).astype(np.int8)
    return rng.integers(least, 128, shape).astype(np.int8)


def _scaling(rng: np.random.Generator, channels: int) -> Values:
    """Multipliers, shifts and biases, of each channel or the same for all: those of layers, or extreme ones."""
    count = channels if rng.integers(2) else 1
    if rng.integers(3):
        multiplier, shift = rng.integers(1 << 30, 1 << 31, count), rng.integers(-12, -2, count)
    else:
        multiplier = rng.choice([0, 1, 1 << 30, (1 << 31) - 1, 1234567890], count)
        shift = rng.choice([-31, -30, -8, -2, -1], count)
    zero_point = int(rng.integers(-128, 128))
    low, high = _LIMITS[rng.integers(len(_LIMITS))] if rng.integers(3) else (zero_point, 127)
    each = channels // count
    return {
        "multiplier": np.repeat(multiplier, each).astype(np.int32), "shift": np.repeat(shift, each).astype(np.int8),
        "bias": rng.integers(-(1 << 21), 1 << 21, channels).astype(np.int32),
        "output_zero_point": zero_point, "activation_min": low, "activation_max": high,
    }  # fmt: skip


def fully_connected(rng: np.random.Generator) -> tuple[Values, list[int]]:
    """A call of the general kernel, and the sizes of the rows it reads."""
    channels, piece, pieces, vectors, per_row = (int(rng.choice(_SIZES)) for _ in range(5))
    pieces, vectors, per_row = (1, vectors % 3 + 1, per_row % 3 + 1) if rng.integers(2) else (pieces % 4 + 1, 2, 1)
    vectors *= per_row
    values: Values = {
        **_scaling(rng, channels), "filter": _elements(rng, -127, channels * piece * pieces),
        "depth": piece * pieces, "piece": piece, "pieces": pieces, "vectors": vectors, "vectors_per_row": per_row,
        "output_channels": channels,
    }  # fmt: skip
    return values, [per_row * piece] * (vectors // per_row * pieces)


def one_pixel(rng: np.random.Generator) -> tuple[Values, list[int]]:
    """The same for a convolution to a row of one pixel, whose window may reach over the row's ends."""
    channels, depth = int(rng.choice(_SIZES)), int(rng.choice(_SIZES))
    input_width, kernel_rows, pad = (int(rng.integers(1, 5)) for _ in range(3))
    pad -= 1
    kernel_width = pad + int(rng.integers(1, input_width + 3))
    zero_point = int(rng.integers(-128, 128))
    values: Values = {
        **_scaling(rng, channels), "filter": _elements(rng, -127, channels * kernel_rows * kernel_width * depth),
        "padding": np.full(8 * depth, zero_point, np.int8), "input_width": input_width, "input_channels": depth,
        "output_width": 1, "output_channels": channels, "groups": 1, "uses_im2col": 0, "kernel_rows": kernel_rows,
        "kernel_width": kernel_width, "stride": 1, "dilation": 1, "pad": pad,
    }  # fmt: skip
    return values, [input_width * depth] * kernel_rows


Draw = Callable[[np.random.Generator], tuple[Values, list[int]]]
_DRAWS: dict[str, Draw] = {"kibi_conv2d_s8": one_pixel, "kibi_fully_connected_s8": fully_connected}
_PACKS = {variant.of: variant.pack for variant in FULLY_CONNECTED_BLOCKS}


def _call(kernel: str, values: Values) -> KernelCall:
    return KernelCall(kernel, PARAMS[kernel](**values))


def _values(call: KernelCall) -> Values:
    return {name: value for name, value in call.by_name.items() if isinstance(value, int | np.ndarray)}


def _cases(general: str, rng: np.random.Generator) -> tuple[Case, Case]:
    """The same task for the general kernel and for the one with packed weights."""
    values, rows = _DRAWS[general](rng)
    packed = _PACKS[general](_call(general, values))
    assert packed is not None
    inputs = [_elements(rng, -128, size) for size in rows]
    output_bytes = int(values.get("vectors", 1)) * int(values["output_channels"])
    case = Case(values, [range(len(rows))], inputs, output_bytes, at_end=bool(rng.integers(2)))
    return case, replace(case, params=_values(packed))


@pytest.mark.parametrize("build", [*_BUILDS, None], ids=str)
@pytest.mark.parametrize("general", sorted(_DRAWS))
def test_drawn_layer_gives_the_general_bytes(general: str, build: tuple[str, str, str] | None, tmp_path: Path) -> None:
    """Whatever the shape, the scales, the values and the alignment, it writes the same, and nothing beside it."""
    name, compiler, level = build or _BUILDS[0]
    sets = ARMV7EM if build else PORTABLE
    packed = KernelOnCore(_KERNEL, sets, tmp_path / "packed", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(general, PORTABLE, tmp_path / "plain")
    rng = np.random.default_rng(0)
    once = 0
    for _ in range(_CASES):
        case, own = _cases(general, rng)
        assert packed.run(own) == plain.run(case), case
        once += own.params["rounds_once"] == 1
    assert _CASES // 10 < once < _CASES // 2


@pytest.mark.parametrize(("zero_point", "low", "high"), [(0, -128, 127), (127, -128, 127), (5, -7, 90)])
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m3"])
def test_every_boundary_that_is_simple(core: str, zero_point: int, low: int, high: int) -> None:
    """Sums of nothing but the bias are rounded, moved and cut as Python does, by a core of the set and by the plain C twin."""
    acc, multiplier, shift = triples_to_the_right(1 << 23)
    channels, limit = len(acc), (1 << 23) - 129
    # One weight keeps each channel from being taken for a constant; its input is zero.
    acc = np.clip(acc, -limit, limit)
    values: Values = {
        "filter": np.ones(channels, np.int8), "bias": acc.copy(), "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "depth": 1, "piece": 1, "pieces": 1, "vectors": 1, "vectors_per_row": 1,
        "output_channels": channels, "output_zero_point": zero_point, "activation_min": low, "activation_max": high,
    }  # fmt: skip
    packed = _PACKS["kibi_fully_connected_s8"](_call("kibi_fully_connected_s8", values))
    assert packed is not None
    scaled = requantize(acc, multiplier, shift).astype(np.int64) + zero_point
    # Eight sums are scaled at once, or, where that part is left out, two.
    for features in (packed.features, packed.least_features):
        bench = Bench(linked((_KERNEL,), core, "zig", "s", features), np.random.default_rng(0))
        output = bench.place("output", np.zeros(channels, np.int8), writable=True)
        rows = bench.rows([bench.place("input", np.zeros(1, np.int8))])
        bench.call(_KERNEL, output, rows, bench.params(packed), 0)
        np.testing.assert_array_equal(bench.read(output, channels), np.clip(scaled, low, high).astype(np.int8))


@pytest.mark.parametrize("low", [-128, 3])
@pytest.mark.parametrize("channels", [3, 40])
def test_parts_that_a_layer_needs_are_enough(low: int, channels: int) -> None:
    """With outputs that are rounded once or twice, what the other ones need is left out; channels of one scale keep one factor."""
    rng = np.random.default_rng(channels)
    depth = 12
    values: Values = {
        "filter": _elements(rng, -127, channels * depth), "bias": rng.integers(-3000, 3000, channels).astype(np.int32),
        "multiplier": np.full(channels, 1518500250, np.int32), "shift": np.full(channels, -7, np.int8), "depth": depth,
        "piece": depth, "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": channels,
        "output_zero_point": 3, "activation_min": low, "activation_max": 127,
    }  # fmt: skip
    packed = _PACKS["kibi_fully_connected_s8"](_call("kibi_fully_connected_s8", values))
    assert packed is not None
    params = packed.params_as(FullyConnectedBlocksParams)
    assert (params.rounds_once, params.scale_step) == (int(low == 3), 0)
    bench = Bench(linked((_KERNEL,), "cortex-m4", "zig", "s", packed.features), rng)
    vector = _elements(rng, -128, depth)
    output = bench.place("output", np.zeros(channels, np.int8), writable=True)
    bench.call(_KERNEL, output, bench.rows([bench.place("input", vector)]), bench.params(packed), 0)
    weights = np.asarray(values["filter"]).reshape(channels, depth).astype(np.int64)
    sums = (weights @ vector.astype(np.int64) + np.asarray(values["bias"])).astype(np.int32)
    scaled = requantize(sums, np.int32(1518500250), np.int32(-7)).astype(np.int64) + 3
    np.testing.assert_array_equal(bench.read(output, channels), np.clip(scaled, low, 127).astype(np.int8))


@pytest.mark.parametrize("channels", [8, 12, 17, 23])
@pytest.mark.parametrize("vectors", [1, 3])
def test_output_at_the_least_distance_below_its_input_gets_the_same_bytes(channels: int, vectors: int) -> None:
    """A block is written when all sums of it are made, and the vector is not read again behind the last block."""
    rng, depth = np.random.default_rng(channels), 10
    last = (channels - 1) // 8 * 8
    distance = least_distance((vector * depth, vector * channels + last) for vector in range(vectors))
    values: Values = {
        **_scaling(rng, channels), "filter": _elements(rng, -127, channels * depth), "depth": depth, "piece": depth,
        "pieces": 1, "vectors": vectors, "vectors_per_row": vectors, "output_channels": channels,
    }  # fmt: skip
    values |= {"multiplier": np.full(channels, 1 << 30, np.int32), "shift": np.full(channels, -6, np.int8)}
    call = replace(_call("kibi_fully_connected_s8", values), inplace_distance_bytes=(distance,))
    packed = _PACKS[call.kernel](call)
    assert packed is not None
    assert not distance or _PACKS[call.kernel](replace(call, inplace_distance_bytes=(distance - 1,))) is None
    size, output_bytes = vectors * depth, vectors * channels
    bench = Bench(linked((packed.kernel,), *_BUILDS[0]), rng)
    vector = _elements(rng, -128, size)
    memory = np.concatenate([np.zeros(distance, np.int8), vector, np.zeros(output_bytes, np.int8)])
    place = bench.place("both", memory, writable=True)
    apart, alone = bench.place("input", vector), bench.place("output", np.zeros(output_bytes, np.int8), writable=True)
    params = bench.params(packed)
    bench.call(packed.kernel, alone, bench.rows([apart]), params, 0)
    bench.call(packed.kernel, place, bench.rows([place + distance]), params, 0)
    np.testing.assert_array_equal(bench.read(place, output_bytes), bench.read(alone, output_bytes))


def test_output_at_the_declared_distance_gets_the_same_bytes_on_this_machine(tmp_path: Path) -> None:
    """What plans may do with the general kernels they may do with the plain text of this one, too."""
    rng = np.random.default_rng(0)
    graphs = [graph_of(s8_case(name, seed)) for name in ("CONV_2D", "FULLY_CONNECTED") for seed in range(25)]
    graphs += [graph_of(convolution(geometry)) for geometry in GEOMETRIES]
    probes = []
    for probe in (probe for graph in graphs for view in graph.views for probe in probes_of(view, rng)):
        packed = _PACKS[probe.call.kernel](probe.call) if probe.call.kernel in _PACKS else None
        probes += [] if packed is None else [replace(probe, call=packed)]
    assert any(probe.declared > 0 for probe in probes)
    for probe, right in zip(probes, run(probes, tmp_path), strict=True):
        assert all(right[1 + probe.declared :]), probe


def test_layer_whose_sums_or_shifts_are_out_of_range_is_left_to_the_general_kernel() -> None:
    """Sums of 23 bits and a sign fit; a weight of -128 may not be followed by a negative one; shifts go to the right."""
    values, _ = fully_connected(np.random.default_rng(0))
    values |= {
        "filter": np.array([-128, 1, 127, -127], np.int8), "bias": np.zeros(1, np.int32), "depth": 4, "piece": 4,
        "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": 1, "shift": np.array([-23], np.int8),
        "multiplier": np.array([1 << 30], np.int32), "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    pack = _PACKS["kibi_fully_connected_s8"]
    most = 128 * 128 + 127 + 127 * 127 + 128 * 127
    assert pack(_call("kibi_fully_connected_s8", values)) is not None
    # The largest sum is at a step of the output: else the channel would have one output, and need no sum.
    for bias, fits in (((1 << 23) - 1 - most, True), ((1 << 23) - most, False)):
        own = {**values, "bias": np.array([bias], np.int32)}
        assert (pack(_call("kibi_fully_connected_s8", own)) is not None) == fits
    for name, value in (("filter", [-128, -1, 0, 0]), ("shift", [0])):
        own = {**values, name: np.array(value, np.int8)}
        assert pack(_call("kibi_fully_connected_s8", own)) is None


def test_channel_without_weights_may_have_any_bias(tmp_path: Path) -> None:
    """Its one sum is replaced by a small one with the same output."""
    values, _ = fully_connected(np.random.default_rng(0))
    values |= {
        "filter": np.array([0, 0, 0, 1, 2, 3], np.int8), "bias": np.array([-(1 << 30), 7], np.int32), "depth": 3, "piece": 3,
        "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": 2, "shift": np.array([-24, -3], np.int8),
        "multiplier": np.full(2, 1 << 30, np.int32), "activation_min": -128, "activation_max": 127, "output_zero_point": 1,
    }  # fmt: skip
    packed = _PACKS["kibi_fully_connected_s8"](_call("kibi_fully_connected_s8", values))
    assert packed is not None
    case = Case(values, [[0]], [np.array([4, 5, 6], np.int8)], 2)
    own = replace(case, params=_values(packed))
    found = KernelOnCore(_KERNEL, ARMV7EM, tmp_path / "packed").run(own)
    assert found == KernelOnCore("kibi_fully_connected_s8", PORTABLE, tmp_path / "plain").run(case)
    assert found[0] == 256 - 31


@pytest.mark.parametrize("channels", [8, 10])
def test_instructions_for_each_product_stay_few(channels: int, tmp_path: Path) -> None:
    """A long vector costs about one instruction for each product, the channels behind the last eight half of one more."""
    values, _ = fully_connected(np.random.default_rng(0))
    depth = 512
    values |= _scaling(np.random.default_rng(1), channels) | {
        "filter": np.ones(channels * depth, np.int8), "depth": depth, "piece": depth, "pieces": 1, "vectors": 1,
        "vectors_per_row": 1, "output_channels": channels, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    packed = _PACKS["kibi_fully_connected_s8"](_call("kibi_fully_connected_s8", values))
    assert packed is not None
    counts = []
    for name, compiler, level in _BUILDS[:2]:
        core = KernelOnCore(_KERNEL, ARMV7EM, tmp_path / compiler, name=name, compiler=compiler, level=level)
        core.run(Case(_values(packed), [[0]], [np.ones(depth, np.int8)], channels))
        counts.append(core.instructions)
    assert counts[0] == counts[1]
    assert counts[0] < 1.02 * 8 * depth + 1.52 * (channels - 8) * depth + 260


def test_one_channel_of_any_depth_adds_up_every_product(tmp_path: Path) -> None:
    """Sixteen products are added at once where both rows are aligned, else four."""
    rng, core = np.random.default_rng(0), KernelOnCore("kibi_fully_connected_s8", ARMV7EM, tmp_path)
    counts = list[int]()
    for depth in (1, 2, 3, 4, 5, 12, 15, 16, 17, 19, 31, 32, 35, 36, 48, 512):
        weights, row = (rng.integers(-128, 128, depth).astype(np.int8) for _ in range(2))
        bias, shift = int(rng.integers(-999, 999)), -4 if depth < 100 else -12
        total = np.array([bias + weights.astype(np.int64) @ row.astype(np.int64)])
        expected = np.clip(requantize(total, 1 << 30, shift) + 3, -128, 127)
        counts.clear()
        for after in range(4):  # bytes that move the weights away from the end of memory; the row begins at a word
            values = {
                "filter": np.concatenate([weights, np.zeros(after, np.int8)]), "bias": np.array([bias], np.int32),
                "multiplier": np.array([1 << 30], np.int32), "shift": np.array([shift], np.int8), "depth": depth, "piece": depth,
                "pieces": 1, "vectors": 1, "vectors_per_row": 1, "output_channels": 1, "output_zero_point": 3,
                "activation_min": -128, "activation_max": 127,
            }  # fmt: skip
            found = core.run(Case(values, [[0]], [row, np.zeros((1 - depth) % 4, np.int8)], 1, at_end=True))
            assert np.frombuffer(found, np.int8).tolist() == expected.tolist(), (depth, after)
            counts.append(core.instructions)
    assert min(counts) < 1.76 * 512 + 120
    assert max(counts) < 2.51 * 512 + 120
