"""Calls, counts, operators, the stack."""

import os
import random
import signal
import threading

import pytest

from kibi.emulator import Core
from kibi.errors import EmulationError
from kibi.targets import target as target_named
from tests.emulator.conftest import EMULATED, RISCV, Program

# Twelve instructions in a row, one loop of 3 per turn, and the return: 3n + 14.
_COUNTED = """
__attribute__((naked)) void f(uint32_t turns)
{
    __asm__ volatile(
        ".rept 12\\n nop\\n .endr\\n"
        "1: nop\\n subs r0, r0, #1\\n bne 1b\\n"
        "nop\\n bx lr\\n");
}
"""
_COUNTED_RISCV = """
__attribute__((naked)) void f(uint32_t turns)
{
    __asm__ volatile(
        ".rept 12\\n nop\\n .endr\\n"
        "1: nop\\n addi a0, a0, -1\\n bnez a0, 1b\\n"
        "nop\\n ret\\n");
}
"""


@pytest.mark.parametrize("name", EMULATED)
@pytest.mark.parametrize("turns", [1, 2, 1000])
def test_instructions_of_known_code_equal_count_by_hand(program: Program, name: str, turns: int) -> None:
    """Every executed instruction is counted once, on each core."""
    call = program(_COUNTED_RISCV if name in RISCV else _COUNTED, name).call("f", turns)
    assert call.instructions == 3 * turns + 14
    assert call.by_operator == {"": call.instructions}


_CONDITIONS = ("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")
_OPPOSITE = {
    a: b
    for first, second in zip(_CONDITIONS[::2], _CONDITIONS[1::2], strict=True)
    for a, b in ((first, second), (second, first))
}


def _it_block(draw: random.Random) -> list[str]:
    """An IT instruction and the one to four instructions under it, none of which changes the flags."""
    condition, others = draw.choice(_CONDITIONS), draw.choices("te", k=draw.randrange(4))
    governed = [condition, *(condition if each == "t" else _OPPOSITE[condition] for each in others)]
    forms = (
        "mov{} r1, r2",
        "add{} r1, r1, #1",
        "ldr{} r3, [r0]",
        "strb{} r3, [r0, #5]",
        "mul{} r3, r1, r2",
        "mov{}.w r9, r1",
    )
    return [f"it{''.join(others)} {condition}", *(draw.choice(forms).format(each) for each in governed)]


