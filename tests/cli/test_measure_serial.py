"""`kibi measure --serial` and `--serial-program`: a board that no debugger reaches, and options that do not fit."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.debugger.qemu import needs_qemu, needs_riscv
from tests.engines.networks import residual_bytes
from tests.serial_line.firmware import MPS2, VIRT, built, running


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


VIRT_BOARD = """
[[board]]
name = "virt"
core = "rv32imac"
clock_hz = 100_000_000
ram = [{ name = "dram", bytes = 1_048_576 }]
flash_bytes = 1_048_576
"""


@needs_riscv
def test_tuned_over_a_serial_line_the_cycles_of_the_board_decide(kibi: Kibi, tmp_path: Path) -> None:
    """One program has the model with each kernel; its cycles are those of the emulated core but for the call of a function."""
    pytest.importorskip("serial", reason="pyserial is not installed")
    (tmp_path / "virt.toml").write_text(VIRT_BOARD)
    (tmp_path / "residual.tflite").write_bytes(residual_bytes(4, 3, 2))
    given = ("compile", tmp_path / "residual.tflite", "--board", tmp_path / "virt.toml", "--tune")
    written = kibi(*given, "-o", tmp_path / "one", "--serial-program", tmp_path / "program")
    assert written.code == 0
    assert "Then: kibi compile with the same options, and --serial PORT" in written.out
    with running(VIRT, built(tmp_path / "program", "rv32imac", VIRT)) as url:
        layers = kibi(*given, "-o", tmp_path / "two", "--serial", url, "--json").record["tuning"][0]
        assert len(layers) > 1
    for layer in layers:
        assert len(layer["candidates"]) > 1
        assert all(0 <= each["instructions"] - each["board_cycles"] <= 30 for each in layer["candidates"])
        cycles = {each["kernel"]: each["board_cycles"] for each in layer["candidates"]}
        assert cycles[layer["kernel"]] == min(cycles.values())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--board", "rp2040", "--serial", "COM3"), "--serial is for --tune, which counts on the board"),
        (("--board", "rp2040", "--serial-program", "never-written"), "--serial-program is for --tune"),
        (("--tune", "--serial", "COM3"), "--serial is for a --board"),
        (("--tune", "--board", "rp2040", "--serial", "COM3", "--gdb", "localhost:1"), "Leave it or --gdb out"),
        (
            ("--tune", "--board", "rp2040", "--serial", "COM3", "--goal", "flash"),
            "bytes decide which kernel runs a layer",
        ),
        (("--tune", "--board", "rp2040", "--serial", "COM3", "{model}"), "--serial is for one model; 2 were given"),
    ],
    ids=["no-tune", "no-tune-program", "no-board", "gdb", "flash", "two"],
)
def test_options_of_tuning_that_do_not_fit_are_refused(
    kibi: Kibi, glyphs: Path, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    """Before anything is counted; nothing is written."""
    given = [str(glyphs) if each == "{model}" else each for each in options]
    done = kibi("compile", glyphs, "-o", tmp_path / "library", *given)
    assert (done.code, done.out) == (4, "")
    assert problem in done.err
    assert not list(tmp_path.glob("library*"))


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
