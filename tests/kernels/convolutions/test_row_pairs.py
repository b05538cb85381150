"""Two rows at a time by Winograd's F(2x2, 3x3): any shape on each core, the plain C twin, in place, and the bounds."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kibi.ir import KernelCall, NodeView
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_winograd import Conv2DRowPairsParams
from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.registry import numpy_kernels
from kibi.quant import requantize
from kibi.selection import Goal
from kibi.selection.conv2d_row_pairs import KERNEL, row_pairs
from kibi.selection.wide_rows import wide_call
from kibi.targets import target as target_named
from tests.kernels.emulated import Bench, Kernels, linked
from tests.ops.comparison import graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.toolchain.tools import check_cross

_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"), ("cortex-m3", "zig", "s"))
"""Cores of the set, then one that runs the plain C twin."""
_GEOMETRIES = tuple(
    Geometry(channels, outputs, size=size, padding=padding)
    for channels, outputs, size, padding in (
        (16, 16, (6, 8), "SAME"), (4, 2, (2, 8), "SAME"), (8, 6, (9, 11), "SAME"), (12, 4, (7, 18), "VALID"),
        (20, 2, (5, 16), "SAME"), (32, 4, (4, 8), "SAME"), (36, 2, (4, 8), "SAME"), (68, 4, (6, 10), "VALID"),
    )
)  # fmt: skip
"""Odd rows and rests of rows, one group of channels to two times four and some more, with columns outside and without."""


@pytest.fixture(params=_BUILDS, ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernel, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked((KERNEL,), target, compiler, level)


def _layer(geometry: Geometry) -> tuple[NodeView, KernelCall]:
    graph = graph_of(convolution(geometry))
    return graph.views[0], graph.calls[0]


def _packed(view: NodeView, call: KernelCall, **changed: object) -> KernelCall:
    packed = row_pairs(view, call)
    assert packed is not None
    return replace(packed, params=packed.params_as(Conv2DRowPairsParams).replaced(**changed))


def _expected(view: NodeView, given: np.ndarray) -> np.ndarray:
    rows, reference = given.reshape(view["input"].type.rows, -1), view.reference()
    places = (view.accesses[0].positions(y) for y in range(view.steps))
    steps = ([[None if row is None else rows[row] for row in each]] for each in places)
    return np.stack([np.asarray(reference(each)).reshape(-1) for each in steps])


def _run(kernels: Kernels, packed: KernelCall, given: np.ndarray, distance: int | None = None) -> np.ndarray:
    """The output rows, in memory of their own or so far below the input."""
    params, bench = packed.params_as(Conv2DRowPairsParams), Bench(kernels, np.random.default_rng(1))
    size = params.output_rows * params.output_width * params.output_channels
    if distance is None:
        first = bench.place("input", given.reshape(-1))
        output = bench.place("output", np.zeros(size, np.int8), writable=True)
    else:
        both = np.zeros(max(size, distance + given.size), np.int8)
        both[distance : distance + given.size] = given.reshape(-1)
        output = bench.place("both", both, writable=True)
        first = output + distance
    row = params.input_width * params.input_channels
    outside = bench.place("outside", np.full(row, params.input_zero_point, np.int8))
    places = (k - params.pad_rows for k in range(3))
    rows = bench.rows([first + row * k if k >= 0 else outside for k in places])
    bench.call(packed.kernel, output, rows, bench.params(packed), bench.scratch(packed.scratch_bytes))
    return bench.read(output, size).reshape(params.output_rows, -1)


@pytest.mark.parametrize("geometry", _GEOMETRIES, ids=str)
def test_all_rows_equal_the_reference(kernels: Kernels, geometry: Geometry) -> None:
    """Any shape, any bytes and extreme ones alone, cut to the activation's range: the same bits, and no byte outside is touched."""
    view, call = _layer(geometry)
    rng, shape = np.random.default_rng(0), view["input"].type.shape
    for given in (rng.integers(-128, 128, shape).astype(np.int8), rng.choice([-128, 127], shape).astype(np.int8)):
        wanted = _expected(view, given)
        np.testing.assert_array_equal(_run(kernels, _packed(view, call), given), wanted)
        cut = _packed(view, call, activation_min=-20, activation_max=31)
        np.testing.assert_array_equal(_run(kernels, cut, given), np.clip(wanted, -20, 31))


@pytest.mark.parametrize("geometry", _GEOMETRIES, ids=str)
def test_numpy_takes_the_weights_out_of_their_sums(geometry: Geometry) -> None:
    """The form on NumPy gives the same bits."""
    view, call = _layer(geometry)
    packed = _packed(view, call, activation_max=90)
    params = packed.params_as(Conv2DRowPairsParams)
    given = np.random.default_rng(4).integers(-128, 128, view["input"].type.shape).astype(np.int8)
    memory, made = given.reshape(-1).view(np.uint8), np.zeros(view.output.type.size_bytes, np.uint8)
    stream, numbers = params.stream.view(np.uint8), SimpleNamespace(**params.scalars)
    step = Call(KERNEL, numbers, {"stream": 0}, stream, [(memory, 0)] * 3, [(made, 0)], [], None, 0, {}, [])
    numpy_kernels([KERNEL])[KERNEL](step)
    np.testing.assert_array_equal(made.view(np.int8), np.minimum(_expected(view, given), 90).reshape(-1))