@pytest.mark.parametrize("name", ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_skipped_instructions_count_one_each(program: Program, name: str) -> None:
    """Code without branches takes as many instructions as it has, whichever of them its flags skip."""
    draw = random.Random(5)
    blocks = [line for _ in range(60) for line in (*_it_block(draw), *["nop"] * draw.randrange(2))]
    lines = ["push {r9}", "mov r2, r1", "msr apsr_nzcvq, r1", *blocks, "pop {r9}", "bx lr"]
    text = "\\n ".join(lines)
    core = program(f'__attribute__((naked)) void f(void) {{ __asm__ volatile("{text}"); }}', name)
    block = core.allocate("block", 8)
    assert {core.call("f", block, flags << 28).instructions for flags in range(16)} == {len(lines)}


# Two instructions for a negative argument, one for others; a return, unless the result is zero.
_SKIPPED = r"""
__attribute__((naked, noinline)) void g(void)
{
    __asm__ volatile("cmp r0, #0\n itte lt\n neglt r0, r0\n addlt r0, r0, #1\n addge r0, r0, #2\n"
                     "it ne\n bxne lr\n nop\n bx lr");
}
__attribute__((naked)) void f(void) { __asm__ volatile("push {r4, lr}\n bl g\n pop {r4, pc}"); }
"""


@pytest.mark.parametrize(("argument", "inside", "cycles"), [(1, 7, 7), (-1, 7, 7), (0, 9, 9)])
def test_skipped_instructions_belong_to_their_operator(
    program: Program, argument: int, inside: int, cycles: int
) -> None:
    """Skipped instructions count for the operator that has them, with one cycle each, also where a return is skipped."""
    call = program(_SKIPPED).call("f", argument, operators={"g": "G"})
    assert call.by_operator == {"": 3, "G": inside}
    assert sum(call.cycles_by_operator.values()) == call.cycles_estimate
    assert call.cycles_by_operator["G"] == cycles


@pytest.mark.parametrize("name", EMULATED)
def test_arguments_beyond_four_go_on_the_stack(program: Program, name: str) -> None:
    """Six arguments reach the function in their places, and its result comes back."""
    core = program(
        "int32_t f(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t g)"
        "{ return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * g; }",
        name,
    )
    assert core.call("f", 1, 20, 300, 4000, 50000, 600000).value == 1 + 40 + 900 + 16000 + 250000 + 3600000
    assert core.call("f", -7, 0, 0, 0, 0, 0).signed_value == -7


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m7", "cortex-m33", "rv32imafc"])
def test_floating_point_unit_is_enabled(program: Program, name: str) -> None:
    """A core with an FPU computes floats by its instructions."""
    core = program("int32_t f(int32_t a) { volatile float x = (float)a * 1.5f; return (int32_t)(x + 0.25f); }", name)
    assert core.call("f", 7).value == 10


def test_variables_keep_their_values_between_calls(program: Program) -> None:
    """Initialised and zeroed variables start as the C standard says and live as long as the core."""
    core = program("static int32_t a = 40; static int32_t b; int32_t f(void) { b++; return a + b; }")
    assert [core.call("f").value for _ in range(3)] == [41, 42, 43]


def test_value_of_unsigned_and_signed(program: Program) -> None:
    """The result is register r0; a property reads it as a signed number."""
    call = program("int32_t f(void) { return -2; }").call("f")
    assert (call.value, call.signed_value) == (0xFFFF_FFFE, -2)


_OPERATORS = """
__attribute__((naked, noinline)) void helper(void) { __asm__ volatile("nop\\n nop\\n bx lr"); }
__attribute__((naked, noinline)) void first(void) { __asm__ volatile("push {r4, lr}\\n bl helper\\n pop {r4, pc}"); }
__attribute__((naked, noinline)) void second(void) { __asm__ volatile("nop\\n b helper"); }
__attribute__((naked, noinline)) void loop(uint32_t n) { __asm__ volatile("1: subs r0, r0, #1\\n bne loop\\n bx lr"); }
__attribute__((naked)) void f(void)
{
    __asm__ volatile(
        "push {r4, lr}\\n"
        "bl first\\n bl first\\n bl second\\n bl helper\\n movs r0, #5\\n bl loop\\n"
        "pop {r4, pc}");
}
"""
_OPERATORS_RISCV = """
__attribute__((naked, noinline)) void helper(void) { __asm__ volatile("nop\\n nop\\n ret"); }
__attribute__((naked, noinline)) void first(void)
{
    __asm__ volatile("addi sp, sp, -16\\n sw ra, 0(sp)\\n jal helper\\n lw ra, 0(sp)\\n addi sp, sp, 16\\n ret");
}
__attribute__((naked, noinline)) void second(void) { __asm__ volatile("nop\\n j helper"); }
__attribute__((naked, noinline)) void loop(uint32_t n) { __asm__ volatile("1: addi a0, a0, -1\\n bnez a0, 1b\\n ret"); }
__attribute__((naked)) void f(void)
{
    __asm__ volatile(
        "addi sp, sp, -16\\n sw ra, 0(sp)\\n"
        "jal first\\n jal first\\n jal second\\n jal helper\\n li a0, 5\\n jal loop\\n"
        "lw ra, 0(sp)\\n addi sp, sp, 16\\n ret");
}
"""


@pytest.mark.parametrize("name", EMULATED)
def test_instructions_are_attributed_exactly(program: Program, name: str) -> None:
    """An operator has its function's instructions and its callees', through tail calls and back-to-back calls."""
    core = program(_OPERATORS_RISCV if name in RISCV else _OPERATORS, name)
    call = core.call("f", operators={"first": "A", "second": "B", "loop": "C"})
    # first: push, bl, helper's 3, pop; second: nop, b, helper's 3; loop: 5 times 2 and the return. RISC-V has no push and pop.
    own = {"": 11 + 3, "A": 2 * 9} if name in RISCV else {"": 8 + 3, "A": 2 * 6}
    assert call.by_operator == {**own, "B": 5, "C": 11}
    assert call.instructions == sum(call.by_operator.values())


def test_operator_called_by_operator_counts_for_the_outer(program: Program) -> None:
    """What an operator calls counts for it, even if that is an operator too."""
    call = program(_OPERATORS).call("f", operators={"first": "A", "helper": "H"})
    assert call.by_operator == {"": 8 + 2 + 11, "A": 12, "H": 3 + 3}


def test_called_function_may_be_an_operator(program: Program) -> None:
    """With the called function itself as operator, everything counts for it."""
    call = program(_OPERATORS).call("f", operators={"f": "all", "absent": "none"})
    assert call.by_operator == {"": 0, "all": call.instructions, "none": 0}


@pytest.mark.parametrize("name", ["cortex-m4", "rv32imac"])
def test_recursive_operator_ends_with_its_outermost_return(program: Program, name: str) -> None:
    """A return to the same address in a deeper frame does not end the operator."""
    core = program(
        "__attribute__((noinline)) uint32_t r(uint32_t n) { return n < 2u ? n : r(n - 1u) + r(n - 2u); }"
        "uint32_t f(uint32_t n) { return r(n) + 1u; }",
        name,
    )
    call = core.call("f", 12, operators={"r": "R"})
    alone = core.call("f", 12)
    assert call.value == 145
    assert call.instructions == alone.instructions
    assert call.by_operator[""] < 12


_FRAMES = (
    ("push {r4, lr}", "sub sp, #24\\n add sp, #24\\n bx lr", "bl g", "pop {r4, pc}"),
    (
        "addi sp, sp, -8\\n sw ra, 0(sp)", "addi sp, sp, -24\\n addi sp, sp, 24\\n ret", "jal g",
        "lw ra, 0(sp)\\n addi sp, sp, 8\\n ret",
    ),
)  # fmt: skip


@pytest.mark.parametrize("name", EMULATED)
def test_stack_high_water_mark_is_exact(program: Program, name: str) -> None:
    """The mark counts pushed registers and reserved bytes, also those that nobody writes."""
    lower, more, call, back = _FRAMES[name in RISCV]
    core = program(
        f'__attribute__((naked, noinline)) void g(void) {{ __asm__ volatile("{more}"); }}'
        f'__attribute__((naked)) void f(void) {{ __asm__ volatile("{lower}\\n {call}\\n {back}"); }}',
        name,
    )
    assert core.call("f").stack_bytes == 8 + 24
    assert core.call("f", *range(12)).stack_bytes == 8 + 24


@pytest.mark.parametrize("name", ["cortex-m3", "cortex-m4", "cortex-m33"])
def test_stack_lowered_by_other_instructions_is_seen(program: Program, name: str) -> None:
    """A store that updates the stack pointer, and a move to it, count too."""
    store = '__attribute__((naked)) void f(void) { __asm__ volatile("str r4, [sp, #-12]!\\n add sp, #12\\n bx lr"); }'
    assert program(store, name).call("f").stack_bytes == 12
    move = (
        '__attribute__((naked)) void f(void) { __asm__ volatile("mov r0, sp\\n sub r1, r0, #40\\n mov sp, r1\\n'
        ' mov sp, r0\\n bx lr"); }'
    )
    assert program(move, name).call("f").stack_bytes == 40


def test_interrupt_stops_the_core(program: Program) -> None:
    """Ctrl-C ends an endless run at once, and the core can be called again."""
    core = program(
        'void f(void) { for (;;) { __asm__ volatile(""); } } int32_t g(void) { return 5; }', entries=("f", "g")
    )
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        core.call("f")
    assert core.call("g").value == 5


def test_unknown_function_is_an_error(program: Program) -> None:
    """Calling what the image does not have names it."""
    with pytest.raises(EmulationError, match="no function 'nothing'"):
        program("void f(void) { }").call("nothing")


def test_host_is_not_emulated(program: Program) -> None:
    """A target without an emulated core is refused."""
    core = program("void f(void) { }")
    with pytest.raises(EmulationError, match="host is not emulated"):
        Core(core._image, target_named("host"))


def test_blocks_are_apart_aligned_and_filled(program: Program) -> None:
    """Blocks have their alignment, fill byte and a gap to the next; outside access stays inside one block."""
    core = program("void f(void) { }", fill=0x5A)
    first, second = core.allocate("first", 5), core.allocate("second", 7, alignment=256, fill=0)
    assert first % 16 == 0
    assert second % 256 == 0
    assert second >= first + 5 + 64
    assert core.read(first, 5) == b"\x5a" * 5
    assert core.read(second, 7) == bytes(7)
    core.write(first, b"abcde")
    assert core.read(first + 1, 3) == b"bcd"
    with pytest.raises(EmulationError, match="reaching 1 byte past the end of first"):
        core.write(first, b"abcdef")
    for alignment in (1, 2, 4, 8):
        exact = core.allocate("exact", 3, alignment=alignment, is_exact=True)
        assert exact % (2 * alignment) == alignment
    with pytest.raises(EmulationError, match="no room for 'huge'"):
        core.allocate("huge", 1 << 30)
