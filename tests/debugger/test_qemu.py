"""The shipped model on boards of QEMU's, through its GDB server: what another program says of the same code."""

from pathlib import Path

import pytest

import kibi
from kibi import demo
from kibi.errors import BoardError
from tests.debugger.qemu import machine, needs_qemu
from tests.debugger.tampering import FAULT, LOOP, tampered
from tests.engines.networks import residual_network
from tests.support.amount import share

pytestmark = needs_qemu
HALTED = ("paused", "debug")
"""What QEMU calls a core that runs nothing; the second one where it stopped at a breakpoint."""
CORES = {
    "microbit": "Cortex-M0 r0p0",
    "mps2-an385": "Cortex-M3 r",
    "mps2-an386": "Cortex-M4 r",
    "mps2-an500": "Cortex-M7 r",
    "mps3-an547": "Cortex-M55 r",
    "mps2-an505": "Cortex-M33 r",
}


@pytest.mark.parametrize("name", share(CORES, 0, 2))
def test_board_gives_the_same_bits_and_takes_the_same_stack(name: str, tmp_path: Path) -> None:
    """QEMU has no cycle counter, which is said; the board is left halted."""
    board = kibi.board(name)
    model = kibi.simplify(kibi.load(demo.model_path()))
    library = kibi.compile(model, None, tmp_path, target=board.target)
    measured = kibi.measure(library, oracle=False)
    with machine(name, tmp_path) as running:
        run = kibi.measure_on_board(library, board, running.name, measured=measured)
        assert running.status() in HALTED
    assert run.bit_exact
    assert run.stack_bytes == measured.stack_bytes
    assert run.core.startswith(CORES[name])
    assert (run.cycles, run.ops, run.uncounted) == (None, (), "the core has no cycle counter, or the server hides it")


def test_board_that_faults_does_not_end_or_has_another_core_is_left_halted(tmp_path: Path) -> None:
    """The core's own exception leads to the handler; the text says where, and why."""
    board = kibi.board("mps2-an385")
    for name in ("good", "fault", "loop", "m4"):
        (tmp_path / name).mkdir()
    measured = kibi.measure(
        kibi.compile(residual_network(4, 3, 2), None, tmp_path / "good", target=board.target), oracle=False
    )
    faulting, endless = (tampered(tmp_path / name, board, text) for name, text in (("fault", FAULT), ("loop", LOOP)))
    other = kibi.compile(residual_network(4, 3, 2), None, tmp_path / "m4", target="cortex-m4")
    with machine("mps2-an385", tmp_path) as running:
        with pytest.raises(
            BoardError, match=r"has Cortex-M3 r\dp\d, but the program is for cortex-m4.*Nothing was loaded"
        ):
            kibi.measure_on_board(other, "mps2-an386", running.name, measured=measured)
        with pytest.raises(BoardError, match=r"did not end on the board in 1 s: in residual_kibi_add_s8\(\)"):
            kibi.measure_on_board(endless, board, running.name, measured=measured, seconds=1)
        with pytest.raises(
            BoardError, match=r"faulted in residual_kibi_add_s8\(\) at 0x0.*exception 3.*a bus error.*halted"
        ):
            kibi.measure_on_board(faulting, board, running.name, measured=measured)
        assert running.status() in HALTED
        with pytest.raises(BoardError, match="halted the core in exception 3, and did not reset it"):
            kibi.measure_on_board(faulting, board, running.name, measured=measured)
