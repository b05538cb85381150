"""Layers with weights of int4 give the bytes of the same layers with weights of int8."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.kernels.params.conv2d_packed import Conv2DInt4Params
from kibi.ops.sums.int4 import packed_int4, packed_int4_fours, unpacked_int4
from kibi.quant import requantize
from tests.kernels.emulated import linked, run
from tests.kernels.in_place import check_in_place
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.kernels.test_fully_connected_variants import Values, fully_connected
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.support.amount import amount, sample
from tests.toolchain.tools import check_cross

_ARMV6M = ("armv6m", "portable")
_BUILDS = sample(
    [
        ("cortex-m4", "zig", "s", ARMV7EM), ("cortex-m4", "gcc", "2", ARMV7EM), ("cortex-m33", "zig", "2", ARMV7EM),
        ("cortex-m4", "gcc", "s", PORTABLE), ("cortex-m3", "zig", "2", PORTABLE), ("cortex-m0plus", "zig", "s", _ARMV6M),
        ("cortex-m0plus", "gcc", "2", _ARMV6M), ("cortex-m0plus", "gcc", "s", PORTABLE),
    ],
    {("cortex-m4", "zig", "s", ARMV7EM), ("cortex-m3", "zig", "2", PORTABLE), ("cortex-m0plus", "gcc", "2", _ARMV6M)},
)  # fmt: skip
_CORES = (("cortex-m4", "zig", "s"), ("cortex-m3", "zig", "2"), ("cortex-m0plus", "gcc", "2"))
_WHOLE = {"kibi_fully_connected_s8_int4": packed_int4, "kibi_fully_connected_s8_int4_blocks": packed_int4_fours}
_BY_ROWS = {
    "kibi_fully_connected_s8_int4_accumulate": packed_int4,
    "kibi_fully_connected_s8_int4_blocks_accumulate": packed_int4_fours,
}
"""The kernels of whole vectors and those that get vectors row by row, and what packs their filters."""
_PIXELS = tuple(
    Geometry(channels, outputs, kernel=kernel, size=size, padding=padding)
    for channels, outputs, kernel, size, padding in (
        (1, 1, (1, 1), (1, 1), "VALID"), (33, 5, (1, 1), (2, 3), "SAME"), (16, 4, (1, 1), (1, 7), "SAME"),
        (31, 3, (1, 2), (2, 4), "VALID"), (5, 8, (3, 3), (3, 4), "SAME"), (17, 6, (2, 3), (4, 5), "SAME"),
    )
)  # fmt: skip
"""Windows that are read in place or gathered; odd and even numbers of weights, below and above sixteen."""


def _drawn(rng: np.random.Generator) -> tuple[Values, list[int]]:
    """A call of the general kernel and the sizes of its rows; weights of -8 … 7, or the ends of that range alone."""
    values, rows = fully_connected(rng)
    size = int(values["output_channels"]) * int(values["depth"])
    drawn = rng.integers(-8, 8, size) if rng.integers(3) else rng.choice([-8, 7], size)
    return values | {"filter": drawn.astype(np.int8)}, rows


def _inputs(rng: np.random.Generator, rows: list[int]) -> list[Array]:
    """Any elements, or the ends of their range alone."""
    if rng.integers(3):
        return [rng.integers(-128, 128, size).astype(np.int8) for size in rows]
    return [rng.choice([-128, 127], size).astype(np.int8) for size in rows]


def _packed(values: Values, pack: Callable[[Array], Array] = packed_int4) -> Values:
    """The call's values for a kernel of int4, whose filter is packed so."""
    shape = (int(values["output_channels"]), int(values["pieces"]), int(values["piece"]))
    packed = pack(np.asarray(values["filter"]).reshape(shape))
    return {name: value for name, value in values.items() if name != "depth"} | {"filter": packed}


