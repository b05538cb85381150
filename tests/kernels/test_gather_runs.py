"""Rows put together from runs, on an emulated core: runs of every length, filled ones, and runs over their own copies."""

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall
from kibi.ops.overlap import least_distance
from kibi.selection.repeated_runs import REPEATED_RUNS
from tests.kernels.emulated import Bench, Kernels, linked
from tests.support.amount import IS_EXHAUSTIVE
from tests.toolchain.tools import check_cross

_KERNELS = (
    "kibi_gather_runs_s8",
    "kibi_gather_runs_s16",
    "kibi_gather_runs_f32",
    "kibi_gather_runs_any",
    "kibi_repeat_runs_s8",
)
_BUILDS = (
    ("cortex-m4", "zig", "s"),
    ("cortex-m4", "gcc", "2"),
    ("cortex-m33", "zig", "2"),
    ("cortex-m3", "zig", "s"),
    ("cortex-m0plus", "zig", "s"),
)
_TYPES = (DType.S8, DType.S16, DType.F32, DType.S64)
_LENGTHS = (1, 2, 3, 4, 5, 7, 15, 16, 17, 19, 32, 39)
_FILLED = -1000
_FIELD = 96


def _kernels(build: tuple[str, str, str]) -> Kernels:
    if build[1] == "gcc":
        check_cross()
    return linked(_KERNELS, *build)


def _call(dtype: DType, outer: list[tuple[int, int]], inner: list[tuple[int, int]], elements: int) -> KernelCall:
    values: dict[str, object] = {
        "outer": np.array(outer, np.int32).reshape(-1), "outer_count": len(outer), "elements": elements,
        "inner": np.array(inner, np.int32).reshape(-1), "inner_count": len(inner),
    }  # fmt: skip
    filler = np.array([-77], dtype.numpy)
    if dtype is DType.S64:
        return KernelCall.of("kibi_gather_runs_any", {**values, "bytes": 8, "filler": filler.view(np.int8)})
    return KernelCall.of(f"kibi_gather_runs_{dtype}", {**values, "filler": filler})


def _expected(
    rows: list[Array | None], outer: list[tuple[int, int]], inner: list[tuple[int, int]], elements: int
) -> Array:
    dtype = next(row.dtype for row in rows if row is not None)
    made = []
    for row, place in outer:
        for more, further in inner:
            source, start = rows[row + more], place + further
            is_there = source is not None and start >= 0
            made.append(source[start:][:elements] if is_there and source is not None else np.full(elements, -77, dtype))
    return np.concatenate(made)


@pytest.mark.parametrize("build", [_BUILDS[0], _BUILDS[4]] if not IS_EXHAUSTIVE else _BUILDS, ids=" ".join)
def test_runs_of_every_length_are_gathered(build: tuple[str, str, str]) -> None:
    """Runs of one byte to some hundreds from several rows; runs of a null row, and before a row's beginning, are filled."""
    kernels = _kernels(build)
    draw = np.random.default_rng(0)
    inner = [(0, 3), (1, 0), (0, _FILLED), (1, 5), (0, 0)]
    outer = [(0, 2), (1, 0), (0, 9)]
    for dtype in _TYPES:
        rows: list[Array | None] = [draw.integers(-128, 128, _FIELD).astype(dtype.numpy) for _ in range(2)]
        for elements in _LENGTHS:
            bench = Bench(kernels, np.random.default_rng(elements))
            call = _call(dtype, outer, inner, elements)
            places = [bench.place(f"row {k}", row) for k, row in enumerate(rows) if row is not None]
            size = len(outer) * len(inner) * elements
            output = bench.place("output", np.zeros(size, dtype.numpy), writable=True)
            bench.call(call.kernel, output, bench.rows([*places, 0]), bench.params(call), 0)
            found = bench.read(output, size * dtype.size_bytes).view(dtype.numpy)
            np.testing.assert_array_equal(found, _expected([*rows, None], outer, inner, elements))


