"""The roundings in C against the same in Python."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from kibi.kernels import kernel_folder
from kibi.quant import (
    requantize,
    requantize_wide,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)
from kibi.toolchain import build_program
from tests.quant.boundaries import TRIPLES
from tests.toolchain.tools import check_gcc


@pytest.mark.parametrize("kernel_set", ["portable", "armv6m", "riscv"])
@pytest.mark.parametrize(("compiler", "level"), [("zig", "2"), ("gcc", "1")])
def test_requantize_in_c_every_boundary_equals_python(
    compiler: str, level: str, kernel_set: str, tmp_path: Path
) -> None:
    """At all boundaries the C roundings give Python's bits, and do nothing undefined."""
    if compiler == "gcc":
        check_gcc()
    source = Path(__file__).with_name("requantize_check.c")
    for name in (
        "portable",
        kernel_set,
    ):  # one folder, as in libraries: headers include those of their own folder first
        for path in kernel_folder(name).glob("*.h"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    program = build_program([source], compiler=compiler, level=level, sanitize=True, includes=[tmp_path])
    triples = np.array(TRIPLES, np.int32)
    done = subprocess.run([str(program)], input=triples.tobytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    found = np.frombuffer(done.stdout, np.int32).reshape(-1, 4)
    acc, multiplier, shift = triples.T
    np.testing.assert_array_equal(found[:, 0], requantize(acc, multiplier, shift))
    np.testing.assert_array_equal(found[:, 1], saturating_rounding_doubling_high_multiply(acc, multiplier))
    np.testing.assert_array_equal(found[:, 2], rounding_divide_by_power_of_two(acc, np.abs(shift)))
    wide = requantize_wide(acc.astype(np.int64) * 0xFFFF, multiplier, np.minimum(shift, 7))
    np.testing.assert_array_equal(found[:, 3], wide)
