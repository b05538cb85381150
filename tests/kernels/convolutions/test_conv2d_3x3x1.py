"""Convolutions of one input channel: any shape on each core, the plain C twin, in place, what is proven."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kibi.ir import KernelCall
from kibi.kernels.params import PARAMS
from kibi.quant import requantize
from kibi.selection import Goal, choose
from kibi.selection.conv2d_3x3x1 import pack
from kibi.targets import target
from tests.kernels.emulated import linked
from tests.kernels.in_place import differing_distances
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.quant.boundaries import TRIPLES

Values = dict[str, int | np.ndarray]

_GENERAL = "kibi_conv2d_s8"
_KERNEL = "kibi_conv2d_s8_3x3x1"
_BUILDS = (
    ("cortex-m4", ARMV7EM, "zig", "s"), ("cortex-m33", ARMV7EM, "zig", "2"), ("cortex-m4", ARMV7EM, "gcc", "2"),
    ("cortex-m3", PORTABLE, "zig", "s"),
)  # fmt: skip
"""Cores of the set, then one that runs the plain C twin."""
_CASES = 120
_CHANNELS = 1500
_LIMITS = ((-128, 127), (-128, 20), (-10, 127), (30, -30))
_GEOMETRIES = (
    Geometry(1, 8, size=(6, 9)),
    Geometry(1, 9, stride=2, size=(7, 12)),
    Geometry(1, 2, size=(5, 6), padding="VALID"),
    Geometry(1, 6, groups=0, stride=3, size=(6, 11)),
)


def _call(values: Mapping[str, int | np.ndarray]) -> KernelCall:
    return KernelCall(_GENERAL, PARAMS[_GENERAL](**values), inplace_distance_bytes=(None,))


def _values(call: KernelCall) -> Values:
    return {name: value for name, value in call.by_name.items() if isinstance(value, int | np.ndarray)}


def _layer(channels: int, **changes: int | np.ndarray) -> Values:
    """A layer of that many output channels, and what is different."""
    rng = np.random.default_rng(channels)
    values: Values = {
        "filter": rng.integers(-128, 128, 9 * channels).astype(np.int8),
        "bias": rng.integers(-30000, 30000, channels).astype(np.int32),
        "multiplier": rng.integers(1 << 30, 1 << 31, channels).astype(np.int32),
        "shift": rng.integers(-12, -4, channels).astype(np.int8), "padding": np.full(3, -128, np.int8),
        "input_width": 6, "input_channels": 1, "output_width": 6, "output_channels": channels, "output_zero_point": -5,
        "activation_min": -128, "activation_max": 127, "groups": 1, "uses_im2col": 0, "kernel_rows": 3, "kernel_width": 3,
        "stride": 1, "dilation": 1, "pad": 1,
    }  # fmt: skip
    return values | changes


def _drawn(rng: np.random.Generator) -> Values:
    """The general kernel's fields: any width, stride and padding; now and then a channel that is scaled to nothing."""
    channels, stride, pad = int(rng.integers(1, 13)), int(rng.integers(1, 4)), int(rng.integers(0, 4))
    input_width = int(rng.integers(1, 15))
    low, high = _LIMITS[int(rng.integers(len(_LIMITS)))]
    values = _layer(
        channels, filter=rng.integers(-128, 128, 9 * channels).astype(np.int8), input_width=input_width, stride=stride,
        pad=pad, output_width=int(rng.integers(1, max(2, (input_width + 2 * pad - 3) // stride + 2))),
        padding=np.full(3, int(rng.choice([-128, 127, 0, 5])), np.int8), activation_min=low, activation_max=high,
        output_zero_point=int(rng.integers(-128, 128)),
    )  # fmt: skip
    if rng.integers(6) == 0:
        scales = {"multiplier": np.int32(0), "shift": np.int8(0)}
        for name, nothing in scales.items():
            changed = np.array(values[name])
            changed[0] = nothing
            values[name] = changed
    return values


@pytest.mark.parametrize(("name", "kernel_sets", "compiler", "level"), _BUILDS)
def test_drawn_rows_equal_the_general_kernel(
    name: str, kernel_sets: tuple[str, ...], compiler: str, level: str, tmp_path: Path
) -> None:
    """Whatever the shape, the scales, the values and the alignment: the same bytes, and nothing beside them is touched."""
    fast = KernelOnCore(_KERNEL, kernel_sets, tmp_path / "fast", name=name, compiler=compiler, level=level)
    general = KernelOnCore(_GENERAL, PORTABLE, tmp_path / "general")
    rng = np.random.default_rng(0)
    for _ in range(_CASES):
        values = _drawn(rng)
        packed = pack(_call(values))
        assert packed is not None
        inputs = [rng.integers(-128, 128, int(values["input_width"])).astype(np.int8) for _ in range(3)]
        size = int(values["output_width"]) * int(values["output_channels"])
        case = Case(values, [range(3)], inputs, size, at_end=bool(rng.integers(2)))
        assert fast.run(replace(case, params=_values(packed))) == general.run(case), values


@pytest.mark.parametrize("kernel_sets", [ARMV7EM, PORTABLE], ids=["armv7em", "portable"])
def test_every_boundary_of_requantization(kernel_sets: tuple[str, ...], tmp_path: Path) -> None:
    """Sums of nothing but the bias, each with its multiplier and shift, are rounded, moved and cut as Python does."""
    near = (1 << 30) - 4000
    acc, multiplier, shift = np.array([each for each in TRIPLES if each[1] and each[2] < 0 and abs(each[0]) < near]).T
    core = KernelOnCore(_KERNEL, kernel_sets, tmp_path)
    for number, piece in enumerate(np.array_split(np.arange(len(acc)), -(-len(acc) // _CHANNELS))):
        zero_point, (low, high) = (0, -128, 127, 3)[number % 4], _LIMITS[number // 4 % 4]
        # One weight keeps each channel from being taken for a constant; its input is zero.
        taps = np.zeros((len(piece), 9), np.int8)
        taps[:, 4] = 1
        packed = pack(_call(_layer(
            len(piece), filter=taps.reshape(-1), bias=acc[piece].astype(np.int32), padding=np.zeros(3, np.int8),
            multiplier=multiplier[piece].astype(np.int32), shift=shift[piece].astype(np.int8), input_width=1,
            output_width=1, output_zero_point=zero_point, activation_min=low, activation_max=high,
        )))  # fmt: skip
        assert packed is not None
        scaled = requantize(acc[piece], multiplier[piece], shift[piece]).astype(np.int64) + zero_point
        expected = np.minimum(np.maximum(scaled, low), high).astype(np.int8)
        found = core.run(Case(_values(packed), [range(3)], [np.zeros(1, np.int8)] * 3, len(piece)))
        np.testing.assert_array_equal(np.frombuffer(found, np.int8), expected)


def test_rows_may_be_overwritten_from_the_declared_distance_on() -> None:
    """At the distance that the variant declares, and at larger ones, no element is overwritten that is still to be read."""
    kernels, tried = linked((_KERNEL,), "cortex-m4", "zig", "s"), 0
    for geometry in _GEOMETRIES:
        case = convolution(geometry)
        graph = graph_of(case)
        packed = pack(graph.calls[0])
        if packed is None:
            continue
        (distance,) = packed.inplace_distance_bytes
        assert distance is not None
        distances = [distance + more for more in (0, 1, 2, 3, 5, 11)]
        wrong, count = differing_distances(kernels, graph.views[0], packed, case.inputs[0], distances)
        assert not wrong, (geometry, distance)
        tried += count
    assert tried > 0


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"input_channels": 2, "filter": np.ones(144, np.int8)}, False),
        ({"kernel_rows": 1, "filter": np.ones(24, np.int8)}, False),
        ({"dilation": 2}, False),
        ({"shift": np.zeros(8, np.int8)}, False),
    ],
)  # fmt: skip
def test_choice_follows_what_is_proven(changes: Values, *, fits: bool) -> None:
    """Layers that fit get the kernel on cores that gain from it."""
    call = _call(_layer(8, **changes))
    packed = pack(call)
    assert (packed is not None) == fits
    if packed is not None:
        # The last pixel reads from its fifth element on, when five have been written.
        assert packed.inplace_distance_bytes == (5 * 8 - 4,)
    assert (choose([call], target("cortex-m4"), Goal.BALANCED)[0].kernel == _KERNEL) == fits
    assert choose([call], target("cortex-m3"), Goal.SPEED)[0].kernel != _KERNEL


def test_instructions_per_multiply_accumulate(tmp_path: Path) -> None:
    """A row takes no more instructions than the kernel was made for."""
    packed = pack(_call(_layer(8, input_width=96, output_width=48, stride=2, pad=0)))
    assert packed is not None
    core = KernelOnCore(_KERNEL, ARMV7EM, tmp_path)
    core.run(Case(_values(packed), [range(3)], [np.zeros(96, np.int8)] * 3, 48 * 8))
    assert core.instructions / (48 * 8 * 9) < 2