@pytest.mark.parametrize("extreme", [-127, 127])
def test_extreme_weights_and_elements_are_exact(kernels: Kernels, extreme: int) -> None:
    """The largest sums of weights and of elements fit 16 bits."""
    view, call = _layer(Geometry(16, 2, size=(4, 8)))
    layer = call.params_as(Conv2DS8Params)
    filters = np.full_like(layer.filter, extreme)
    filters[::7] = -extreme
    bias, given = np.array([-700, 900], np.int32), np.full(view["input"].type.shape, -128, np.int8)
    given[:, 1::2, 2::3] = 127
    general = replace(call, params=layer.replaced(filter=filters, bias=bias))
    wide = np.full((6, 10, 16), layer.padding[0], np.int64)
    wide[1:5, 1:9] = given[0]
    windows = np.stack([[wide[y : y + 3, x : x + 3].reshape(-1) for x in range(8)] for y in range(4)])
    sums = windows @ filters.reshape(2, -1).T.astype(np.int64) + bias
    packed = _packed(view, general, output_zero_point=3)
    scaled = requantize(sums, layer.multiplier, layer.shift.astype(np.int32)) + 3
    wanted = np.clip(scaled, layer.activation_min, layer.activation_max).astype(np.int8)
    np.testing.assert_array_equal(_run(kernels, packed, given), wanted.reshape(4, -1))


@pytest.mark.parametrize("geometry", _GEOMETRIES, ids=str)
def test_input_may_be_overwritten_from_the_declared_distance_on(kernels: Kernels, geometry: Geometry) -> None:
    """So far below the input and farther, no element is overwritten that is still to be read."""
    view, call = _layer(geometry)
    packed = _packed(view, call)
    (distance,) = packed.inplace_distance_bytes
    assert distance is not None
    given = np.random.default_rng(2).integers(-128, 128, view["input"].type.shape).astype(np.int8)
    for further in (0, 3):
        np.testing.assert_array_equal(_run(kernels, packed, given, distance + further), _expected(view, given))


def test_the_declared_distance_is_the_least() -> None:
    """One byte less, and a row is overwritten that is still to be read."""
    kernels, (view, call) = linked((KERNEL,), *_BUILDS[0]), _layer(Geometry(8, 8, size=(9, 8)))
    packed = _packed(view, call)
    (distance,) = packed.inplace_distance_bytes
    assert distance == 2 * 8 * 8
    given = np.random.default_rng(3).integers(-128, 128, view["input"].type.shape).astype(np.int8)
    assert not np.array_equal(_run(kernels, packed, given, distance - 64), _expected(view, given))


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry(16, 16, size=(8, 8), stride=2), Geometry(16, 3, size=(4, 8)), Geometry(6, 4, size=(4, 8)),
        Geometry(16, 16, size=(4, 7)), Geometry(16, 16, size=(1, 8)), Geometry(16, 16, kernel=(2, 3), size=(4, 8)),
        Geometry(16, 16, kernel=(3, 1), size=(4, 8)), Geometry(16, 16, dilation=2, size=(8, 16)),
        Geometry(16, 16, groups=2, size=(4, 8)),
    ],
    ids=str,
)  # fmt: skip
def test_other_layers_are_left_to_other_kernels(geometry: Geometry) -> None:
    """Strides, other windows, odd channels, groups, and images with less than a block of tiles."""
    assert row_pairs(*_layer(geometry)) is None


@pytest.mark.parametrize("bias", [(1 << 29) - 1, -(1 << 29) + 1])
def test_sums_that_may_leave_32_bits_are_left_to_other_kernels(bias: int) -> None:
    """Biases are multiplied by four, and sums of products are added to them before they are halved."""
    view, call = _layer(Geometry(16, 2, size=(4, 8)))
    layer = call.params_as(Conv2DS8Params)
    at_step: dict[str, Any] = {
        "multiplier": np.full_like(layer.multiplier, 1 << 30), "shift": np.full_like(layer.shift, -28),
        "output_zero_point": 0, "activation_min": -128, "activation_max": 127,
    }  # fmt: skip
    large = layer.replaced(bias=np.full_like(layer.bias, bias), **at_step)
    assert row_pairs(view, replace(call, params=large)) is None


def test_only_speed_takes_them_in_place_of_winograds_rows_where_few_pixels_are_made_twice() -> None:
    """Weights take 3.6 times their flash; rows of 11 pixels would be made as 16; and a plan may name another kernel."""
    core, kernels = target_named("cortex-m4"), ("kibi_conv2d_s8_winograd", "kibi_conv2d_s8_columns")
    made = {
        (size, goal, kernel): wide_call(*_layer(Geometry(16, 16, size=size)), core, goal, kernel)
        for size in ((8, 16), (8, 11)) for goal in Goal for kernel in kernels
    }  # fmt: skip
    assert {key for key, call in made.items() if call is not None} == {((8, 16), Goal.SPEED, kernels[0])}
