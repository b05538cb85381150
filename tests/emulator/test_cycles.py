"""Cycle estimates of code whose cycles follow by hand from the published timings."""

from collections.abc import Sequence

import pytest

from kibi.emulator.arm.thumb import Form, decode, decode_span
from kibi.targets import target as target_named
from tests.emulator.conftest import THUMB, Program
from tests.support.amount import amount


def _cycles(program: Program, target: str, text: str, *arguments: int) -> int:
    core = program(f'__attribute__((naked)) void f(void) {{ __asm__ volatile("{text}\\n bx lr"); }}', target)
    block = core.allocate("block", 64, fill=0)
    core.write(block, (block + 8).to_bytes(4, "little"))
    estimate = core.call("f", block, *arguments).cycles_estimate
    assert estimate is not None
    return estimate


def _cycles_of_each(program: Program, target: str, texts: Sequence[str], end: str = "") -> list[int]:
    """The cycles of each text in one program, with the return."""
    names = [f"f{number}" for number in range(len(texts))]
    lines = [f".p2align 3\n {text}{end}\n bx lr".replace("\n", "\\n") for text in texts]
    made = [
        f'__attribute__((naked)) void {name}(void) {{ __asm__ volatile("{line}"); }}\n'
        for name, line in zip(names, lines, strict=True)
    ]
    core = program("".join(made), target, entries=names)
    block = core.allocate("block", 64, fill=0)
    found = []
    for name in names:
        core.write(block, (block + 8).to_bytes(4, "little"))
        found.append(core.call(name, block).cycles_estimate or 0)
    return found


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


_FLOATS = (
    ("vadd.f32 s0, s1, s2", 1),
    ("vmul.f32 s0, s1, s2", 1),
    ("vmla.f32 s0, s1, s2", 1),  # integer instructions go on
    ("vdiv.f32 s0, s1, s2", 1),
    ("vfma.f32 s0, s1, s2\n vadd.f32 s3, s4, s5", 3 + 1),
    ("vfma.f32 s0, s1, s2\n nop\n nop\n nop\n vadd.f32 s3, s4, s5", 5),
    ("vfma.f32 s0, s1, s2\n vfma.f32 s0, s3, s4\n nop\n nop", 3 + 1 + 2),  # the sum is read one cycle later
    ("vfma.f32 s0, s1, s2\n vadd.f32 s3, s0, s5", 4 + 1),
    ("vmul.f32 s0, s1, s2\n vadd.f32 s3, s0, s5", 2 + 1),
    ("vmul.f32 s0, s1, s2\n vadd.f32 s3, s4, s5", 2),
    ("vmul.f32 s0, s1, s2\n vfma.f32 s0, s3, s4", 2),
    ("vdiv.f32 s0, s1, s2\n vadd.f32 s3, s4, s5", 14 + 1),
    ("vsqrt.f32 s0, s1\n vadd.f32 s3, s0, s5", 15 + 1),
    ("vldr s0, [r0]", 2),
    ("vldr s0, [r0]\n vldr s1, [r0, #4]\n vldr s2, [r0, #8]", 4),
    ("ldr r1, [r0]\n vstr s2, [r0, #8]", 3),
    ("vstr s2, [r0, #8]", 1),
    ("vldr d0, [r0]", 3),
    ("vldmia r0, {s0-s4}", 6),
    ("vcvt.f32.s32 s0, s1", 1),
    ("vmov r1, r2, d0", 2),
)


def test_floating_point_waits_for_its_unit_and_for_results(program: Program) -> None:
    """The M4's floating-point instructions, alone and beside one another."""
    found = _cycles_of_each(program, "cortex-m4", [text for text, _ in _FLOATS])
    assert [each - _RETURN["cortex-m4"] for each in found] == [cycles for _, cycles in _FLOATS]


