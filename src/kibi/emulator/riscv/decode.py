"""RISC-V instructions for the emulator: what each accesses in memory, and whether it may lower the stack pointer.

Here are the base instructions of 32 bits (I) and the extensions M, A, F and C, by "The RISC-V Instruction Set Manual, Volume I",
version 20191213, chapter 24. Whatever is in none of the tables, or of an extension that the target does not have, is refused:
undefined encodings, hints of the compressed instructions aside, and what a kernel has no use for (ECALL, EBREAK, WFI, FENCE.I,
control registers other than those of the floating-point unit).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from unicorn import riscv_const

from kibi.emulator.architecture import Step

REGISTERS = (0, *(riscv_const.UC_RISCV_REG_X0 + number for number in range(1, 32)))
"""Unicorn's numbers of the registers; 0 for the first one, which is always zero: an address that starts from it is its offset."""
RETURN_ADDRESS, STACK = 1, 2
_ADDI = 0x13


@dataclass(frozen=True, slots=True)
class _Wide:
    """Instructions of 32 bits with one opcode, for fields that are in these sets; None for a field that takes any value.

    Attributes:
        extension: the one that has them.
        third, seventh, second: the fields funct3, funct7 and rs2.
        access: `load`, `store` or `atomic`, of 1 << (funct3 & 3) bytes; or empty.
        writes: True if there is a destination among the integer registers.
    """

    extension: str
    third: frozenset[int] | None = None
    seventh: frozenset[int] | None = None
    second: frozenset[int] | None = None
    access: str = ""
    writes: bool = True


def _set(*values: int) -> frozenset[int]:
    return frozenset(values)


_ANY_ORDER = tuple(range(4))
_ROUNDING = _set(0, 1, 2, 3, 4, 7)
_WIDE: Mapping[int, tuple[_Wide, ...]] = {
    0x03: (_Wide("i", _set(0, 1, 2, 4, 5), access="load"),),
    0x07: (_Wide("f", _set(2), access="load", writes=False),),
    0x0F: (_Wide("i", _set(0), writes=False),),  # FENCE
    0x13: (
        _Wide("i", _set(0, 2, 3, 4, 6, 7)),
        _Wide("i", _set(1), _set(0)),
        _Wide("i", _set(5), _set(0, 0x20)),
    ),
    0x17: (_Wide("i"),),
    0x23: (_Wide("i", _set(0, 1, 2), access="store", writes=False),),
    0x27: (_Wide("f", _set(2), access="store", writes=False),),
    0x2F: (
        _Wide("a", _set(2), frozenset(2 << 2 | order for order in _ANY_ORDER), _set(0), access="load"),  # LR.W
        _Wide(
            "a", _set(2), frozenset(kind << 2 | order for kind in (0, 1, 3, 4, 8, 12, 16, 20, 24, 28) for order in _ANY_ORDER),
            access="atomic",
        ),
    ),
    0x33: (
        _Wide("i", None, _set(0)),
        _Wide("i", _set(0, 5), _set(0x20)),
        _Wide("m", None, _set(1)),
    ),
    0x37: (_Wide("i"),),
    **dict.fromkeys((0x43, 0x47, 0x4B, 0x4F), (_Wide("f", _ROUNDING, frozenset(range(0, 128, 4)), writes=False),)),
    0x53: (
        _Wide("f", _ROUNDING, _set(0x00, 0x04, 0x08, 0x0C), writes=False),
        _Wide("f", _ROUNDING, _set(0x2C), _set(0), writes=False),
        _Wide("f", _set(0, 1, 2), _set(0x10), writes=False),
        _Wide("f", _set(0, 1), _set(0x14), writes=False),
        _Wide("f", _ROUNDING, _set(0x60), _set(0, 1)),
        _Wide("f", _set(0, 1), _set(0x70), _set(0)),
        _Wide("f", _set(0, 1, 2), _set(0x50)),
        _Wide("f", _ROUNDING, _set(0x68), _set(0, 1), writes=False),
        _Wide("f", _set(0), _set(0x78), _set(0), writes=False),
    ),
    0x63: (_Wide("i", _set(0, 1, 4, 5, 6, 7), writes=False),),
    0x67: (_Wide("i", _set(0)),),
    0x6F: (_Wide("i"),),
    0x73: (_Wide("f", _set(1, 2, 3, 5, 6, 7), _set(0), _set(1, 2, 3)),),  # FFLAGS, FRM, FCSR
}  # fmt: skip
"""The instructions of 32 bits by their opcodes."""


def decode_span(
    address: int, code: bytes, extensions: frozenset[str], *, unaligned_words: bool = False
) -> tuple[Step, ...]:
    """Decodes all instructions of a piece of code without data in it.

    Args:
        address: the address of the piece.
        code: its bytes; an incomplete instruction at the end is refused.
        extensions: the letters of the extensions that the core has.
        unaligned_words: True if it loads and stores words and half words at any address.
    """
    halves = memoryview(code[: len(code) & ~1]).cast("H")
    position, result = 0, []
    while position < len(halves):
        second = halves[position + 1] if position + 1 < len(halves) else None
        step = decode(halves[position], second if halves[position] & 3 == 3 else 0, extensions)
        align = step.align if unaligned_words else max(step.align, step.size)
        result.append(replace(step, address=address + 2 * position, align=align))
        position += step.width // 2
    return tuple(result)


