"""RISC-V: the decoder against another one, each form of access on the emulated core, what a target does not have."""

import random
import re
from collections.abc import Iterator
from functools import cache

import capstone
import pytest

from kibi.emulator.architecture import Step
from kibi.emulator.riscv.decode import REGISTERS, decode, decode_span
from kibi.errors import EmulationError
from tests.emulator.conftest import RISCV, Program

_ALL = frozenset("mafc")
_REGISTER_NAMES = (
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2", "s3",
    "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
)  # fmt: skip
_PLACE = re.compile(r"(-?(?:0x)?[0-9a-f]*)\((\w+)\)")
_NOT_OURS = re.compile(r".*\.d(\.|$)|c?\.?f[ls]d|c\.f[ls]dsp|csr|c\.ebreak|c\.unimp|rdtime|rdcycle|rdinstret|sfence")
"""Of capstone's names: doubles, control registers, and what stops a program."""
_UNDEFINED = re.compile(r"(c\.)?(slli|srli|srai)|c\.lui")
"""What capstone takes with fields that the manual reserves: shifts by more than 31, and a LUI of zero."""


def _found(data: bytes) -> capstone.CsInsn | None:
    return next(_decoder().disasm(data, 0, 1), None)


@cache
def _decoder() -> capstone.Cs:
    return capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC)


def _check(step: Step, data: bytes) -> None:
    found = _found(data)
    if found is None:
        is_hint = len(data) == 2 and not step.size
        assert step.is_refused or is_hint or data[0] & 0x7F == 0x0F, data.hex()  # FENCE with fields that are ignored
        return
    if step.is_refused:
        assert _NOT_OURS.match(found.mnemonic) or _UNDEFINED.fullmatch(found.mnemonic), (found.mnemonic, data.hex())
        return
    place = _PLACE.search(found.op_str)
    is_access = place is not None and found.mnemonic != "jalr"
    assert (step.size > 0) == is_access, (found.mnemonic, found.op_str)
    if place is not None and is_access:
        offset = int(place[1] or "0", 0)
        assert (step.base, step.offset) == (REGISTERS[_REGISTER_NAMES.index(place[2])], offset)
        kind = found.mnemonic.removeprefix("c.")
        assert step.size == {"b": 1, "h": 2}.get(kind.removeprefix("l").removeprefix("s")[:1], 4)
        assert step.is_store == kind.startswith(("s", "fs", "amo"))


def _wide_words() -> Iterator[int]:
    """Each opcode with each funct3 and funct7, and some values of the rest."""
    draw = random.Random(7)
    for opcode in range(3, 128, 4):
        for upper in range(1 << 10):
            word = opcode | (upper & 7) << 12 | upper >> 3 << 25
            yield word | draw.choice((0, 1, 2, 3, 17)) << 20 | draw.getrandbits(5) << 15 | draw.getrandbits(5) << 7


def test_every_compressed_instruction_is_decoded_as_capstone_decodes_it() -> None:
    """All halfwords: base, offset and size of each access, and what is refused."""
    for half in range(1 << 16):
        if half & 3 != 3:
            _check(decode.__wrapped__(half, 0, _ALL), half.to_bytes(2, "little"))


def test_wide_instructions_are_decoded_as_capstone_decodes_them() -> None:
    """All opcodes and functions, with registers that are drawn."""
    for word in _wide_words():
        _check(decode.__wrapped__(word & 0xFFFF, word >> 16, _ALL), word.to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("word", "lowers"),
    [
        (0x1141, True),  # c.addi sp, -16
        (0x0141, False),  # c.addi sp, 16
        (0x7179, True),  # c.addi16sp sp, -48
        (0x6145, False),  # c.addi16sp sp, 48
        (0x8122, True),  # c.mv sp, s0
        (0x81010113, True),  # addi sp, sp, -2032
        (0x7F010113, False),  # addi sp, sp, 2032
        (0x40A10133, True),  # sub sp, sp, a0
        (0xFF040113, True),  # addi sp, s0, -16
        (0x00012103, True),  # lw sp, 0(sp)
        (0x00A12023, False),  # sw a0, 0(sp)
    ],
)
def test_what_may_lower_the_stack_pointer_is_known(word: int, *, lowers: bool) -> None:
    """Everything that writes it, but for an addition of a number above zero."""
    assert decode(word & 0xFFFF, word >> 16, _ALL).lowers_stack == lowers


@pytest.mark.parametrize(
    ("word", "extension"),
    [
        (0x02B50533, "m"),  # mul a0, a0, a1
        (0x1005252F, "a"),  # lr.w a0, (a0)
        (0x00052507, "f"),  # flw fa0, 0(a0)
        (0x00B50553, "f"),  # fadd.s fa0, fa0, fa1
        (0x00301073, "f"),  # csrw fcsr, zero
        (0x6108, "f"),  # c.flw fa0, 0(a0)
        (0x6502, "f"),  # c.flwsp fa0, 0(sp)
        (0x8082, "c"),  # c.ret
    ],
)
def test_instruction_of_an_extension_that_the_core_lacks_is_refused(word: int, extension: str) -> None:
    """The target says which it has."""
    first, second = word & 0xFFFF, word >> 16
    assert not decode(first, second, _ALL).is_refused
    assert decode(first, second, _ALL - {extension}).is_refused


def test_span_ends_within_an_instruction() -> None:
    """A first half without its second is no instruction, and addresses follow from widths."""
    steps = decode_span(0x1000, bytes.fromhex("8280 1305 1500 b305".replace(" ", "")), _ALL)
    assert [(each.address, each.width, each.is_refused) for each in steps] == [
        (0x1000, 2, False), (0x1002, 4, False), (0x1006, 2, True),
    ]  # fmt: skip


