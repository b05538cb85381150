"""Functions of one byte by table, four elements at once."""

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.on_core import ARMV7EM, Case, KernelOnCore
from tests.support.amount import sample

_BUILDS = (("cortex-m4", "zig", "s"), ("cortex-m4", "gcc", "2"), ("cortex-m33", "zig", "2"))
_LENGTHS = (1, 2, 3, 4, 5, 7, 8, 255, 256)


@pytest.mark.parametrize(("name", "compiler", "level"), sample(_BUILDS))
@pytest.mark.parametrize("at_end", [False, True])
def test_every_element_is_looked_up(name: str, compiler: str, level: str, at_end: bool, tmp_path: Path) -> None:
    """Rows of any length at any address, all 256 elements in at most 4 instructions for each."""
    kernel = KernelOnCore("kibi_table_s8", ARMV7EM, tmp_path, name=name, compiler=compiler, level=level)
    rng = np.random.default_rng(0)
    for count in _LENGTHS:
        table, row = (rng.permutation(np.arange(-128, 128)).astype(np.int8) for _ in range(2))
        case = Case({"table": table, "elements": count}, [[0]], [row[:count]], count, at_end=at_end)
        assert kernel.run(case) == table[row[:count].astype(int) + 128].tobytes(), count
    assert kernel.instructions < 4 * _LENGTHS[-1]
