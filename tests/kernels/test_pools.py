"""Poolings and means of four channels at once: the arithmetic that replaces divisions, and what a pixel takes."""

from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.support.amount import sample
from tests.toolchain.tools import check_cross

_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_MEANS = 60
_MOST = 256
"""Elements of a window whose sums fit 16 bits."""


def _bytes(rng: np.random.Generator, count: int) -> Array:
    return rng.integers(-128, 128, count).astype(np.int8)


def test_factor_gives_the_quotient_of_every_sum() -> None:
    """Rule N51: all sums of up to 256 bytes, halves of both signs among them."""
    for count in range(1, _MOST + 1):
        sums = np.arange(-128 * count, 127 * count + 1, dtype=np.int64)
        factor = (1 << 28) // count + 1
        assert factor < 1 << 31
        found = ((sums * factor >> 16) + (1 << 11)) >> 12
        np.testing.assert_array_equal(found, np.sign(sums) * ((np.abs(sums) + count // 2) // count))


def _pool(width: int, rows: int, channels: int, inputs: list[Array]) -> Case:
    """One window over all."""
    params: dict[str, int | Array] = {
        "input_width": width, "channels": channels, "kernel_width": width, "stride": 1, "pad": 0, "output_width": 1,
        "activation_min": -128, "activation_max": 127, "kernel_rows": rows,
    }  # fmt: skip
    return Case(params, [range(rows)], inputs, channels)


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (2, 2), (3, 3), (4, 7), (16, 16), (257, 1), (19, 14)])
def test_averages_of_every_sign_and_half_are_those_of_the_portable_kernel(
    size: tuple[int, int], tmp_path: Path
) -> None:
    """Sums around each half between two means, and the largest ones; larger windows are divided."""
    own, plain = (KernelOnCore("kibi_average_pool2d_s8", sets, tmp_path / sets[0]) for sets in (ARMV7EM, PORTABLE))
    (width, rows), rng, channels = size, np.random.default_rng(2), 23
    count = width * rows
    for turn in range(8):
        # Channel by channel a mean, one half more or less, one element more or less.
        wanted = (
            rng.integers(-128, 128, channels) * count
            + rng.integers(-1, 2, channels)
            + rng.choice([0, 1, -1]) * count // 2
        )
        wanted = np.clip(wanted, -128 * count, 127 * count)
        if turn == 0:
            wanted[:2] = -128 * count, 127 * count
        each, more = np.divmod(wanted, count)
        elements = each + (np.arange(count)[:, None] < more)
        inputs = list(elements.astype(np.int8).reshape(rows, -1))
        case = _pool(width, rows, channels, inputs)
        assert own.run(case) == plain.run(case)


def _mean(rng: np.random.Generator) -> Case:
    """A mean over the columns and rows of an image, or over any other axes."""
    rows, width, channels = int(rng.integers(1, 4)), int(rng.choice([1, 2, 5, 9, 300])), int(rng.integers(1, 22))
    steps = ((0, 1), (0, 1), (1, 0), (0, 0), (channels, 1))[rng.integers(5)]
    elements = 1 + (width - 1) * steps[0] + (channels - 1) * steps[1]
    params: dict[str, int | Array] = {
        "size1": rows, "size2": width, "size3": channels, "step0": 0, "step1": 0, "step2": steps[0], "step3": steps[1],
        "steps": rows, "output_elements": elements, "start": int(rng.integers(-1 << 31, 1 << 31)) >> int(rng.integers(32)),
        "output_zero_point": int(rng.integers(-128, 128)), "multiplier": int(rng.integers(1 << 30, 1 << 31)),
        "shift": int(rng.integers(-12, 3)),
    }  # fmt: skip
    inputs = [_bytes(rng, width * channels) for _ in range(rows)]
    lines = [[row] for row in range(rows)]
    return Case(params, lines, inputs, elements, 4 * elements, at_end=bool(rng.integers(2)), steps=rows)


@pytest.mark.parametrize(("name", "compiler", "level"), sample(_BUILDS))
def test_means_of_any_axes_are_those_of_the_portable_kernel(
    name: str, compiler: str, level: str, tmp_path: Path
) -> None:
    """Channels of any number, columns beyond what 16 bits hold, sums that wrap."""
    own = KernelOnCore("kibi_mean_s8", ARMV7EM, tmp_path / "own", name=name, compiler=compiler, level=level)
    plain = KernelOnCore("kibi_mean_s8", PORTABLE, tmp_path / "plain", name=name)
    rng = np.random.default_rng(0)
    for _ in range(_MEANS):
        case = _mean(rng)
        assert own.run(case) == plain.run(case), case


@pytest.mark.parametrize(("kernel", "most"), [("kibi_max_pool2d_s8", 5.5), ("kibi_average_pool2d_s8", 9.5)])
def test_windows_of_two_by_two_take_few_instructions(kernel: str, most: float, tmp_path: Path) -> None:
    """For each output of 64 channels."""
    own, rng, width, channels = KernelOnCore(kernel, ARMV7EM, tmp_path), np.random.default_rng(0), 8, 64
    case = _pool(2, 2, channels, [_bytes(rng, width * channels) for _ in range(2)])
    own.run(
        Case(
            {**case.params, "input_width": width, "stride": 2, "output_width": 4}, case.rows, case.inputs, 4 * channels
        )
    )
    assert own.instructions < most * 4 * channels


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_averages_of_halfwords_are_those_of_the_portable_kernel(compiler: str, tmp_path: Path) -> None:
    """Windows at both edges, with rows that are outside; even and odd channels; in few instructions, 2 x 2 of 64 channels."""
    if compiler == "gcc":
        check_cross()
    sets = {"own": ARMV7EM, "plain": PORTABLE}
    own, plain = (
        KernelOnCore("kibi_average_pool2d_s16", each, tmp_path / name, compiler=compiler) for name, each in sets.items()
    )
    rng = np.random.default_rng(0)
    for channels, kernel, rows, stride, pad in (
        (1, 3, 3, 2, 1),
        (2, 5, 1, 1, 4),
        (7, 2, 2, 2, 0),
        (64, 2, 2, 2, 0),
        (5, 3, 4, 3, 2),
    ):
        width = 8
        count = (width + pad - 1) // stride
        params: dict[str, int | Array] = {
            "input_width": width, "channels": channels, "kernel_width": kernel, "stride": stride, "pad": pad,
            "output_width": count, "activation_min": -20000, "activation_max": 30000, "kernel_rows": rows,
        }  # fmt: skip
        inputs: list[Array] = [rng.integers(-32768, 32768, width * channels).astype(np.int16) for _ in range(rows)]
        case = Case(params, [range(rows)], inputs, 2 * count * channels)
        assert own.run(case) == plain.run(case), params
        if channels == 64 and compiler == "zig":
            assert own.instructions < 34 * count * channels < 0.55 * plain.instructions
