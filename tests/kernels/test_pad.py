"""PAD of int8 on Armv7E-M gives the portable kernel's bytes, in few instructions."""

from pathlib import Path

import numpy as np

from tests.kernels.on_core import ARMV7EM, PORTABLE, Case, KernelOnCore

_KERNEL = "kibi_pad_s8"
_DRAWN = 24


def test_drawn_paddings_give_the_portable_bytes(tmp_path: Path) -> None:
    """Columns and channels on both sides, of rows in pieces; at odd addresses and at the ends of memory."""
    rng = np.random.default_rng(0)
    fast, plain = (KernelOnCore(_KERNEL, sets, tmp_path / sets[0]) for sets in (ARMV7EM, PORTABLE))
    for number in range(_DRAWN):
        pieces, width, channels = (int(rng.integers(1, most)) for most in (4, 6, 12))
        around = {
            name: int(rng.integers(0, most))
            for name, most in (("before_width", 3), ("after_width", 3), ("before_channels", 7))
        }
        after = 0 if number % 3 else int(rng.integers(1, 10))
        params = {
            "pieces": pieces, "width": width, "channels": channels, **around, "after_channels": after,
            "value": int(rng.integers(-128, 128)),
        }  # fmt: skip
        size = (sum(params[name] for name in ("before_width", "after_width")) + pieces * width) * (
            params["before_channels"] + channels + after
        )
        rows = [rng.integers(-128, 128, width * channels).astype(np.int8) for _ in range(pieces)]
        case = Case(params, [list(range(pieces))], rows, size, at_end=number % 2 == 0)
        assert fast.run(case) == plain.run(case), params


def test_channels_take_two_instructions_an_element(tmp_path: Path) -> None:
    """Four channels after 28 of each of 64 columns."""
    core, row = KernelOnCore(_KERNEL, ARMV7EM, tmp_path), np.arange(64 * 28).astype(np.int8)
    params = {
        "pieces": 1, "width": 64, "channels": 28, "before_width": 0, "after_width": 0, "before_channels": 0,
        "after_channels": 4, "value": 5,
    }  # fmt: skip
    found = core.run(Case(params, [[0]], [row, np.zeros(1, np.int8)], 64 * 32))
    assert (np.frombuffer(found, np.int8).reshape(64, 32)[:, :28] == row.reshape(64, 28)).all()
    assert core.instructions < 2.1 * 64 * 32
