"""`kibi demo` tells the whole story on the shipped model."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kibi


def test_demo_ends_in_one_table_with_the_same_bits(kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It loads, plans, runs, compiles and measures, and leaves nothing where it was started."""
    monkeypatch.chdir(tmp_path)
    done = kibi("demo")
    assert (done.code, done.err) == (0, "")
    for text in ("1  Load", "2  Plan", "3  Run", "4  Compile", "5  Measure", "peak ", "are read right"):
        assert text in done.out
    table = {line[:12].strip(): line[12:].split() for line in done.out.splitlines()[-12:]}
    for figure in ("arena", "state", "stack", "code", "weights", "instructions"):
        assert int(table[figure][0].replace(",", "")) > 0
    assert table["time"][1:] == ["ms", "at", "120", "MHz", "(estimate,", "zero", "wait", "states)"]
    assert " ".join(table["same bits"]).startswith("yes from Python, host C")
    assert (
        done.out.lower().count("addresses go up") == done.out.lower().count("addresses go") == 1
    )  # the axes are those of the picture
    assert "goes down" not in done.out
    assert list(tmp_path.iterdir()) == []
    assert done.out.isascii()


@pytest.mark.slow
def test_demo_with_output_keeps_the_library(kibi: Kibi, tmp_path: Path) -> None:
    """The folder is named at the end; the time of a core without a table of its own says whose it is."""
    done = kibi("demo", "--output", tmp_path / "demo", "--target", "cortex-m33")
    assert done.code == 0
    assert (tmp_path / "demo" / "glyphs.h").is_file()
    assert f"The C library is in {tmp_path / 'demo'}." in done.out
    assert "(estimate, by the Cortex-M4's table, zero wait states)" in done.out


def test_demo_on_the_host_is_refused(kibi: Kibi) -> None:
    """There is nothing to emulate."""
    assert kibi("demo", "--target", "host").code == 6