# Around a5 = the middle of a block of 512 bytes.
_FORMS = (
    "lb a0, -128(a5)", "lbu a0, 127(a5)", "lh a0, -2(a5)", "lhu a0, 2(a5)", "lw a0, 124(a5)", "lw t0, -124(a5)",
    "sb a0, -1(a5)", "sh a0, 10(a5)", "sw a0, 64(a5)", "sw t0, -256(a5)", "lw a0, 4(sp)", "sw a0, 8(sp)",
    "addi sp, sp, -64\\n sw ra, 60(sp)\\n lw ra, 60(sp)\\n addi sp, sp, 64", "fence", "nop", "addi zero, zero, 5",
)  # fmt: skip
_ATOMIC_FORMS = (
    "lr.w a0, (a5)", "lr.w a0, (a5)\\n sc.w a1, a0, (a5)", "amoadd.w a0, a1, (a5)", "amoswap.w.aqrl a0, a1, (a5)",
    "amomaxu.w a0, a1, (a5)", "amomin.w a0, a1, (a5)", "amoand.w a0, a1, (a5)",
)  # fmt: skip
_FLOAT_FORMS = (
    "flw fa0, 8(a5)", "flw ft0, -256(a5)", "fsw fa0, 8(a5)", "fsw ft11, 252(a5)", "flw fa0, 0(sp)", "fsw fa0, 12(sp)",
    "fadd.s fa0, fa1, fa2", "fmadd.s fa0, fa1, fa2, fa3", "fcvt.w.s a0, fa0, rtz", "fcvt.s.wu fa0, a0", "fmv.x.w a0, fa0",
    "fmv.w.x fa0, a0", "fclass.s a0, fa0", "feq.s a0, fa0, fa1", "fsqrt.s fa0, fa1", "frcsr a0", "fscsr zero",
    "fmin.s fa0, fa1, fa2", "fsgnjn.s fa0, fa1, fa2",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "forms"),
    [
        ("rv32imc", _FORMS),
        ("rv32imac", _FORMS + _ATOMIC_FORMS),
        ("rv32imafc", _FORMS + _ATOMIC_FORMS + _FLOAT_FORMS),
    ],
)
def test_each_form_of_access_is_foreseen(program: Program, name: str, forms: tuple[str, ...]) -> None:
    """Unicorn reports no access that the guard did not compute from the encoding."""
    text = "".join(
        f"__attribute__((naked)) void f{number}(void *block) {{ __asm__ volatile("
        f'"mv a5, a0\\n addi sp, sp, -64\\n {form}\\n addi sp, sp, 64\\n ret"); }}\n'
        for number, form in enumerate(forms)
    )
    entries = tuple(f"f{number}" for number in range(len(forms)))
    core = program(text, name, entries=entries, audit=True)
    block = core.allocate("block", 512)
    for entry in entries:
        assert core.call(entry, block + 256).stack_bytes >= 64


@pytest.mark.parametrize("name", RISCV)
@pytest.mark.parametrize(
    "form", ["lh a0, 1(a0)", "lhu a0, 1(a0)", "lw a0, 2(a0)", "c.lw a0, 0(a1)", "sh a0, 1(a0)", "sw a0, 2(a0)"]
)
def test_misaligned_access_stops_the_core(program: Program, name: str, form: str) -> None:
    """Many cores of these targets trap then, and compilers make no such access."""
    core = program(f'__attribute__((naked)) void f(void *p, void *q) {{ __asm__ volatile("{form}\\n ret"); }}', name)
    block = core.allocate("arena", 16)
    with pytest.raises(EmulationError, match="misaligned access"):
        core.call("f", block, block + 2)


@pytest.mark.parametrize(
    ("name", "form", "shown"),
    [
        ("rv32imac", "ecall", "0073 0000"),
        ("rv32imac", "c.ebreak", "9002"),
        ("rv32imac", "wfi", "0073 1050"),
        ("rv32imac", "csrr a0, cycle", "2573 c000"),
        ("rv32imac", "c.unimp", "0000"),
        ("rv32imc", ".option arch, +a\\n lr.w a0, (a0)", "252f 1005"),
        ("rv32imac", ".option arch, +f\\n flw fa0, 0(a0)", "2507 0005|6108"),
    ],
)
def test_what_a_kernel_has_no_use_for_is_refused(program: Program, name: str, form: str, shown: str) -> None:
    """Calls of the system, waiting, counters, and instructions of extensions that the target lacks; the core survives it."""
    core = program(
        f'__attribute__((naked)) void f(void *p) {{ __asm__ volatile("{form}\\n ret"); }} int32_t g(void) {{ return 3; }}',
        name,
        entries=("f", "g"),
    )
    with pytest.raises(EmulationError, match=f"undefined or unsupported instruction ({shown})"):
        core.call("f", core.allocate("block", 16))
    assert core.call("g").value == 3


def test_arguments_beyond_eight_go_on_the_stack(program: Program) -> None:
    """The ninth and tenth are words at the stack pointer, which is a multiple of 16."""
    names = "abcdefghij"
    arguments = ", ".join(f"int32_t {each}" for each in names)
    terms = " + ".join(f"{number} * {each}" for number, each in enumerate(names, 1))
    core = program(f"int32_t f({arguments}) {{ return {terms}; }}", "rv32imac")
    values = [7 * 10**n % 10_007 for n in range(10)]
    assert core.call("f", *values).value == sum(n * each for n, each in enumerate(values, 1))
    naked = '__attribute__((naked)) uint32_t f(void) { __asm__ volatile("mv a0, sp\\n ret"); }'
    core = program(naked, "rv32imac")
    assert core.call("f", *range(9)).value % 16 == 0