@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 1, 2), (5, 3, 7), (8, 2, 16), (3, 1, 33)])
def test_packed_weights_are_unpacked(shape: tuple[int, int, int]) -> None:
    """For any rest of channels and of elements; a word holds eight weights."""
    weights = np.random.default_rng(0).integers(-8, 8, shape).astype(np.int8)
    packed = packed_int4(weights)
    np.testing.assert_array_equal(unpacked_int4(packed, shape), weights)
    assert packed.size == -(-shape[0] // 4) * shape[1] * -(-shape[2] // 2)


@pytest.mark.parametrize("kernel", _WHOLE)
@pytest.mark.parametrize(("name", "compiler", "level", "sets"), _BUILDS)
def test_drawn_layer_gives_the_general_bytes(
    name: str, compiler: str, level: str, sets: tuple[str, ...], kernel: str, tmp_path: Path
) -> None:
    """Whatever the shape, the weights and the elements, it writes the same, and touches no byte outside."""
    general = "kibi_fully_connected_s8"
    own = KernelOnCore(kernel, sets, tmp_path / "own", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(general, PORTABLE, tmp_path / "plain")
    rng = np.random.default_rng(0)
    for _ in range(amount(60, 500)):
        values, rows = _drawn(rng)
        output_bytes = int(values["vectors"]) * int(values["output_channels"])
        at_end = bool(rng.integers(2))
        case = Case(values, [range(len(rows))], _inputs(rng, rows), output_bytes, at_end=at_end)
        assert own.run(replace(case, params=_packed(values, _WHOLE[kernel]))) == plain.run(case), case


@pytest.mark.parametrize("kernel", _BY_ROWS)
@pytest.mark.parametrize(("name", "compiler", "level", "sets"), _BUILDS)
def test_drawn_layer_that_adds_rows_up_gives_the_general_bytes(
    name: str, compiler: str, level: str, sets: tuple[str, ...], kernel: str, tmp_path: Path
) -> None:
    """The same of several vectors whose rows come step by step."""
    general = "kibi_fully_connected_s8_accumulate"
    own = KernelOnCore(kernel, sets, tmp_path / "own", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(general, PORTABLE, tmp_path / "plain")
    rng = np.random.default_rng(0)
    for _ in range(amount(40, 400)):
        values, _ = _drawn(rng)
        del values["vectors_per_row"], values["depth"]
        vectors, pieces, channels = (int(values[name]) for name in ("vectors", "pieces", "output_channels"))
        steps = vectors * pieces
        case = Case(
            values, [[step] for step in range(steps)], _inputs(rng, [int(values["piece"])] * steps), vectors * channels,
            scratch_bytes=4 * vectors * channels, at_end=bool(rng.integers(2)), steps=steps,
        )  # fmt: skip
        assert own.run(replace(case, params=_packed(values, _BY_ROWS[kernel]))) == plain.run(case), case


@pytest.mark.parametrize("kernel", _WHOLE)
@pytest.mark.parametrize(("name", "compiler", "level", "sets"), _BUILDS)
def test_largest_products_fit_what_they_are_added_up_in(
    name: str, compiler: str, level: str, sets: tuple[str, ...], kernel: str, tmp_path: Path
) -> None:
    """Weights and elements that are all at one end of their range give their sums, of either sign."""
    own = KernelOnCore(kernel, sets, tmp_path / "own", name=name, compiler=compiler, level=level)
    for weight, element, depth in product((-8, 7), (-128, 127), (16, 17, 32, 35, 504, 505, 1010)):
        channels, shift = 5, -8 if depth < 504 else -13
        values: Values = {
            "filter": _WHOLE[kernel](np.full((channels, 1, depth), weight, np.int8)),
            "bias": np.arange(channels, dtype=np.int32) * 512, "multiplier": np.full(channels, 1 << 30, np.int32),
            "shift": np.full(channels, shift, np.int8), "piece": depth, "pieces": 1, "vectors": 1, "vectors_per_row": 1,
            "output_channels": channels, "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
        }  # fmt: skip
        found = own.run(Case(values, [[0]], [np.full(depth, element, np.int8)], channels))
        sums = weight * element * depth + np.arange(channels) * 512
        expected = requantize(sums.astype(np.int32), np.full(channels, 1 << 30), np.full(channels, shift))
        np.testing.assert_array_equal(np.frombuffer(found, np.int8), expected)


@pytest.mark.parametrize(("name", "compiler", "level"), _CORES)
def test_convolutions_equal_the_reference(name: str, compiler: str, level: str) -> None:
    """Any window, padding, stride and dilation; windows that are read in place, and those that are gathered."""
    if compiler == "gcc":
        check_cross()
    kernels = linked(("kibi_conv2d_s8_int4",), name, compiler, level)
    ways = set()
    for seed, geometry in enumerate((*GEOMETRIES, *_PIXELS)):
        case = convolution(geometry, seed, is_int4=True)
        graph = graph_of(case)
        (call,) = graph.calls
        if geometry.groups != 1:
            assert not call.kernel.endswith("int4")
            continue
        found = run(kernels, graph.views[0], case.inputs, np.random.default_rng(seed), call)
        assert_same(graph, [found], kibi.run(graph, None, case.inputs))
        ways.add(call.params_as(Conv2DInt4Params).gathers)
    assert ways == {0, 1}


def test_convolutions_may_overwrite_rows_from_the_declared_distance_on() -> None:
    """No element is overwritten that is still to be read."""
    kernels = linked(("kibi_conv2d_s8_int4",), "cortex-m4", "zig", "s")
    cases = (convolution(geometry, is_int4=True) for geometry in (*GEOMETRIES, *_PIXELS))
    assert check_in_place(kernels, "kibi_conv2d_s8_int4", cases) > len(GEOMETRIES)
