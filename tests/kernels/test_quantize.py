"""QUANTIZE from f32 to s8 by the processor's own conversion gives the portable kernel's bytes; from s16 it is quick."""

from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array
from kibi.quant import requantize
from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore
from tests.support.amount import sample
from tests.toolchain.tools import check_cross

_KERNEL = "kibi_quantize_f32_s8"
_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_SCALES = ((0.25, 3), (0.0471, -128), (0.1, 127), (1e-38, 0), (1e38, -5))
_ALIGNED = np.zeros(3, np.int8)
"""Comes before a row, so that it begins at a multiple of four."""


def _values(scale: float) -> Array:
    """Drawn ones; halves of the scale with their neighbours; what is very large, very small, or no number."""
    rng = np.random.default_rng(0)
    special = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0, -0.0, 1e-40, -1e-40])
    with np.errstate(over="ignore"):
        halves = (np.arange(-600, 600) * 0.5 * scale).astype(np.float32)
        drawn = (rng.normal(0, 60, 1000) * scale).astype(np.float32)
    found = np.concatenate([drawn, halves, special.astype(np.float32)])
    infinite = np.float32(np.inf)
    return np.concatenate([found, np.nextafter(found, infinite), np.nextafter(found, -infinite)])


@pytest.mark.parametrize(("name", "compiler", "level"), sample(_BUILDS))
def test_every_kind_of_float_gives_the_portable_byte(name: str, compiler: str, level: str, tmp_path: Path) -> None:
    """Halves of both signs, their neighbours, infinities, NaN and subnormal numbers, in at most 11.5 instructions for each."""
    own = KernelOnCore(_KERNEL, ARMV7EM, tmp_path / "own", name=name, compiler=compiler, level=level)
    plain = KernelOnCore(_KERNEL, PORTABLE, tmp_path / "plain", name=name)
    for scale, zero_point in _SCALES:
        values = _values(scale)
        params: dict[str, int | Array] = {"elements": len(values), "zero_point": zero_point}
        case = Case({**params, "scale": scale}, [[1]], [_ALIGNED, values], len(values))  # type: ignore[dict-item]
        assert own.run(case) == plain.run(case), (scale, zero_point)
        assert own.instructions < 11.5 * len(values)


@pytest.mark.parametrize(("name", "most"), [("cortex-m4", 10.1), ("cortex-m3", 23.3)])
def test_integers_take_few_instructions(name: str, most: float, tmp_path: Path) -> None:
    """Parameters are not read again for each element, though the compiler must fear that outputs overwrite the struct."""
    kernel = KernelOnCore("kibi_quantize_s16_s8", ARMV7EM if name == "cortex-m4" else PORTABLE, tmp_path, name=name)
    values = np.arange(-300, 300).astype(np.int16)
    params = {"elements": len(values), "zero_point": 3, "output_zero_point": -5, "multiplier": 3 << 29, "shift": -2}
    found = kernel.run(Case(params, [[0]], [values], len(values)))
    scaled = requantize(values.astype(np.int32) - 3, np.int32(3 << 29), np.int32(-2)).astype(np.int64)
    np.testing.assert_array_equal(np.frombuffer(found, np.int8), np.clip(scaled - 5, -128, 127).astype(np.int8))
    assert kernel.instructions < most * len(values)


@pytest.mark.parametrize("compiler", ["zig", "gcc"])
def test_integers_of_every_scale_give_the_portable_byte(compiler: str, tmp_path: Path) -> None:
    """All int16 at shifts to both sides, multipliers and zero points at the ends of their ranges."""
    if compiler == "gcc":
        check_cross()
    sets = {"own": ARMV7EM, "plain": PORTABLE}
    own, plain = (
        KernelOnCore("kibi_quantize_s16_s8", each, tmp_path / name, compiler=compiler) for name, each in sets.items()
    )
    values = np.arange(-32768, 32768, 7).astype(np.int16)
    for multiplier in (0, 1, 1 << 30, (1 << 31) - 1, 1518500250):
        for shift in (-31, -17, -8, -1, 0, 3):
            for zero_point, output_zero_point in ((0, 0), (-32768, 127), (32767, -128)):
                params = {
                    "elements": len(values), "zero_point": zero_point, "output_zero_point": output_zero_point,
                    "multiplier": multiplier, "shift": shift,
                }  # fmt: skip
                case = Case(params, [[0]], [values], len(values))
                assert own.run(case) == plain.run(case), params
