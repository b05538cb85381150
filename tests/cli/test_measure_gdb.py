"""`kibi measure --gdb`: a board's figures beside those of the emulated core, and options that do not fit."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kibi
from tests.debugger.qemu import RISCV, machine, needs_qemu, needs_riscv
from tests.debugger.servers import M0PLUS, Board, scripted
from tests.engines.networks import residual_bytes

BOARD = """
[[board]]
name = "small"
core = "cortex-m0plus"
clock_hz = 64_000_000
ram = [{ name = "sram", bytes = 20_480, address = 0x2000_0000 }]
flash_bytes = 65_536
flash_address = 0x0800_0000
"""


@pytest.fixture
def given(tmp_path: Path) -> tuple[Path, ...]:
    """A small model, and the board that the server is."""
    (tmp_path / "small.toml").write_text(BOARD)
    (tmp_path / "residual.tflite").write_bytes(residual_bytes(4, 3, 2))
    return (tmp_path / "residual.tflite", Path("--board"), tmp_path / "small.toml", Path("--no-oracle"))


def test_measure_prints_emulated_beside_real(kibi: Kibi, given: tuple[Path, ...]) -> None:
    """As text by operator, and as JSON with every figure."""
    with scripted(Board(cpuid=M0PLUS)) as server:
        text = kibi("measure", *given, "--gdb", server.name)
        record = kibi("measure", *given, "--gdb", server.name, "--load-into", "ram", "--json").record
    run = record["board_run"]
    assert text.code == 0
    assert f"board      small at {server.name}: Cortex-M0+ r0p1, program in flash" in text.out
    assert "same bits  yes: board, emulated core and Python" in text.out
    ratio = run["cycles"] / run["emulated_cycles"]
    total = next(line for line in text.out.splitlines() if line.startswith("cycles"))
    assert total.split() == ["cycles", f"{run['emulated_cycles']:,}", f"{run['cycles']:,}", f"{ratio:.3f}"]
    assert (run["cycles"], run["emulated_cycles"]) == (record["instructions"], record["cycles_estimate"])
    assert [each["cycles"] for each in run["ops"]] == [each["instructions"] for each in record["ops"]]
    assert (run["board"], run["loaded_into"], run["bit_exact"]) == ("small", "ram", True)
    assert run["stack_bytes"] == record["stack_bytes"]


VIRT = """
[[board]]
name = "virt"
core = "rv32imac"
clock_hz = 100_000_000
ram = [{ name = "dram", bytes = 1_048_576, address = 0x8000_0000 }]
flash_bytes = 1_048_576
"""


@needs_riscv
def test_tuned_on_the_board_its_cycles_decide(kibi: Kibi, given: tuple[Path, ...], tmp_path: Path) -> None:
    """With a clock that ticks with each instruction, cycles are those of the emulated core; the library calls the best kernels."""
    given[2].write_text(VIRT)
    options = (*given[:3], "--tune", "--load-into", "ram", "--gdb")
    flags = ("-bios", "none", "-cpu", "rv32,f=false,d=false", "-icount", "shift=0")
    with machine("virt", tmp_path, RISCV, flags) as running:
        text = kibi("measure", *options, running.name, "--no-oracle")
        record = kibi("compile", *options, running.name, "-o", tmp_path / "library", "--json").record
    layers = record["tuning"][0]
    assert len(layers) > 1
    for layer in layers:
        assert all(each["board_cycles"] == each["instructions"] for each in layer["candidates"])
        cycles = {each["kernel"]: each["board_cycles"] for each in layer["candidates"]}
        assert cycles[layer["kernel"]] == min(cycles.values())
    assert "board cycles" in text.out


@needs_qemu
def test_board_that_does_not_count_tunes_nothing(kibi: Kibi, given: tuple[Path, ...], tmp_path: Path) -> None:
    """The text says what counts instead."""
    with machine("mps2-an386", tmp_path) as running:
        done = kibi("measure", given[0], "--board", "mps2-an386", "--no-oracle", "--tune", "--gdb", running.name)
    assert (done.code, done.out) == (17, "")
    assert (
        "mps2-an386 cannot tell which kernel is fastest: the core has no cycle counter, or the server hides it"
        in done.err
    )
    without = kibi("compile", *given[:3], "--gdb", "localhost:1", "-o", "library")
    assert (without.code, "--gdb is for --tune" in without.err) == (4, True)


def test_bits_that_differ_on_the_board_are_a_mismatch(kibi: Kibi, given: tuple[Path, ...]) -> None:
    """All is printed, and the exit code says it."""
    board = Board(cpuid=M0PLUS)

    def answer(payload: bytes) -> bytes:
        told = board(payload)
        is_output = payload.startswith(b"m20") and payload.endswith(b",18") and len(told) == 48
        return bytes([told[0] ^ 1]) + told[1:] if is_output else told

    with scripted(answer) as server:
        done = kibi("measure", *given, "--gdb", server.name)
    assert done.code == 10
    assert "same bits  no" in done.out
    assert "the bits of small differ" in done.err


def test_board_that_fails_leaves_nothing_half_reported(kibi: Kibi, given: tuple[Path, ...]) -> None:
    """An error alone, also of what the emulated core has measured."""
    with scripted(Board()) as server:
        done = kibi("measure", *given, "--gdb", server.name, "--json")
    assert (done.code, done.out) == (17, "")
    assert "has Cortex-M3 r2p1, but the program is for cortex-m0plus" in done.err


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (("--gdb", "localhost:1"), 4, "--gdb is for a --board"),
        (("--board", "rp2040", "--gdb", "localhost"), 4, "Give HOST:PORT"),
        (("--board", "rp2040", "--gdb", "localhost:1", "--format", "plan"), 4, "--gdb is for C"),
        (("--board", "rp2040", "--gdb", "localhost:1", "--load-into", "disk"), 4, "--load-into is flash or ram"),
        (("--board", "rp2040", "--load-into", "ram"), 4, "--load-into is for a board with --gdb"),
    ],
    ids=["no-board", "no-port", "plan", "place", "no-server"],
)
def test_options_that_do_not_fit_are_refused(
    kibi: Kibi, glyphs: Path, options: tuple[str, ...], code: int, problem: str
) -> None:
    """Before anything is measured."""
    done = kibi("measure", glyphs, *options)
    assert (done.code, done.out) == (code, "")
    assert problem in done.err
