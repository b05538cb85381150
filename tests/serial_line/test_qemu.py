"""A measuring program in the firmware of a user, on boards of QEMU's: over a serial port, and by semihosting."""

from dataclasses import replace
from pathlib import Path

import pytest

import kibi
from kibi.targets import Ram
from tests.debugger.qemu import needs_qemu, needs_riscv
from tests.engines.networks import residual_network
from tests.serial_line.firmware import MPS2, VIRT, built, running

pytest.importorskip("serial", reason="pyserial is not installed")
_SEMIHOSTED = ("-serial", "none", "-semihosting-config", "enable=on,target=native,chardev=line")
_FEW_INSTRUCTIONS = 30
"""Of the beginning and the end of an operator's function, which it does not report."""


@needs_riscv
def test_cycles_are_those_of_the_core(tmp_path: Path) -> None:
    """With a clock that ticks with each instruction; rows are pushed one by one, and what a call itself takes is not counted."""
    board = replace(kibi.board("gd32vf103cb"), name="virt", core="rv32imac", ram=(Ram("dram", 1 << 20, 0x8000_0000),))
    model = residual_network(4, 3, 2)
    plan = kibi.plan(model, target=board.target, input="streamed")
    library = kibi.compile(model, plan, tmp_path / "library", target=board.target, package=None)
    measured = kibi.measure(library, oracle=False)
    kibi.write_serial_program(library, tmp_path / "program", measured=measured)
    with running(VIRT, built(tmp_path / "program", "rv32imac", VIRT)) as url:
        run = kibi.measure_over_serial(library, board, url, measured=measured)
    assert run.bit_exact
    assert (run.stack_bytes, run.core[:16], run.uncounted) == (measured.stack_bytes, "RISC-V RV32 with", "")
    calls = len(library.model.arrivals) + 1
    assert run.cycles == measured.instructions - calls  # without the return of each
    for found, cost, view in zip(run.ops, measured.ops, library.model.graph.views, strict=True):
        assert (found.name, found.op) == (cost.name, cost.op)
        assert (found.cycles is None) == (view.node.source < 0)
        if found.cycles is not None:
            assert 0 <= cost.instructions - found.cycles <= _FEW_INSTRUCTIONS * view.steps


@needs_qemu
def test_semihosting_moves_the_same_frames(tmp_path: Path) -> None:
    """Inputs and outputs are in external buffers, and the library is in a package of another kind, whose example is left out."""
    model = residual_network(4, 3, 2)
    library = kibi.compile(
        model, kibi.plan(model, target="cortex-m3", input="external", output="external"), tmp_path / "library",
        target="cortex-m3", package="arduino",
    )  # fmt: skip
    measured = kibi.measure(library, oracle=False)
    kibi.write_serial_program(library, tmp_path / "program", measured=measured)
    elf = built(tmp_path / "program", "cortex-m3", MPS2, is_semihosted=True)
    with running(MPS2, elf, _SEMIHOSTED) as url:
        run = kibi.measure_over_serial(library, "mps2-an385", url, measured=measured)
    assert (run.bit_exact, run.stack_bytes) == (True, measured.stack_bytes)
