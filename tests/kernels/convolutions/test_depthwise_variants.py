"""Depthwise convolutions in blocks of four channels: any shape on each core, the plain C twins, in place, what is proven."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.ir import KernelCall
from kibi.kernels.params import PARAMS
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.quant import requantize
from kibi.selection import Goal, choose
from kibi.selection.depthwise_3x3 import pack, pack_relu
from kibi.selection.depthwise_columns import pack as pack_columns
from kibi.targets import target
from tests.kernels.emulated import linked, run
from tests.kernels.in_place import differing_distances
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.kernels.overlaps import probes_of
from tests.kernels.overlaps import run as run_probes
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.quant.boundaries import TRIPLES
from tests.support.amount import amount, sample

Pack = Callable[[KernelCall], KernelCall | None]
Values = dict[str, int | np.ndarray]

_GENERAL = "kibi_depthwise_conv2d_s8"
_PACKS: Mapping[str, Pack] = {
    f"{_GENERAL}_3x3": pack,
    f"{_GENERAL}_3x3_relu": pack_relu,
    f"{_GENERAL}_columns": pack_columns,
}
_BUILDS = (
    ("cortex-m4", ARMV7EM, "zig", "s"), ("cortex-m33", ARMV7EM, "zig", "2"), ("cortex-m4", ARMV7EM, "gcc", "2"),
    ("cortex-m3", PORTABLE, "zig", "s"),
)  # fmt: skip
"""Cores of the set, then one that runs the plain C twins."""
_RISC_V = (f"{_GENERAL}_3x3_relu", "rv32imac", target("rv32imac").kernel_sets, "zig", "s")
"""The kernel that RISC-V has, too."""
_CASES = amount(60, 150)
_CHANNELS = 1000
_DEPTHWISE = (
    *(each for each in GEOMETRIES if each.groups == 0 and each.channels == each.outputs),
    Geometry(8, 8, groups=0),
    Geometry(7, 7, groups=0, stride=2, size=(5, 8)),
    Geometry(4, 4, groups=0, kernel=(5, 1), padding="VALID", size=(7, 1)),
    Geometry(8, 8, groups=0, kernel=(4, 5), size=(5, 6)),
    Geometry(12, 12, groups=0, dilation=2, size=(6, 7)),
)


def _call(values: Mapping[str, int | np.ndarray]) -> KernelCall:
    return KernelCall(_GENERAL, PARAMS[_GENERAL](**values), inplace_distance_bytes=(0,))


def _values(call: KernelCall) -> Values:
    return {name: value for name, value in call.by_name.items() if isinstance(value, int | np.ndarray)}


def _bytes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Any bytes, or extreme ones alone."""
    if rng.integers(4) == 0:
        return rng.choice([-128, 127], shape).astype(np.int8)
    return rng.integers(-128, 128, shape).astype(np.int8)


def _scaling(rng: np.random.Generator, channels: int) -> Values:
    """Biases, multipliers and shifts of real layers, of extreme ones, and now and then a channel that is scaled to nothing."""
    bias = rng.integers(-30000, 30000, channels)
    multiplier, shift = rng.integers(1 << 30, 1 << 31, channels), rng.integers(-12, -4, channels)
    if rng.integers(3) == 0:
        multiplier = rng.choice([1 << 30, (1 << 31) - 1, 1234567890], channels)
        shift = rng.choice([-31, -30, -16, -6, -1], channels)
    if rng.integers(6) == 0:
        multiplier[0], shift[0] = 0, 0
    if rng.integers(3) == 0:  # mostly an output that is the same for all inputs
        bias[-1], shift[-1] = rng.choice([-1, 1]) * rng.integers(1 << 29, 1 << 31), rng.choice([-8, -1, 0])
    return {
        "bias": bias.astype(np.int32), "multiplier": multiplier.astype(np.int32), "shift": shift.astype(np.int8),
    }  # fmt: skip


def _limits(rng: np.random.Generator, *, has_relu: bool) -> Values:
    if has_relu:
        zero_point = int(rng.choice([-128, -20]))
        low, high = ((zero_point, 127), (zero_point + 10, 90), (30, 30))[int(rng.integers(3))]
    else:
        zero_point = int(rng.integers(-128, 128))
        low, high = ((-128, 127), (-128, 20), (-10, 127), (30, -30))[int(rng.integers(4))]
    return {"output_zero_point": zero_point, "activation_min": low, "activation_max": high}


