"""Copies of bytes on an emulated core are as if all bytes had been read before the first is written."""

from pathlib import Path

import numpy as np
import pytest

from kibi.ir import KernelCall
from tests.kernels.emulated import Bench, linked
from tests.kernels.on_core import ARMV7EM, Case, KernelOnCore
from tests.support.amount import sample
from tests.toolchain.tools import check_cross

_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_KERNEL = "kibi_copy_any"
_SIZES = (1, 3, 4, 5, 15, 16, 17, 31, 32, 36, 70)
_DISTANCES = (-33, -17, -16, -5, -4, -3, -1, 0, 1, 3, 4, 5, 15, 16, 17, 33)
_FIELD = 160
_MIDDLE = 44
"""Where the input begins, in bytes from an aligned address."""


@pytest.mark.parametrize(("target", "compiler", "level"), sample(_BUILDS))
def test_copy_over_itself_is_as_if_it_had_been_read_before(target: str, compiler: str, level: str) -> None:
    """The output begins before the input, after it or at it, however near, at aligned addresses and at others."""
    if compiler == "gcc":
        check_cross()
    kernels = linked((_KERNEL,), target, compiler, level)
    data = np.random.default_rng(0).integers(0, 1 << 24, _FIELD // 4).astype(np.int32)
    for size in _SIZES:
        call, bench = KernelCall.of(_KERNEL, {"pieces": 1, "bytes": size}), Bench(kernels, np.random.default_rng(0))
        params, place = bench.params(call), bench.place("data", data, writable=True)
        rows = bench.rows([0])
        for distance in _DISTANCES:
            for start in (_MIDDLE, _MIDDLE + 1):
                bench.write(place, data)
                bench.write_rows(rows, [place + start])
                bench.call(_KERNEL, place + start + distance, rows, params, 0)
                expected = data.view(np.int8).copy()
                expected[start + distance :][:size] = data.view(np.int8)[start:][:size]
                np.testing.assert_array_equal(bench.read(place, _FIELD), expected)


@pytest.mark.parametrize(("size", "after", "most"), [(959, 2, 0.2), (959, 0, 1.1), (23, 2, 2.4)])
def test_bytes_take_few_instructions(size: int, after: int, most: float, tmp_path: Path) -> None:
    """A row at an aligned address, one at an odd address, and a short one."""
    kernel = KernelOnCore(_KERNEL, ARMV7EM, tmp_path)
    row = np.random.default_rng(0).integers(-128, 128, size).astype(np.int8)
    case = Case({"pieces": 1, "bytes": size}, [[0]], [row, np.zeros(after, np.int8)], size, at_end=True)
    assert kernel.run(case) == row.tobytes()
    assert kernel.instructions < most * size


@pytest.mark.parametrize(("target", "compiler", "level"), sample(_BUILDS))
def test_pieces_that_follow_one_another_are_copied_as_one(target: str, compiler: str, level: str) -> None:
    """Pieces side by side, one that is elsewhere, and the same one twice; over themselves, too."""
    if compiler == "gcc":
        check_cross()
    kernels = linked(("kibi_copy_s8",), target, compiler, level)
    data = np.random.default_rng(0).integers(-128, 128, 1400).astype(np.int8)
    places = [*range(0, 540, 20), 600, 640, 640, 660]
    expected = np.concatenate([data[place : place + 20] for place in places])
    bench = Bench(kernels, np.random.default_rng(0))
    place = bench.place("data", data, writable=True)
    params = bench.params(KernelCall.of("kibi_copy_s8", {"pieces": len(places), "elements": 20}))
    rows = bench.rows([place + each for each in places])
    taken = bench.call("kibi_copy_s8", place + 700, rows, params, 0)
    assert taken < 1.6 * len(expected)
    np.testing.assert_array_equal(bench.read(place + 700, len(expected)), expected)
    bench.call("kibi_copy_s8", place + 100, bench.rows([place + 120, place + 140, place + 160]), bench.params(
        KernelCall.of("kibi_copy_s8", {"pieces": 3, "elements": 20})
    ), 0)  # fmt: skip
    np.testing.assert_array_equal(bench.read(place + 100, 60), data[120:180])