@pytest.mark.parametrize("build", _BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def test_run_over_itself_is_as_if_it_had_been_read_before(build: tuple[str, str, str]) -> None:
    """The output begins before the input, after it or at it, however near."""
    kernels = _kernels(build)
    data = np.random.default_rng(0).integers(-128, 128, 2 * _FIELD).astype(np.int8)
    for elements in _LENGTHS:
        bench = Bench(kernels, np.random.default_rng(0))
        call = _call(DType.S8, [(0, 0)], [(0, 0)], elements)
        params, place, rows = bench.params(call), bench.place("data", data, writable=True), bench.rows([0])
        bench.write_rows(rows, [place + _FIELD])
        for distance in (-17, -16, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 15, 16, 17):
            bench.write(place, data)
            bench.call(call.kernel, place + _FIELD + distance, rows, params, 0)
            expected = data.copy()
            expected[_FIELD + distance :][:elements] = data[_FIELD:][:elements]
            np.testing.assert_array_equal(bench.read(place, len(data)), expected)


def _repeated(outer: list[tuple[int, int]], runs: int, repeats: int, elements: int, first: int = 0) -> KernelCall:
    """The packed call of rows of runs, each repeated."""
    inner = [(0, first + k // repeats * elements) for k in range(runs * repeats)]
    call = _call(DType.S8, outer, inner, elements)
    reads = [(place + more, (number * runs * repeats + k) * elements)
             for number, (_, place) in enumerate(outer) for k, (_, more) in enumerate(inner)]  # fmt: skip
    packed = REPEATED_RUNS.pack(KernelCall(call.kernel, call.params, inplace_distance_bytes=(least_distance(reads),)))
    assert packed is not None
    return packed


def _check_repeated(kernels: Kernels, runs: int, repeats: int, elements: int) -> None:
    bench, draw = Bench(kernels, np.random.default_rng(elements * runs)), np.random.default_rng(0)
    rows = [draw.integers(-128, 128, runs * elements + offset).astype(np.int8) for offset in (3, 0)]
    call = _repeated([(0, 3), (2, 0), (1, 0)], runs, repeats, elements)
    places = [bench.place(f"row {k}", row) for k, row in enumerate(rows)]
    size = 3 * runs * repeats * elements
    output = bench.place("output", np.zeros(size, np.int8), writable=True)
    bench.call(call.kernel, output, bench.rows([*places, 0]), bench.params(call), 0)
    first, last = (np.repeat(row[-runs * elements :].reshape(runs, elements), repeats, axis=0) for row in rows)
    expected = np.concatenate([first, np.full_like(first, -77), last]).reshape(-1)
    np.testing.assert_array_equal(bench.read(output, size), expected)


@pytest.mark.parametrize("build", _BUILDS if IS_EXHAUSTIVE else [_BUILDS[0], _BUILDS[4]], ids=" ".join)
def test_runs_are_repeated(build: tuple[str, str, str]) -> None:
    """Runs of one to 32 bytes, few and many, twice and more often, from several rows; runs of a null row are filled."""
    kernels = _kernels(build)
    for elements in (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 19, 25, 32):
        for runs, repeats in ((1, 2), (2, 2), (3, 3), (6, 2), (9, 2), (7, 5)):
            _check_repeated(kernels, runs, repeats, elements)


@pytest.mark.parametrize(("repeats", "elements"), [(2, 3), (2, 17), (3, 3)])
def test_part_that_repeated_runs_need_is_enough(repeats: int, elements: int) -> None:
    """Other parts are left out of the library."""
    call = _repeated([(0, 0)], 4, repeats, elements)
    _check_repeated(linked((call.kernel,), "cortex-m4", "zig", "s", call.features), 6, repeats, elements)


@pytest.mark.parametrize("build", _BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def test_repeated_runs_may_be_written_over_from_the_declared_distance_on(build: tuple[str, str, str]) -> None:
    """The output begins so far below the input that no run is written over before it is read."""
    kernels = _kernels(build)
    for elements in (1, 2, 3, 4, 6, 16, 31):
        for runs, repeats in ((2, 2), (5, 2), (4, 3)):
            call = _repeated([(0, 2)], runs, repeats, elements)
            (distance,) = call.inplace_distance_bytes
            assert distance is not None
            for further in (0, 1, 5):
                bench = Bench(kernels, np.random.default_rng(elements))
                data = np.random.default_rng(0).integers(-128, 128, 2048).astype(np.int8)
                place = bench.place("data", data, writable=True)
                row = 1024 + further
                bench.call(
                    call.kernel, place + row - distance - further, bench.rows([place + row]), bench.params(call), 0
                )
                source = data[row + 2 :][: runs * elements].reshape(runs, elements)
                wanted = np.repeat(source, repeats, axis=0).reshape(-1)
                expected = data.copy()
                expected[row - distance - further :][: len(wanted)] = wanted
                np.testing.assert_array_equal(bench.read(place, len(data)), expected)


@pytest.mark.parametrize(
    ("inner", "elements"),
    [
        ([(0, 0), (0, 3), (0, 6)], 3), ([(0, 0), (0, 0), (0, 3), (0, 6)], 3), ([(0, 0), (0, 0), (0, 6), (0, 6)], 3),
        ([(0, 0), (0, 0), (1, 3), (1, 3)], 3), ([(0, 0), (0, 0)], 33), ([(0, 3), (0, 3), (0, 0), (0, 0)], 3),
    ],
)  # fmt: skip
def test_other_runs_are_refused(inner: list[tuple[int, int]], elements: int) -> None:
    """Runs that are not repeated, not equally often, not neighbours, of several rows, long, or in another order."""
    assert REPEATED_RUNS.pack(_call(DType.S8, [(0, 0)], inner, elements)) is None


@pytest.mark.parametrize(("channels", "most"), [(1, 5.5), (3, 1.95), (4, 1.2), (16, 0.85), (32, 0.61), (64, 0.95)])
def test_pixels_written_twice_take_few_instructions(channels: int, most: float) -> None:
    """For each byte of a row that is made twice as wide, everything counted."""
    kernels = _kernels(_BUILDS[0])
    call = _call(DType.S8, [(0, 0)], [(0, pixel // 2 * channels) for pixel in range(24)], channels)
    call = REPEATED_RUNS.pack(call) or call
    bench = Bench(kernels, np.random.default_rng(0))
    rows = bench.rows([bench.place("input", np.ones(12 * channels, np.int8))])
    output = bench.place("output", np.zeros(24 * channels, np.int8), writable=True)
    taken = bench.call(call.kernel, output, rows, bench.params(call), 0)
    assert taken < most * 24 * channels