def _drawn(kernel: str, rng: np.random.Generator) -> tuple[Values, list[np.ndarray]]:
    """A row: the general kernel's fields, and its input rows."""
    channels = int(rng.choice([*range(4, 14), 16, 20, 33]))
    dilation, stride = 1 + int(rng.integers(8) == 0), int(rng.integers(1, 4))
    if kernel.endswith("columns"):
        kernel_rows, kernel_width = int(rng.integers(1, 10)), int(rng.choice([1, 1, 2, 3, 5, 7]))
        pad, input_width = int(rng.integers(0, (kernel_width - 1) * dilation + 2)), int(rng.integers(1, 12))
        reach = (kernel_width - 1) * dilation
        output_width = int(rng.integers(1, max(2, (input_width + 2 * pad - reach) // stride + 2)))
    else:
        kernel_rows = kernel_width = 3
        pad = int(rng.integers(0, dilation + 1))
        input_width = int(rng.integers(max(1, dilation - pad + 1), 14))
        output_width = int(rng.integers(1, (input_width - 1 - dilation + pad) // stride + 2))
    values: Values = {
        **_scaling(rng, channels), **_limits(rng, has_relu=kernel.endswith("relu")),
        "filter": _bytes(rng, kernel_rows * kernel_width, channels), "input_width": input_width, "channels": channels,
        "input_zero_point": int(rng.choice([-128, 127, 0, 5])), "output_width": output_width,
        "kernel_rows": kernel_rows, "kernel_width": kernel_width, "stride": stride, "dilation": dilation, "pad": pad,
    }  # fmt: skip
    return values, [_bytes(rng, input_width * channels) for _ in range(kernel_rows)]


@pytest.mark.parametrize(
    ("kernel", "name", "kernel_sets", "compiler", "level"),
    [*sample((kernel, *build) for kernel in sorted(_PACKS) for build in _BUILDS), _RISC_V],
)
def test_drawn_rows_equal_the_general_kernel(
    kernel: str, name: str, kernel_sets: tuple[str, ...], compiler: str, level: str, tmp_path: Path
) -> None:
    """Whatever the shape, the scales, the values and the alignment: the same bytes, and nothing beside them is touched."""
    fast = KernelOnCore(kernel, kernel_sets, tmp_path / "fast", name=name, compiler=compiler, level=level)
    general = KernelOnCore(_GENERAL, PORTABLE, tmp_path / "general")
    rng, fitting = np.random.default_rng(0), 0
    for _ in range(_CASES):
        values, inputs = _drawn(kernel, rng)
        packed = _PACKS[kernel](_call(values))
        if packed is None:
            continue
        size = int(values["output_width"]) * int(values["channels"])
        case = Case(values, [range(len(inputs))], inputs, size, at_end=bool(rng.integers(2)))
        assert fast.run(replace(case, params=_values(packed))) == general.run(case), values
        fitting += 1
    assert fitting > _CASES // 2


@pytest.mark.parametrize("kernel", sorted(_PACKS))
@pytest.mark.parametrize("kernel_sets", [ARMV7EM, PORTABLE], ids=["armv7em", "portable"])
def test_every_boundary_of_requantization(kernel: str, kernel_sets: tuple[str, ...], tmp_path: Path) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, are rounded, moved and cut as Python does."""
    has_relu, rows, width = kernel.endswith("relu"), *((1, 1) if kernel.endswith("columns") else (3, 3))
    near = (1 << 23) - 4000
    acc, multiplier, shift = np.array([each for each in TRIPLES if each[1] and each[2] < 0 and abs(each[0]) < near]).T
    core = KernelOnCore(kernel, kernel_sets, tmp_path)
    pieces = np.array_split(np.arange(len(acc)), -(-len(acc) // _CHANNELS))
    tried = 0
    for number, piece in enumerate(pieces):
        channels, zero_point = len(piece), (-128, -4)[number % 2] if has_relu else (0, -128, 127, 3)[number % 4]
        low, high = ((zero_point, 127), (5, 70))[number % 2] if has_relu else ((-128, 127), (-7, 90))[number // 4 % 2]
        # One weight keeps each channel from being taken for a constant; its input is zero.
        taps = np.zeros((rows * width, channels), np.int8)
        taps[rows * width // 2] = 1
        packed = _PACKS[kernel](_call({
            "bias": acc[piece].astype(np.int32), "multiplier": multiplier[piece].astype(np.int32),
            "shift": shift[piece].astype(np.int8), "filter": taps, "input_width": 1, "channels": channels,
            "input_zero_point": 0, "output_width": 1, "output_zero_point": zero_point, "activation_min": low,
            "activation_max": high, "kernel_rows": rows, "kernel_width": width, "stride": 1, "dilation": 1,
            "pad": width // 2,
        }))  # fmt: skip
        if packed is None and has_relu:
            # A channel has no constants: the others are in some of the pieces that this one falls into, which come later.
            pieces += [each for each in np.array_split(piece, 2) if len(piece) >= 8]
            continue
        assert packed is not None
        tried += channels
        case = Case(_values(packed), [range(rows)], [np.zeros(channels, np.int8)] * rows, channels)
        scaled = requantize(acc[piece], multiplier[piece], shift[piece]).astype(np.int64) + zero_point
        expected = np.minimum(np.maximum(scaled, low), high).astype(np.int8)
        np.testing.assert_array_equal(np.frombuffer(core.run(case), np.int8), expected)
    assert tried > len(acc) // 2


def _with_relu(call: KernelCall) -> KernelCall:
    """The call with an activation that cuts off what is below its zero point."""
    params = call.params_as(DepthwiseS8Params)
    return replace(call, params=params.replaced(activation_min=params.output_zero_point))


@pytest.mark.parametrize(("kernel", "name"), [*((kernel, "cortex-m4") for kernel in sorted(_PACKS)), _RISC_V[:2]])
def test_rows_may_be_overwritten_from_the_declared_distance_on(kernel: str, name: str) -> None:
    """At the distance of the general call, and at larger ones, no element is overwritten that is still to be read."""
    kernels, tried = linked((kernel,), name, "zig", "s"), 0
    for geometry in _DEPTHWISE:
        case = convolution(geometry)
        graph = graph_of(case)
        packed = _PACKS[kernel](_with_relu(graph.calls[0]))
        if packed is None:
            continue
        (distance,) = graph.calls[0].inplace_distance_bytes
        assert distance is not None
        assert packed.inplace_distance_bytes == graph.calls[0].inplace_distance_bytes
        distances = [distance + more for more in (0, 1, 2, 3, 4, 5, geometry.channels, 3 * geometry.channels - 1)]
        wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
        assert not wrong, (geometry, distance)
        tried += count
    assert tried > 20


def test_twins_may_overwrite_their_rows_from_the_declared_distance_on(tmp_path: Path) -> None:
    """The plain C twins, on this machine, at every distance from the general call's on."""
    rng = np.random.default_rng(0)
    general = [
        probe for each in _DEPTHWISE for view in graph_of(convolution(each)).views for probe in probes_of(view, rng)
    ]
    both = [(probe, each(_with_relu(probe.call))) for probe in general for each in _PACKS.values()]
    probes = [replace(probe, call=packed) for probe, packed in both if packed is not None]
    assert {probe.call.kernel for probe in probes} == set(_PACKS)
    for probe, right in zip(probes, run_probes(probes, tmp_path), strict=True):
        assert all(right[1 + probe.declared :]), probe


def _layer(**changes: int | np.ndarray) -> Values:
    """A layer of 3x3 taps and 8 channels with a ReLU, and what is different."""
    rng = np.random.default_rng(0)
    values: Values = {
        "filter": rng.integers(-128, 128, (9, 8)).astype(np.int8), "bias": np.full(8, 100, np.int32),
        "multiplier": np.full(8, 1 << 30, np.int32), "shift": np.full(8, -6, np.int8), "input_width": 6, "channels": 8,
        "input_zero_point": -128, "output_width": 6, "output_zero_point": -128, "activation_min": -128,
        "activation_max": 127, "kernel_rows": 3, "kernel_width": 3, "stride": 1, "dilation": 1, "pad": 1,
    }  # fmt: skip
    return values | changes


@pytest.mark.parametrize(
    ("changes", "kernel"),
    [
        ({}, "_3x3_relu"),
        ({"output_zero_point": -127}, "_3x3"),  # outputs below the zero point are not cut off
        ({"pad": 2}, "_columns"),  # the first window's middle is outside
        ({"output_width": 7}, "_columns"),  # the last one's is
        ({"kernel_rows": 1, "kernel_width": 9}, "_columns"),
        ({"shift": np.array([-6] * 7 + [0], np.int8)}, "_3x3_relu_odd"),
        ({"shift": np.array([-6] * 6 + [0] * 2, np.int8)}, ""),  # a quarter of the channels
        # Sums on both sides of a step; then a channel that is cut off for all inputs.
        ({"bias": np.full(8, (1 << 30) + (1 << 22), np.int32), "shift": np.full(8, -22, np.int8)}, ""),
        ({"bias": np.array([100] * 7 + [1 << 30], np.int32)}, "_3x3_relu"),
        ({"channels": 3, "filter": np.ones((9, 3), np.int8), **{
            name: np.array(value) for name, value in (
                ("bias", np.zeros(3, np.int32)), ("multiplier", np.full(3, 1 << 30, np.int32)),
                ("shift", np.full(3, -6, np.int8)))}}, ""),
    ],
)  # fmt: skip
def test_choice_follows_what_is_proven(changes: Values, kernel: str) -> None:
    """Each layer gets the fastest kernel whose conditions hold for all inputs; else the general one stays."""
    call = _call(_layer(**changes))
    for goal in (Goal.SPEED, Goal.BALANCED):
        assert choose([call], target("cortex-m4"), goal)[0].kernel == _GENERAL + kernel
    assert choose([call], target("cortex-m4"), Goal.FLASH)[0].kernel == _GENERAL
    assert choose([call], target("cortex-m3"), Goal.SPEED)[0].kernel == _GENERAL


@pytest.mark.parametrize(
    ("geometry", "low", "high", "parts"),
    [
        (Geometry(8, 8, groups=0, size=(4, 5)), -128, 127, ""),
        (Geometry(8, 8, groups=0, size=(4, 1)), -128, 127, ""),  # a pixel alone
        (Geometry(8, 8, groups=0, size=(3, 5)), 3, 90, "CLAMPS"),
        (Geometry(8, 8, groups=0, size=(3, 5)), 3, 127, "CLAMPS"),
        (Geometry(7, 7, groups=0, size=(4, 5)), -128, 127, "ODD_CHANNELS"),
        (Geometry(7, 7, groups=0, size=(4, 1)), -128, 127, "ODD_CHANNELS"),
    ],
)
def test_parts_that_a_layer_needs_are_enough(geometry: Geometry, low: int, high: int, parts: str) -> None:
    """Channels that are whole fours, and activations that cut nothing, need no code for others."""
    case = convolution(geometry)
    graph = graph_of(case)
    (call,) = graph.calls
    params = call.params_as(DepthwiseS8Params).replaced(activation_min=low, activation_max=high)
    packed = pack(replace(call, params=params))
    assert packed is not None
    assert packed.features == {f"KIBI_DEPTHWISE_3X3_OF_{part}" for part in parts.split()}
    kernels = linked((packed.kernel,), "cortex-m4", "zig", "s", packed.features)
    found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(0), packed)
    assert_same(graph, [found], [np.clip(each, low, high) for each in kibi.run(graph, None, case.inputs)])


def _row(channels: int, shape: tuple[int, int, int], folder: Path) -> KernelOnCore:
    """Runs a row, of windows of some rows and columns, and as wide as that; the core knows what it took."""
    rows, columns, width = shape
    rng = np.random.default_rng(0)
    call = _call(_layer(
        filter=_bytes(rng, rows * columns, channels), bias=np.zeros(channels, np.int32), input_width=width,
        output_width=width, multiplier=np.full(channels, 1 << 30, np.int32), shift=np.full(channels, -8, np.int8),
        kernel_rows=rows, kernel_width=columns, pad=columns // 2, channels=channels,
    ))  # fmt: skip
    packed = choose([call], target("cortex-m4"), Goal.SPEED)[0]
    core = KernelOnCore(packed.kernel, ARMV7EM, folder)
    core.run(Case(_values(packed), [range(rows)], [_bytes(rng, width * channels)] * rows, width * channels))
    return core


@pytest.mark.parametrize(
    ("channels", "shape", "most"),
    [(64, (3, 3, 5), 2.83), (8, (3, 3, 48), 2.83), (128, (3, 3, 6), 2.78), (128, (10, 1, 1), 3.22)],
)
def test_instructions_per_multiply_accumulate(
    channels: int, shape: tuple[int, int, int], most: float, tmp_path: Path
) -> None:
    """A row takes no more instructions than the kernels were made for."""
    instructions = _row(channels, shape, tmp_path).instructions
    assert instructions / (shape[0] * shape[1] * shape[2] * channels) < most


def test_short_rows_take_little_besides_their_loop(tmp_path: Path) -> None:
    """Five pixels are set up in one call; and no branch leads to an instruction of four bytes beside a multiple of four."""
    few, many = (_row(channels, (3, 3, 5), tmp_path / str(channels)) for channels in (4, 64))
    block = (many.instructions - few.instructions) / 15, (many.cycles - few.cycles) / 15
    assert few.instructions - block[0] < 140  # it was 207 where a row was set up like a single pixel
    assert block[1] < 752  # 757 where labels are beside multiples of four
