"""`kibi measure --serial` and `--serial-program`: a board that no debugger reaches, and options that do not fit."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.debugger.qemu import needs_qemu
from tests.engines.networks import residual_bytes
from tests.serial_line.firmware import MPS2, built, running


@pytest.mark.slow
@needs_qemu
def test_program_that_is_built_in_gives_the_same_bits_and_takes_the_same_stack(kibi: Kibi, tmp_path: Path) -> None:
    """One command writes the program, and the other asks it. Another model's program is told, with what to do."""
    pytest.importorskip("serial", reason="pyserial is not installed")
    (tmp_path / "residual.tflite").write_bytes(residual_bytes(4, 3, 2))
    (tmp_path / "other.tflite").write_bytes(residual_bytes(4, 3, 3))
    options = ("--board", "mps2-an385", "--no-oracle")
    written = kibi("measure", tmp_path / "residual.tflite", *options, "--serial-program", tmp_path / "program")
    assert written.code == 0
    assert f"program  in {tmp_path / 'program'}" in written.out
    assert "kibi_serial_get" in written.out
    elf = built(tmp_path / "program", "cortex-m3", MPS2)
    with running(MPS2, elf) as url:
        record = kibi("measure", tmp_path / "residual.tflite", *options, "--serial", url, "--json").record
    run = record["board_run"]
    assert (run["bit_exact"], run["stack_bytes"]) == (True, record["stack_bytes"])
    assert (run["server"], run["loaded_into"], run["core"][:9]) == (url, "firmware", "Cortex-M3")
    assert (run["cycles"], run["ops"]) == (None, [])
    assert "no cycle counter that counts" in run["uncounted"]
    with running(MPS2, elf) as url:
        other = kibi("measure", tmp_path / "other.tflite", *options, "--serial", url)
    assert (other.code, other.out) == (17, "")
    assert "has another library than this model" in other.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--serial", "/dev/ttyACM0"), "--serial is for a --board"),
        (("--serial-program", "never-written"), "--serial-program is for a --board"),
        (("--board", "rp2040", "--serial", ""), "Give PORT or PORT:BAUD"),
        (("--board", "rp2040", "--serial", "COM3:0"), "at 1 to 100,000,000 baud, not at 0"),
        (("--board", "rp2040", "--serial", "COM3", "--gdb", "localhost:1"), "Leave it or --gdb out"),
        (("--board", "rp2040", "--serial", "COM3", "--format", "plan"), "--serial is for C"),
    ],
    ids=["no-board", "no-board-program", "no-port", "no-baud", "gdb", "plan"],
)
def test_options_that_do_not_fit_are_refused(kibi: Kibi, glyphs: Path, options: tuple[str, ...], problem: str) -> None:
    """Before anything is measured."""
    done = kibi("measure", glyphs, *options)
    assert (done.code, done.out) == (4, "")
    assert problem in done.err


def test_library_that_is_missing_is_named_with_its_extra(
    kibi: Kibi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is reported without the board's figures."""
    (tmp_path / "residual.tflite").write_bytes(residual_bytes(4, 3, 2))
    monkeypatch.setitem(sys.modules, "serial", None)
    done = kibi("measure", tmp_path / "residual.tflite", "--board", "rp2040", "--no-oracle", "--serial", "COM3")
    assert done.out == ""
    assert "pip install 'kibi[serial]'" in done.err


def test_port_that_does_not_open_is_told(kibi: Kibi, tmp_path: Path) -> None:
    """With what to look at."""
    pytest.importorskip("serial", reason="pyserial is not installed")
    (tmp_path / "residual.tflite").write_bytes(residual_bytes(4, 3, 2))
    given = ("measure", tmp_path / "residual.tflite", "--board", "rp2040", "--no-oracle", "--serial")
    for port in (tmp_path / "none:9600", "unknown://port", "socket://127.0.0.1:1"):
        done = kibi(*given, port)
        assert (done.code, done.out) == (17, "")
        assert "cannot open the serial port" in done.err