@lru_cache(maxsize=1 << 16)
def decode(first: int, second: int | None, extensions: frozenset[str]) -> Step:
    """Decodes an instruction from its first halfword, and its second where it has one, as if it were at address 0.

    The alignment that it states is that which its access needs on every core.
    """
    if first & 3 != 3:
        found = _compressed(first, extensions) if "c" in extensions else None
        return found or Step(0, 2, is_refused=True)
    if second is None:
        return Step(0, 2, is_refused=True)
    return _wide(first | second << 16, extensions) or Step(0, 4, is_refused=True)


def _wide(word: int, extensions: frozenset[str]) -> Step | None:
    """An instruction of 32 bits; None for one that is refused."""
    target, third, base, second, seventh = (
        word >> 7 & 31, word >> 12 & 7, word >> 15 & 31, word >> 20 & 31, word >> 25,
    )  # fmt: skip
    found = next(
        (each for each in _WIDE.get(word & 0x7F, ()) if _matches(each, third, seventh, second, extensions)), None
    )
    if found is None:
        return None
    upper = _signed(word >> 20, 12)
    raises = word & 0x7F == _ADDI and third == 0 and base == STACK and upper >= 0
    lowers = found.writes and target == STACK and not raises
    if not found.access:
        return Step(0, 4, lowers_stack=lowers)
    is_atomic = word & 0x7F == 0x2F
    is_store = found.access != "load"
    offset = 0 if is_atomic else _signed(word >> 25 << 5 | target, 12) if is_store else upper
    size = 1 << (third & 3)
    return Step(
        0, 4, base=REGISTERS[base], offset=offset, size=size, align=size if is_atomic else 1, is_store=is_store,
        lowers_stack=lowers,
    )  # fmt: skip


def _matches(form: _Wide, third: int, seventh: int, second: int, extensions: frozenset[str]) -> bool:
    fields = ((form.third, third), (form.seventh, seventh), (form.second, second))
    has = form.extension == "i" or form.extension in extensions
    return has and all(allowed is None or value in allowed for allowed, value in fields)


def _compressed(half: int, extensions: frozenset[str]) -> Step | None:
    """An instruction of 16 bits; None for one that is refused. Its number is quadrant and funct3."""
    register, second = half >> 7 & 31, half >> 2 & 31
    moved = _moved(half, extensions)
    if moved is not None:
        return moved
    is_valid, lowers = False, False
    match half & 3, half >> 13:
        case 0, 0:  # ADDI4SPN
            is_valid = half >> 5 != 0
        case 1, 0 | 2:  # ADDI, LI
            is_valid = True
            lowers = register == STACK and (half >> 13 == 2 or half >> 12 & 1 == 1)
        case 1, 1 | 5 | 6 | 7:  # JAL, J, BEQZ, BNEZ
            is_valid = True
        case 1, 3:  # ADDI16SP, LUI: both have no zero
            is_valid = (half >> 12 & 1, second) != (0, 0)
            lowers = register == STACK and half >> 12 & 1 == 1
        case 1, 4:  # shifts by less than 32; ANDI; SUB, XOR, OR, AND
            kind = half >> 10 & 3
            is_valid = kind == 2 or half >> 12 & 1 == 0
        case 2, 0:  # SLLI
            is_valid = half >> 12 & 1 == 0
            lowers = register == STACK
        case 2, 4:  # JR, MV, JALR, ADD; without registers EBREAK, or undefined
            is_valid = second != 0 or register != 0
            lowers = register == STACK and second != 0
    return Step(0, 2, lowers_stack=lowers) if is_valid else None


def _moved(half: int, extensions: frozenset[str]) -> Step | None:
    """A load or store of 16 bits: of a word by a register of x8 to x15, or by the stack pointer."""
    register = half >> 7 & 31
    has_floats = "f" in extensions
    near = (half >> 10 & 7) << 3 | (half >> 6 & 1) << 2 | (half >> 5 & 1) << 6
    match half & 3, half >> 13:
        case (0, 2) | (0, 3) if half >> 13 == 2 or has_floats:  # LW, FLW
            return Step(0, 2, base=REGISTERS[8 + (register & 7)], offset=near, size=4)
        case (0, 6) | (0, 7) if half >> 13 == 6 or has_floats:  # SW, FSW
            return Step(0, 2, base=REGISTERS[8 + (register & 7)], offset=near, size=4, is_store=True)
        case (2, 2) | (2, 3) if register != 0 if half >> 13 == 2 else has_floats:  # LWSP, FLWSP
            offset = (half >> 12 & 1) << 5 | (half >> 4 & 7) << 2 | (half >> 2 & 3) << 6
            lowers = half >> 13 == 2 and register == STACK
            return Step(0, 2, base=REGISTERS[STACK], offset=offset, size=4, lowers_stack=lowers)
        case (2, 6) | (2, 7) if half >> 13 == 6 or has_floats:  # SWSP, FSWSP
            offset = (half >> 9 & 15) << 2 | (half >> 7 & 3) << 6
            return Step(0, 2, base=REGISTERS[STACK], offset=offset, size=4, is_store=True)
    return None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value
