"""The shipped model on RISC-V boards of QEMU's, through its GDB server."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
from kibi import demo
from kibi.errors import BoardError
from kibi.targets import Ram
from tests.debugger.qemu import ARM, RISCV, machine, needs_riscv
from tests.debugger.tampering import LOOP, tampered
from tests.engines.networks import residual_network
from tests.support.amount import sample

pytestmark = needs_riscv
_FAULT = "*(volatile int *)0x1C000000 = 1;"
"""Writes where the board has no memory."""
_BARE = ("-bios", "none")
_EXTENSIONS = {"imac": "f=false,d=false", "imafc": "d=false"}


def _virt(core: str) -> kibi.Board:
    """QEMU's board `virt`, of whose memory this is a part."""
    ram = (Ram("dram", 1 << 20, 0x8000_0000),)
    return replace(kibi.board("gd32vf103cb"), name="virt", core=core, ram=ram, flash_bytes=1 << 20)


@pytest.mark.parametrize(
    ("letters", "name"),
    sample(
        [(letters, name) for letters in _EXTENSIONS for name in ("residual", "glyphs")],
        [("imac", "residual"), ("imafc", "residual")],
    ),
)
def test_board_gives_the_same_bits_and_takes_the_same_stack(letters: str, name: str, tmp_path: Path) -> None:
    """With a virtual clock that ticks with each instruction, cycles are instructions: equal to the last one, by operator."""
    board = _virt(f"rv32{letters}")
    model = residual_network(4, 3, 2) if name == "residual" else kibi.simplify(kibi.load(demo.model_path()))
    library = kibi.compile(model, None, tmp_path, target=board.target)
    measured = kibi.measure(library, oracle=False)
    flags = (*_BARE, "-cpu", f"rv32,{_EXTENSIONS[letters]}", "-icount", "shift=0")
    with machine("virt", tmp_path, RISCV, flags) as running:
        run = kibi.measure_on_board(library, board, running.name, measured=measured, load_into="ram")
    assert run.bit_exact
    assert run.stack_bytes == measured.stack_bytes
    assert run.core.startswith("RISC-V RV32 with ")
    assert (run.uncounted, run.cycles) == ("", measured.instructions)


def test_board_that_faults_does_not_end_or_has_another_core_is_named(tmp_path: Path) -> None:
    """The trap leads to the handler; the text says where, and why."""
    board = _virt("rv32imac")
    for name in ("good", "fault", "loop"):
        (tmp_path / name).mkdir()
    library = kibi.compile(residual_network(4, 3, 2), None, tmp_path / "good", target=board.target)
    measured = kibi.measure(library, oracle=False)
    faulting, endless = (tampered(tmp_path / name, board, text) for name, text in (("fault", _FAULT), ("loop", LOOP)))
    with (
        machine("virt", tmp_path, RISCV, (*_BARE, "-cpu", "rv32,a=false,f=false,d=false")) as running,
        pytest.raises(BoardError, match="the extensions CHIMSU, but the program is for rv32imac, which needs A"),
    ):
        kibi.measure_on_board(library, board, running.name, measured=measured, load_into="ram")
    with machine("virt", tmp_path, RISCV, _BARE) as running:
        with pytest.raises(BoardError, match=r"did not end on the board in 1 s: in residual_kibi_add_s8\(\)"):
            kibi.measure_on_board(endless, board, running.name, measured=measured, load_into="ram", seconds=1)
        with pytest.raises(
            BoardError, match=r"faulted in residual_kibi_add_s8\(\) at 0x8.*trap 7.*a store where none.*halted"
        ):
            kibi.measure_on_board(faulting, board, running.name, measured=measured, load_into="ram")
    with (
        machine("mps2-an386", tmp_path, ARM) as running,
        pytest.raises(BoardError, match=r"a core that is no RISC-V of 32 bits.*Nothing was loaded"),
    ):
        kibi.measure_on_board(library, board, running.name, measured=measured, load_into="ram")
