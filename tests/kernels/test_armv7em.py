"""The kernels for Armv7E-M on emulated cores: any shape at any address, any sum by any multiplier, and nothing beside."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.ir import Graph, KernelCall
from kibi.kernels import kernel_folder
from kibi.quant import requantize
from kibi.toolchain import compile_objects
from tests.kernels.emulated import Bench, Kernels, linked, run
from tests.kernels.in_place import check_in_place
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import GEOMETRIES, Geometry, convolution
from tests.quant.boundaries import TRIPLES
from tests.support.amount import IS_EXHAUSTIVE, sample
from tests.support.operator_models import Case, s8_case
from tests.toolchain.tools import check_cross

_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_KERNELS = (
    "kibi_conv2d_s8", "kibi_conv2d_s8_int4", "kibi_copy_s8", "kibi_fully_connected_s8", "kibi_fully_connected_s8_accumulate",
    "kibi_fully_connected_s8_int4", "kibi_fully_connected_s8_int4_accumulate",
)  # fmt: skip
_IN_PLACE = {
    "AVERAGE_POOL_2D": ("kibi_average_pool2d_s8",), "CONV_2D": ("kibi_conv2d_s8",),
    "DEPTHWISE_CONV_2D": ("kibi_depthwise_conv2d_s8",),
    "FULLY_CONNECTED": ("kibi_fully_connected_s8", "kibi_fully_connected_s8_int4"), "LOGISTIC": ("kibi_table_s8",),
    "MAX_POOL_2D": ("kibi_max_pool2d_s8",),
}  # fmt: skip
_SOURCES = tuple(sorted(kernel_folder("armv7em").glob("*.c")))
_DRAWN = 30
_WIDER = tuple(
    Geometry(channels, outputs, kernel=kernel, stride=stride, size=size)
    for channels, outputs, kernel, stride, size in (
        (64, 6, (1, 1), 1, (1, 5)), (61, 7, (1, 1), 1, (1, 2)), (19, 4, (1, 1), 2, (2, 7)), (16, 5, (3, 3), 1, (3, 6)),
        (18, 4, (3, 3), 2, (3, 8)), (7, 2, (3, 3), 1, (2, 8)), (3, 17, (3, 3), 2, (4, 9)), (2, 2, (1, 1), 1, (1, 6)),
        (1, 18, (5, 5), 2, (3, 9)), (40, 3, (2, 3), 1, (2, 5)), (33, 1, (1, 1), 1, (1, 4)),
    )
)  # fmt: skip


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """Convolution and fully connected, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(_KERNELS, target, compiler, level)


def _check(kernels: Kernels, graph: Graph, case: Case, seed: int) -> None:
    (view,) = graph.views
    found = run(kernels, view, case.inputs, np.random.default_rng(seed))
    assert_same(graph, [found], kibi.run(graph, None, case.inputs))


@pytest.mark.parametrize("operator", ["CONV_2D", "FULLY_CONNECTED"])
def test_drawn_models_at_any_address_equal_the_reference(kernels: Kernels, operator: str) -> None:
    """Shapes, paddings, scales and values of every kind give the same bits, and no byte outside is touched."""
    for seed in range(_DRAWN):
        case = s8_case(operator, seed)
        _check(kernels, graph_of(case), case, seed)


def test_convolutions_of_every_way_equal_the_reference(kernels: Kernels) -> None:
    """Gathered or not, grouped, dilated, with runs of many lengths and odd numbers of pixels and channels."""
    for seed, geometry in enumerate((*(each for each in GEOMETRIES if each.groups), *_WIDER)):
        case = convolution(geometry, seed)
        _check(kernels, graph_of(case), case, seed)


