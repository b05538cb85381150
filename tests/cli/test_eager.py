"""`kibi eager` writes the C library for programs by hand, which builds and runs its example."""

import json
import subprocess
from pathlib import Path

from kibi.eager_c.sources import operators
from kibi.toolchain import build_program
from tests.cli.conftest import Kibi
from tests.toolchain.tools import check_gcc


def test_library_is_written_and_its_example_runs(kibi: Kibi, tmp_path: Path) -> None:
    """With the operators that were named, and those files only."""
    done = kibi("eager", "--output", str(tmp_path / "lib"), "--operator", "relu", "--target", "host")
    assert done.code == 0, done.err
    assert "operators  relu" in done.out
    names = {path.name for path in (tmp_path / "lib").iterdir()}
    assert {"kibi_operators.h", "kibi_op_unary.c", "CMakeLists.txt", "LICENSE", "example_main.c"} <= names
    assert "kibi_op_conv2d.c" not in names
    check_gcc()
    sources = sorted((tmp_path / "lib").rglob("*.c"))
    program = build_program(sources, compiler="gcc", level="0", includes=[tmp_path / "lib"], sanitize=True)
    told = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert (told.returncode, told.stderr) == (0, "")
    assert (
        told.stdout == "error 5db0caad: out of memory\nthe last element of tensor 3 is 13, at byte 128 of the arena\n"
    )


def test_json_lists_all_operators_without_a_choice(kibi: Kibi, tmp_path: Path) -> None:
    """A second run leaves nothing of the first behind."""
    for more in ((), ("--operator", "add")):
        done = kibi("eager", "--output", str(tmp_path), "--json", *more)
        assert json.loads(done.out)["operators"] == (["add"] if more else list(operators()))
    assert not (tmp_path / "kibi_op_conv2d.c").exists()


def test_unknown_operator_is_told_with_those_that_exist(kibi: Kibi, tmp_path: Path) -> None:
    """And nothing is written."""
    done = kibi("eager", "--output", str(tmp_path / "lib"), "--operator", "conv9")
    assert done.code == 4
    assert "conv9. There are add, add_u8, arg_max" in done.err
    assert not (tmp_path / "lib").exists()
