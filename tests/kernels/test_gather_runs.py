"""Rows put together from runs, on an emulated core: runs of every length, filled ones, and runs over their own copies."""

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall
from tests.kernels.emulated import Bench, Kernels, linked
from tests.support.amount import IS_EXHAUSTIVE
from tests.toolchain.tools import check_cross

_KERNELS = ("kibi_gather_runs_s8", "kibi_gather_runs_s16", "kibi_gather_runs_f32", "kibi_gather_runs_any")
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


@pytest.mark.parametrize(("channels", "most"), [(1, 25), (3, 9), (16, 1.85), (64, 0.95)])
def test_pixels_written_twice_take_few_instructions(channels: int, most: float) -> None:
    """For each byte of a row that is made twice as wide, everything counted."""
    kernels = _kernels(_BUILDS[0])
    call = _call(DType.S8, [(0, 0)], [(0, pixel // 2 * channels) for pixel in range(24)], channels)
    bench = Bench(kernels, np.random.default_rng(0))
    rows = bench.rows([bench.place("input", np.ones(12 * channels, np.int8))])
    output = bench.place("output", np.zeros(24 * channels, np.int8), writable=True)
    taken = bench.call(call.kernel, output, rows, bench.params(call), 0)
    assert taken < most * 24 * channels