_UNALIGNED = (
    ("ldr r1, [r0, #4]", 2), ("ldr r1, [r0, #6]", 3), ("ldr r1, [r0, #5]", 4), ("ldr r1, [r0, #7]", 4),
    ("ldrh r1, [r0, #6]", 2), ("ldrsh r1, [r0, #5]", 3), ("ldrb r1, [r0, #5]", 2),
    ("str r1, [r0, #4]", 1), ("str r1, [r0, #6]", 2), ("str r1, [r0, #5]", 3), ("strh r1, [r0, #7]", 2),
)  # fmt: skip


@pytest.mark.parametrize("target", ["cortex-m3", "cortex-m4", "cortex-m33"])
def test_unaligned_accesses_cost_what_they_are_divided_into(program: Program, target: str) -> None:
    """A half word at an odd address and a word between two are two accesses, a word at an odd address is three."""
    found = _cycles_of_each(program, target, [text for text, _ in _UNALIGNED])
    assert [each - _RETURN["cortex-m4"] for each in found] == [cycles for _, cycles in _UNALIGNED]


_DUAL_ISSUE = (
    ("add r1, r2\n add r3, r2\n add r1, r2\n add r3, r2", 2),
    ("add r1, r2\n add r1, r2\n add r1, r2\n add r1, r2", 4),
    ("smlad r1, r2, r3, r1\n smlad r1, r2, r3, r1\n smlad r1, r2, r3, r1\n nop", 3),  # one a cycle
    ("mul r1, r2, r3\n nop\n add r2, r1, r3", 3),  # two cycles to the product
    ("uxtb r1, r2\n uxtb r3, r2\n uxtb r1, r2", 3),  # one unit
    ("uxtb r1, r2\n add r3, r2\n uxtb r1, r2\n add r3, r2", 2),
    ("ldr r1, [r0]\n ldr r2, [r0, #4]", 1),
    ("ldr r1, [r0]\n add r2, r1, r3", 2),
    ("ldrb r1, [r0]\n nop\n add r2, r1, r3", 3),
    ("ldr r1, [r0]\n nop\n ldr r2, [r1]", 3),  # an address is read one cycle earlier
    ("ldr r1, [r0]\n str r1, [r0, #4]", 1),  # and data to store later
    ("str r1, [r0]\n str r2, [r0, #4]", 2),
    ("ldmia r0, {r1, r2, r3}\n nop", 3),
    ("sdiv r1, r2, r3\n nop", 8),
    ("vadd.f32 s0, s1, s2\n vadd.f32 s3, s0, s2", 4),
    ("vfma.f32 s0, s1, s2\n vfma.f32 s0, s1, s2\n nop", 4),
    ("ldr r1, [r0, #5]", 4),
)


def test_dual_issue_pairs_what_measurements_pair(program: Program) -> None:
    """The M7's model, on pairs that others have measured; the barrier of 3 cycles goes alone, and the return takes 2."""
    found = _cycles_of_each(program, "cortex-m7", [text for text, _ in _DUAL_ISSUE], end="\n isb")
    assert [each - 3 - 2 for each in found] == [cycles for _, cycles in _DUAL_ISSUE]


def test_cores_without_a_table_of_arms_say_where_their_timings_are_from() -> None:
    """M7, M33 and Hazard3; every emulated core of Arm's has an estimate."""
    emulated = {name: target_named(name).timing for name in THUMB}
    remarks = {name: timing.remark for name, timing in emulated.items() if timing is not None and timing.remark}
    assert None not in emulated.values()
    assert remarks == {
        "cortex-m7": "by others' measurements, not validated",
        "cortex-m33": "by the Cortex-M4's table",
    }


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
    for first in range(0, 1 << 16, amount(5, 1)):
        seconds = (0x0000, 0x0F00, 0x7FFF, 0x8000, 0xF0F0, 0xFFFF, 0x0A10, 0x4B44) if first >= 0xE800 else (0,)
        for second in seconds:
            instruction = decode.__wrapped__(first, second)
            assert instruction.width in (2, 4)
            assert 0 <= instruction.size <= 128