@pytest.mark.parametrize("operator", _IN_PLACE)
def test_rows_may_be_overwritten_from_the_declared_distance_on(operator: str) -> None:
    """At the declared distance, and at larger ones, no element is overwritten that is still to be read."""
    kernels = linked(sum(_IN_PLACE.values(), ()), "cortex-m4", "zig", "s")
    cases = [s8_case(operator, seed) for seed in range(_DRAWN)]
    if operator == "CONV_2D":
        cases += [convolution(each) for each in (*GEOMETRIES, *_WIDER) if each.groups]
    assert sum(check_in_place(kernels, kernel, cases) for kernel in _IN_PLACE[operator]) >= _DRAWN


@pytest.mark.parametrize(
    ("zero_point", "low", "high"), [(0, -128, 127), (-128, -128, 127), (127, -128, 127), (5, -7, 90)]
)
@pytest.mark.parametrize("pixels", [1, 2])
def test_every_boundary_of_accumulator_multiplier_and_shift(
    kernels: Kernels, pixels: int, zero_point: int, low: int, high: int
) -> None:
    """A channel for each: sums of nothing but the bias are rounded, moved and cut as Python does, one pixel or two at once."""
    acc, multiplier, shift = np.array(TRIPLES, np.int32).T
    channels = len(acc)
    values: dict[str, object] = {
        "filter": np.zeros(channels, np.int8), "bias": acc.copy(), "multiplier": multiplier.copy(),
        "shift": shift.astype(np.int8), "padding": np.zeros(1, np.int8), "input_width": pixels, "input_channels": 1,
        "output_width": pixels, "output_channels": channels, "output_zero_point": zero_point, "activation_min": low,
        "activation_max": high, "groups": 1, "uses_im2col": 0, "kernel_rows": 1, "kernel_width": 1, "stride": 1,
        "dilation": 1, "pad": 0,
    }  # fmt: skip
    call = KernelCall.of("kibi_conv2d_s8", values)
    bench = Bench(kernels, np.random.default_rng(0))
    output = bench.place("output", np.zeros(pixels * channels, np.int8), writable=True)
    rows = bench.rows([bench.place("input", np.ones(pixels, np.int8))])
    bench.call(call.kernel, output, rows, bench.params(call), 0)
    moved = (requantize(acc, multiplier, shift).astype(np.int64) + zero_point + (1 << 31)) % (1 << 32) - (1 << 31)
    expected = np.clip(moved, low, high).astype(np.int8)
    found = bench.read(output, pixels * channels).reshape(pixels, channels)
    for row in found:
        np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("distance", [-3, -1, 0, 1, 3])
def test_copy_over_itself_is_as_if_it_had_been_read_before(kernels: Kernels, distance: int) -> None:
    """The output may begin before the input or behind it, however near."""
    data = np.arange(20, dtype=np.int8)
    call = KernelCall.of("kibi_copy_s8", {"pieces": 1, "elements": 11})
    bench = Bench(kernels, np.random.default_rng(0))
    place = bench.place("data", data, writable=True)
    bench.call(call.kernel, place + 4 + distance, bench.rows([place + 4]), bench.params(call), 0)
    expected = data.copy()
    expected[4 + distance : 15 + distance] = data[4:15]
    np.testing.assert_array_equal(bench.read(place, 20), expected)


@pytest.mark.parametrize(
    ("target", "compiler", "level", "language"),
    sample(
        [
            (*core, level, language)
            for core in (("cortex-m4", "zig"), ("cortex-m33", "zig"), ("cortex-m4", "gcc"))
            for level in ("0", "s")
            for language in ("c99", "c++17")
        ],
        [("cortex-m4", "gcc", "s", "c++17")],
    ),
)
def test_sources_give_no_warning(target: str, compiler: str, level: str, language: str, tmp_path: Path) -> None:
    """Each file of the set is clean, with the headers that it shares with the portable one."""
    if compiler == "gcc":
        check_cross()
    for name in ("portable", "armv7em"):
        for path in kernel_folder(name).glob("*.h"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    sources = []
    for path in _SOURCES:
        sources.append(tmp_path / path.name)
        sources[-1].write_bytes(path.read_bytes())
    compile_objects(
        sources, kibi.target(target), compiler=compiler, level=level, includes=[tmp_path], language=language
    )
