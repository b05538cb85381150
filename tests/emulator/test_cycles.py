"""Cycle estimates of code whose cycles follow from Arm's tables by hand."""

import pytest

from kibi.emulator.thumb import Form, decode, decode_span
from kibi.targets import targets
from tests.emulator.conftest import Program


def _cycles(program: Program, target: str, text: str, *arguments: int) -> int:
    core = program(f'__attribute__((naked)) void f(void) {{ __asm__ volatile("{text}\\n bx lr"); }}', target)
    block = core.allocate("block", 64, fill=0)
    core.write(block, (block + 8).to_bytes(4, "little"))
    estimate = core.call("f", block, *arguments).cycles_estimate
    assert estimate is not None
    return estimate


# `bx lr` is 1 + P with P = 2 on M3 and M4, and 2 on M0+.
_RETURN = {"cortex-m0plus": 2, "cortex-m3": 3, "cortex-m4": 3}


@pytest.mark.parametrize("target", sorted(_RETURN))
@pytest.mark.parametrize("turns", [1, 2, 100])
def test_loop_costs_three_cycles_per_turn(program: Program, target: str, turns: int) -> None:
    """A subtraction (1) and a taken branch (2), of which the last is not taken (1)."""
    text = "1: subs r1, #1\\n bne 1b"
    assert _cycles(program, target, text, turns) == 3 * turns - 1 + _RETURN[target]


@pytest.mark.parametrize(
    ("text", "m0plus", "m3", "m4"),
    [
        ("nop\\n nop", 2, 2, 2),
        ("ldr r1, [r0]", 2, 2, 2),
        ("ldr r1, [r0]\\n ldr r2, [r0, #4]\\n ldr r3, [r0, #8]", 6, 4, 4),
        ("ldr r1, [r0]\\n ldr r2, [r1]", 4, 4, 4),
        ("ldr r1, [r0]\\n str r1, [r0, #4]", 4, 3, 3),
        ("str r1, [r0, #4]", 2, 1, 1),
        ("movs r2, #4\\n nop\\n str r1, [r0, r2]", 4, 4, 4),
        ("movs r2, #4\\n nop\\n ldr r1, [r0]\\n str r3, [r0, r2]", 6, 5, 5),
        ("adds r0, #4\\n ldr r1, [r0]", 3, 4, 4),
        ("ldmia r0!, {r1, r2, r3}", 4, 4, 4),
        ("push {r1, r2}\\n pop {r1, r2}", 6, 6, 6),
        ("muls r1, r2", 1, 1, 1),
        ("mov r3, lr\\n bl 1f\\n nop\\n 1: mov lr, r3", 5, 4, 4),
        ("b 1f\\n nop\\n 1: nop", 3, 3, 3),
        ("push {r4, lr}\\n pop {r4, pc}", 3 + 5 - _RETURN["cortex-m0plus"], 3 + 6 - 3, 3 + 6 - 3),
    ],
)
def test_narrow_instructions_cost_what_the_tables_say(
    program: Program, text: str, m0plus: int, m3: int, m4: int
) -> None:
    """16-bit instructions alone and beside one another, without the final return."""
    for target, expected in (("cortex-m0plus", m0plus), ("cortex-m3", m3), ("cortex-m4", m4)):
        assert _cycles(program, target, ".p2align 2\\n " + text, 3, 5) - _RETURN[target] == expected, target


@pytest.mark.parametrize(
    ("text", "m3", "m4"),
    [
        ("smull r1, r2, r1, r2", 5, 1),
        ("smlal r1, r2, r1, r2", 7, 1),
        ("mla r1, r2, r1, r2", 2, 1),
        ("mul r8, r2, r1", 1, 1),
        ("sdiv r1, r2, r1", 12, 12),
        ("ldrd r1, r2, [r0]", 3, 3),
        ("mov r3, r0\\n nop\\n ldr r1, [r0], #4\\n ldr r2, [r3, #4]", 6, 6),
        ("cmp r1, #3\\n it eq\\n moveq r1, #2", 2, 2),
        ("cmp r1, #3\\n it ne\\n movne r1, #2", 2, 2),
        ("cmp r1, #3\\n itt ne\\n ldrne r1, [r0]\\n movne r1, #2", 3, 3),
        ("movs r1, #0\\n nop\\n tbb [pc, r1]\\n .byte 1, 0", 2 + 6, 2 + 6),
        ("b 1f\\n .p2align 2\\n nop\\n 1: mov.w r1, #1", 1 + 2 + 1, 1 + 2 + 1),
    ],
)
def test_wide_instructions_cost_what_the_tables_say(program: Program, text: str, m3: int, m4: int) -> None:
    """32-bit instructions, skipped ones, table branches, and a branch to an unaligned 32-bit instruction."""
    for target, expected in (("cortex-m3", m3), ("cortex-m4", m4)):
        assert _cycles(program, target, ".p2align 2\\n " + text, 3, 5) - _RETURN[target] == expected, target


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("vadd.f32 s0, s1, s2", 1),
        ("vmul.f32 s0, s1, s2", 1),
        ("vmla.f32 s0, s1, s2", 3),
        ("vfma.f32 s0, s1, s2", 3),
        ("vdiv.f32 s0, s1, s2", 14),
        ("vsqrt.f32 s0, s1", 14),
        ("vldr s0, [r0]", 2),
        ("vldr d0, [r0]", 3),
        ("vldmia r0, {s0-s4}", 6),
        ("vcvt.f32.s32 s0, s1", 1),
        ("vmov r1, r2, d0", 2),
    ],
)
def test_floating_point_costs_what_the_table_says(program: Program, text: str, cycles: int) -> None:
    """The M4's floating-point instructions."""
    assert _cycles(program, "cortex-m4", text) - _RETURN["cortex-m4"] == cycles


@pytest.mark.parametrize("name", [entry.name for entry in targets() if entry.emulated_cpu and entry.timing is None])
def test_core_without_table_has_no_estimate(program: Program, name: str) -> None:
    """Where Arm published no timings there is no estimate."""
    assert program("void f(void) { }", name).call("f").cycles_estimate is None


def test_if_then_governs_its_instructions_only() -> None:
    """The conditions of an ITTE block, and none behind it."""
    code = bytes.fromhex("06bf") + 4 * bytes.fromhex("00bf")  # itte eq; nop, four times
    located = decode_span(0x1000, code)
    assert [entry.condition for entry in located] == [14, 0, 0, 1, 14]
    assert [entry.address for entry in located] == [0x1000, 0x1002, 0x1004, 0x1006, 0x1008]


def test_incomplete_instruction_is_refused() -> None:
    """A first half without its second is no instruction."""
    assert decode(0xF000, None).kind is Form.REFUSED
    assert decode_span(0, bytes.fromhex("00f0"))[0].instruction.kind is Form.REFUSED


def test_every_encoding_is_decoded_or_refused() -> None:
    """No pair of halfwords makes the decoder fail, and sizes stay within what the hook can hold."""
    for first in range(1 << 16):
        seconds = (0x0000, 0x0F00, 0x7FFF, 0x8000, 0xF0F0, 0xFFFF, 0x0A10, 0x4B44) if first >= 0xE800 else (0,)
        for second in seconds:
            instruction = decode.__wrapped__(first, second)
            assert instruction.width in (2, 4)
            assert 0 <= instruction.size <= 128
