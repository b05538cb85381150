"""Hazard3's estimated cycles, of code whose cycles follow by hand from its author's table."""

import pytest

from kibi.targets import target
from tests.emulator.conftest import Program

_RETURN = 2


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("nop", 1),
        ("mul a2, a0, a0\\n mulh a3, a0, a0", 2),
        ("div a2, a0, a0", 19),
        ("rem a2, a0, a0", 19),
        ("divu a2, a0, a0\\n remu a3, a0, a0", 36),
        ("lw a1, 0(a0)\\n nop\\n add a2, a1, a1", 3),
        ("lw a1, 0(a0)\\n add a2, a1, a1", 3),  # what was loaded comes a cycle later
        ("lw t3, 0(a0)\\n xor t4, t5, t3", 3),
        ("lbu a1, 0(a0)\\n c.mv a2, a1", 3),
        ("c.lw a1, 0(a0)\\n c.addi a1, 1", 3),
        ("c.lw a1, 0(a0)\\n c.and a2, a1", 3),
        ("c.lw a1, 0(a0)\\n c.srli a1, 2", 3),
        ("c.lw a1, 0(a0)\\n c.slli a1, 2", 3),
        ("c.lw a1, 0(a0)\\n slli a2, a1, 2", 3),
        ("lw a1, 0(a0)\\n lw a2, 0(a1)", 3),
        ("c.lw a1, 0(a0)\\n c.lw a2, 0(a1)", 3),
        ("lw a1, 0(a0)\\n sw a0, 0(a1)", 3),
        ("lw a1, 0(a0)\\n sw a1, 4(a0)", 2),  # a store needs its data a stage later
        ("c.lw a1, 0(a0)\\n c.sw a1, 4(a0)", 2),
        ("lw a1, 0(a0)\\n li a1, 3", 2),
        ("lw a1, 0(a0)\\n lui a1, 3", 2),
        ("lw zero, 0(a0)\\n add a2, zero, zero", 2),
        ("addi sp, sp, -16\\n c.lwsp a1, 0(sp)\\n c.add a2, a1\\n c.addi sp, 16", 5),
        ("lr.w a1, (a0)\\n add a2, a1, a1", 3),
        ("amoadd.w a2, zero, (a0)", 4),
        ("c.j 1f\\n c.nop\\n 1: c.nop", 3),
        ("c.j 1f\\n c.nop\\n 1: addi a1, a0, 2000", 3),
        ("c.nop\\n c.j 1f\\n c.nop\\n 1: addi a1, a0, 2000", 5),  # the target is across a word boundary
        ("beqz a0, 1f\\n c.nop\\n 1: c.nop", 3),
        ("bnez a0, 1f\\n c.nop\\n 1: c.nop", 3),
        # A loop: the first branch backward is not predicted, the last one is wrongly predicted.
        ("c.li a1, 1\\n 1: c.addi a1, -1\\n c.bnez a1, 1b", 3),
        ("c.li a1, 2\\n 1: c.addi a1, -1\\n c.bnez a1, 1b", 5 + 2),
        ("c.li a1, 10\\n 1: c.addi a1, -1\\n c.bnez a1, 1b", 21 + 2),
        ("li a1, 10\\n 1: addi a1, a1, -1\\n bne a1, zero, 1b\\n c.nop", 22 + 2),
        # A jump backward is not remembered.
        ("c.li a1, 10\\n c.j 2f\\n 1: c.addi a1, -1\\n c.beqz a1, 3f\\n 2: c.j 1b\\n 3: c.nop", 45),
    ],
)
def test_cycles_of_known_code_equal_the_table(program: Program, text: str, cycles: int) -> None:
    """Each rule alone, also without compressed instructions, if the code names none; the return takes two more."""
    if "c." not in text:
        assert _cycles(program, f".option norvc\\n {text}") == cycles + _RETURN
    assert _cycles(program, text) == cycles + _RETURN


def _cycles(program: Program, text: str) -> int:
    naked = '__attribute__((naked, aligned(4))) void f(void) { __asm__ volatile("' + text + '\\n ret"); }'
    core = program(naked, "hazard3")
    block = core.allocate("block", 64, fill=0)
    core.write(block, (block + 8).to_bytes(4, "little"))
    call = core.call("f", block, operators={"f": "F"})
    assert call.cycles_estimate == call.cycles_by_operator["F"]
    return call.cycles_by_operator["F"]


def test_prediction_begins_anew_with_each_call(program: Program) -> None:
    """So a figure does not depend on what ran before."""
    loop = "1: addi a0, a0, -1\\n bnez a0, 1b\\n ret"
    core = program(f'__attribute__((naked)) void f(uint32_t n) {{ __asm__ volatile("{loop}"); }}', "hazard3")
    assert core.call("f", 9).cycles_estimate == core.call("f", 9).cycles_estimate == 18 + 2 + _RETURN


def test_estimate_says_where_it_is_from() -> None:
    """Nobody has compared it with a board."""
    timing = target("hazard3").timing
    assert timing is not None
    assert timing.remark == "by its author's table, not validated"
