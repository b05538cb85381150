"""Thumb instructions, decoded for the emulator: what each accesses in memory, and its class for timing.

Encodings are those of the Arm architecture reference manuals for Armv6-M (DDI 0419), Armv7-M (DDI 0403) and Armv8-M
(DDI 0553), chapter "The Thumb instruction set encoding". Whatever is not decoded here is `Form.REFUSED`, and the core
stops before it: undefined encodings, and what a kernel has no use for (SVC, WFI, breakpoints, other coprocessors).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache

SP, LR, PC = 13, 14, 15
ALWAYS = 14


class Form(Enum):
    """Classes of instructions that the timing tables tell apart."""

    DATA = auto()
    MULTIPLY = auto()
    MULTIPLY_ACCUMULATE = auto()
    MULTIPLY_LONG = auto()
    MULTIPLY_ACCUMULATE_LONG = auto()
    MULTIPLY_DSP = auto()
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    LOAD_MULTIPLE = auto()
    STORE_MULTIPLE = auto()
    LOAD_DUAL = auto()
    STORE_DUAL = auto()
    TABLE_BRANCH = auto()
    BRANCH = auto()
    BRANCH_LINK = auto()
    BRANCH_REGISTER = auto()
    COMPARE_BRANCH = auto()
    IF_THEN = auto()
    HINT = auto()
    BARRIER = auto()
    STATUS = auto()
    FLOAT = auto()
    FLOAT_MULTIPLY_ACCUMULATE = auto()
    FLOAT_DIVIDE = auto()
    FLOAT_MOVE_PAIR = auto()
    FLOAT_LOAD = auto()
    FLOAT_STORE = auto()
    FLOAT_LOAD_MULTIPLE = auto()
    FLOAT_STORE_MULTIPLE = auto()
    REFUSED = auto()


_STORES = frozenset({Form.STORE, Form.STORE_MULTIPLE, Form.STORE_DUAL, Form.FLOAT_STORE, Form.FLOAT_STORE_MULTIPLE})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, independent of its address.

    Attributes:
        width: its bytes, 2 or 4.
        kind: its class.
        base: the register that its address starts from, `PC` for the aligned program counter, or None.
        index: the register that is added, shifted left by `shift`, or None.
        offset: the number that is added to the base.
        size: bytes that it accesses, all in one piece; 0 for an instruction that accesses nothing.
        align: the alignment that its address needs even on a core that loads words from any address.
        registers: how many registers a multiple load or store moves.
        written: the core registers that it writes, as a set of bits.
        lowers_stack: True if the stack pointer may be lower afterwards.
        loads_pc: True if it branches by loading the program counter.
        updates_base: True if it writes the address back.
        if_then: the state that an IT instruction sets: first condition and mask.
    """

    width: int
    kind: Form
    base: int | None = None
    index: int | None = None
    shift: int = 0
    offset: int = 0
    size: int = 0
    align: int = 1
    registers: int = 0
    written: int = 0
    lowers_stack: bool = False
    loads_pc: bool = False
    updates_base: bool = False
    if_then: int = 0

    @property
    def is_store(self) -> bool:
        """True if the instruction writes the memory that it accesses."""
        return self.kind in _STORES

    @property
    def address_registers(self) -> int:
        """The registers that its address is made of, as a set of bits; empty where it accesses nothing."""
        used = [register for register in (self.base, self.index) if register is not None and self.size]
        return sum(1 << register for register in set(used))


@dataclass(frozen=True, slots=True)
class Located:
    """An instruction at its place: its address, and the condition under which it is executed (`ALWAYS`, or an IT's)."""

    address: int
    condition: int
    instruction: Instruction


def decode_span(address: int, code: bytes) -> tuple[Located, ...]:
    """Decodes all instructions of a piece of code without data in it.

    Args:
        address: the address of the piece.
        code: its bytes; an incomplete instruction at the end is refused.
    """
    halves = memoryview(code[: len(code) & ~1]).cast("H")
    result, position, it_state = [], 0, 0
    while position < len(halves):
        second = halves[position + 1] if position + 1 < len(halves) else None
        instruction = decode(halves[position], second)
        condition = it_state >> 4 if it_state else ALWAYS
        it_state = (it_state & 0xE0) | (it_state << 1 & 0x1F) if it_state & 7 else 0
        result.append(Located(address + 2 * position, condition, instruction))
        if instruction.kind is Form.IF_THEN:
            it_state = instruction.if_then
        position += instruction.width // 2
    return tuple(result)


@lru_cache(maxsize=1 << 16)
def decode(first: int, second: int | None) -> Instruction:
    """Decodes an instruction from its first halfword, and its second where it has one."""
    if first < 0xE800:
        return _NARROW[first >> 12](first)
    if second is None:
        return Instruction(2, Form.REFUSED)
    return _decode_wide(first, second)


def _bits(mask: int) -> int:
    return mask.bit_count()


def _data(width: int, destination: int, kind: Form = Form.DATA) -> Instruction:
    """An instruction that computes; one that writes the program counter is a branch."""
    if destination == PC:
        return Instruction(width, Form.BRANCH_REGISTER)
    return Instruction(width, kind, written=1 << destination, lowers_stack=destination == SP)


def _shift_add(h: int) -> Instruction:
    return _data(2, h & 7)


def _immediate(h: int) -> Instruction:
    if h >> 11 == 0b00101:  # CMP
        return Instruction(2, Form.DATA)
    return _data(2, h >> 8 & 7)


def _register_or_literal(h: int) -> Instruction:
    destination = h & 7
    match h >> 10 & 0b11:
        case 0b00:
            operation = h >> 6 & 15
            if operation in (0b1000, 0b1010, 0b1011):  # TST, CMP, CMN
                return Instruction(2, Form.DATA)
            return _data(2, destination, Form.MULTIPLY if operation == 0b1101 else Form.DATA)
        case 0b01:
            return _special(h)
        case _:
            register = h >> 8 & 7
            return Instruction(2, Form.LOAD, base=PC, offset=(h & 255) * 4, size=4, align=4, written=1 << register)


def _special(h: int) -> Instruction:
    match h >> 8 & 0b11:
        case 0b01:  # CMP
            return Instruction(2, Form.DATA)
        case 0b11:  # BX, BLX
            return Instruction(2, Form.BRANCH_REGISTER)
        case _:  # ADD, MOV
            return _data(2, h & 7 | h >> 4 & 8)


def _register_offset(h: int) -> Instruction:
    operation = h >> 9 & 7
    size = (4, 2, 1, 1, 4, 2, 1, 2)[operation]
    kind = Form.STORE if operation < 3 else Form.LOAD
    written = 0 if operation < 3 else 1 << (h & 7)
    return Instruction(2, kind, base=h >> 3 & 7, index=h >> 6 & 7, size=size, written=written)


def _immediate_offset(h: int) -> Instruction:
    size = {0b0110: 4, 0b0111: 1, 0b1000: 2}[h >> 12]
    is_load = h >> 11 & 1
    kind = Form.LOAD if is_load else Form.STORE
    written = (1 << (h & 7)) if is_load else 0
    return Instruction(2, kind, base=h >> 3 & 7, offset=(h >> 6 & 31) * size, size=size, written=written)


def _stack_offset(h: int) -> Instruction:
    is_load = h >> 11 & 1
    kind = Form.LOAD if is_load else Form.STORE
    written = (1 << (h >> 8 & 7)) if is_load else 0
    return Instruction(2, kind, base=SP, offset=(h & 255) * 4, size=4, written=written)


def _form_address(h: int) -> Instruction:
    return _data(2, h >> 8 & 7)


def _miscellaneous(h: int) -> Instruction:
    if h & 0x0500 == 0x0100:
        return Instruction(2, Form.COMPARE_BRANCH)
    if h & 0x0600 == 0x0400:
        return _push_pop(h)
    match h >> 8 & 15:
        case 0b0000:  # ADD SP, SUB SP
            return Instruction(2, Form.DATA, written=1 << SP, lowers_stack=bool(h & 0x80))
        case 0b0010 | 0b1010:  # extend, reverse
            return Instruction(2, Form.REFUSED) if h & 0x0FC0 == 0x0A80 else _data(2, h & 7)
        case 0b0110:  # CPS
            return Instruction(2, Form.STATUS if h & 0xFFE8 == 0xB660 else Form.REFUSED)
        case 0b1111 if h & 15:
            return Instruction(2, Form.IF_THEN, if_then=h & 255)
        case 0b1111 if h & 0xFF in (0x00, 0x10, 0x40):  # NOP, YIELD, SEV; WFE and WFI would wait for ever
            return Instruction(2, Form.HINT)
        case _:
            return Instruction(2, Form.REFUSED)


def _push_pop(h: int) -> Instruction:
    is_pop = h & 0x0800
    count = _bits(h & 0x1FF)
    if not count:
        return Instruction(2, Form.REFUSED)
    if is_pop:
        return Instruction(
            2, Form.LOAD_MULTIPLE, base=SP, size=4 * count, align=4, registers=count,
            written=h & 255 | 1 << SP, loads_pc=bool(h & 0x100), updates_base=True,
        )  # fmt: skip
    return Instruction(
        2, Form.STORE_MULTIPLE, base=SP, offset=-4 * count, size=4 * count, align=4, registers=count,
        written=1 << SP, lowers_stack=True, updates_base=True,
    )  # fmt: skip


def _multiple(h: int) -> Instruction:
    base, count, is_load = h >> 8 & 7, _bits(h & 255), h >> 11 & 1
    if not count:
        return Instruction(2, Form.REFUSED)
    return Instruction(
        2, Form.LOAD_MULTIPLE if is_load else Form.STORE_MULTIPLE, base=base, size=4 * count, align=4, registers=count,
        written=(h & 255 if is_load else 0) | 1 << base, updates_base=not (is_load and h >> base & 1),
    )  # fmt: skip


def _conditional_branch(h: int) -> Instruction:
    return Instruction(2, Form.REFUSED if h >> 8 & 15 >= 14 else Form.BRANCH)


def _branch(_h: int) -> Instruction:
    return Instruction(2, Form.BRANCH)


_NARROW = (
    _shift_add, _shift_add, _immediate, _immediate, _register_or_literal, _register_offset, _immediate_offset,
    _immediate_offset, _immediate_offset, _stack_offset, _form_address, _miscellaneous, _multiple, _conditional_branch,
    _branch,
)  # fmt: skip


def _decode_wide(first: int, second: int) -> Instruction:
    if first & 0xEC00 == 0xEC00:
        return _coprocessor(first, second)
    if first & 0xFE40 == 0xE800:
        return _wide_multiple(first, second)
    if first & 0xFE40 == 0xE840:
        return _dual_or_exclusive(first, second)
    if first & 0xFE00 == 0xEA00:
        return _wide_data(first, second, compares=(0b0000, 0b0100, 0b1000, 0b1101))
    if first & 0xF800 == 0xF000:
        return _wide_control(first, second) if second & 0x8000 else _wide_immediate(first, second)
    if first & 0xFE00 == 0xF800:
        return _wide_single(first, second)
    if first & 0xFF00 == 0xFA00:
        return _data(4, second >> 8 & 15)
    return _wide_multiply(first, second)


def _wide_data(first: int, second: int, compares: Sequence[int]) -> Instruction:
    destination, operation = second >> 8 & 15, first >> 5 & 15
    if destination == PC and first & 0x10 and operation in compares:
        return Instruction(4, Form.DATA)
    return _data(4, destination)


def _wide_immediate(first: int, second: int) -> Instruction:
    if first & 0x0200:
        return _data(4, second >> 8 & 15)
    return _wide_data(first, second, compares=(0b0000, 0b0100, 0b1000, 0b1101))


def _wide_control(first: int, second: int) -> Instruction:
    match second & 0x5000:
        case 0x5000:
            return Instruction(4, Form.BRANCH_LINK)
        case 0x1000:
            return Instruction(4, Form.BRANCH)
        case 0x4000:  # low-overhead loops of Armv8.1-M
            return Instruction(4, Form.REFUSED)
    if first >> 6 & 15 < 14:
        return Instruction(4, Form.BRANCH)
    match first & 0xFFF0:
        case 0xF380 | 0xF390:  # MSR; it can write the stack pointers
            return Instruction(4, Form.STATUS, lowers_stack=True)
        case 0xF3E0 | 0xF3F0:  # MRS
            return Instruction(4, Form.STATUS, written=1 << (second >> 8 & 15))
        case 0xF3B0 if second >> 4 & 15 in (2, 4, 5, 6):  # CLREX, DSB, DMB, ISB
            return Instruction(4, Form.BARRIER)
        case 0xF3A0 if second & 0xFF in (0, 1, 4):
            return Instruction(4, Form.HINT)
        case _:
            return Instruction(4, Form.REFUSED)


def _wide_multiply(first: int, second: int) -> Instruction:
    operation, variant, accumulator = first >> 4 & 7, second >> 4 & 15, second >> 12
    destination = 1 << (second >> 8 & 15)
    if first & 0x0080:
        both = destination | 1 << accumulator
        match operation, variant:
            case ((0 | 2), 0):
                return Instruction(4, Form.MULTIPLY_LONG, written=both)
            case ((1 | 3), 15):
                return Instruction(4, Form.DIVIDE, written=destination)
            case ((4 | 6), 0):
                return Instruction(4, Form.MULTIPLY_ACCUMULATE_LONG, written=both)
            case ((4 | 5 | 6), _):  # SMLALxy, SMLALD, SMLSLD, UMAAL
                return Instruction(4, Form.MULTIPLY_DSP, written=both)
            case _:
                return Instruction(4, Form.REFUSED)
    if operation == 0 and variant in (0, 1):
        plain = accumulator == PC and variant == 0
        return Instruction(4, Form.MULTIPLY if plain else Form.MULTIPLY_ACCUMULATE, written=destination)
    return Instruction(4, Form.MULTIPLY_DSP, written=destination)


def _wide_multiple(first: int, second: int) -> Instruction:
    mode, is_load, base = first >> 7 & 3, first & 0x10, first & 15
    count, write_back = _bits(second), bool(first & 0x20)
    if mode in (0, 3) or count < 1 or base == PC:
        return Instruction(4, Form.REFUSED)
    return Instruction(
        4, Form.LOAD_MULTIPLE if is_load else Form.STORE_MULTIPLE, base=base, offset=0 if mode == 1 else -4 * count,
        size=4 * count, align=4, registers=count, written=(second & 0x7FFF if is_load else 0) | write_back << base,
        lowers_stack=base == SP and write_back and mode == 2, loads_pc=bool(is_load and second & 0x8000),
        updates_base=write_back,
    )  # fmt: skip


def _dual_or_exclusive(first: int, second: int) -> Instruction:
    base, is_load = first & 15, bool(first & 0x10)
    if not first & 0x0120:
        return _exclusive(first, second)
    pre, up, write_back = first & 0x0100, first & 0x80, bool(first & 0x20)
    offset = (second & 255) * (4 if up else -4)
    if base == PC and (write_back or not is_load):
        return Instruction(4, Form.REFUSED)
    registers = 1 << (second >> 12) | 1 << (second >> 8 & 15)
    return Instruction(
        4, Form.LOAD_DUAL if is_load else Form.STORE_DUAL, base=base, offset=offset if pre else 0, size=8, align=4,
        registers=2, written=(registers if is_load else 0) | write_back << base,
        lowers_stack=base == SP and write_back and not up, updates_base=write_back,
    )  # fmt: skip


def _exclusive(first: int, second: int) -> Instruction:
    """LDREX, STREX, table branches, and the load-acquire and store-release of Armv8-M."""
    base, is_load, target = first & 15, bool(first & 0x10), 1 << (second >> 12)
    kind = Form.LOAD if is_load else Form.STORE
    if not first & 0x80:
        if not is_load and second >> 12 == PC:  # TT tests an address without accessing it
            return Instruction(4, Form.DATA, written=1 << (second >> 8 & 15))
        written = target if is_load else 1 << (second >> 8 & 15)
        return Instruction(4, kind, base=base, offset=(second & 255) * 4, size=4, align=4, written=written)
    operation = second >> 4 & 15
    if operation in (0, 1) and is_load:
        size, index = 1 + operation, second & 15
        if base == PC:  # the table follows; here the program counter is not aligned down
            return Instruction(4, Form.TABLE_BRANCH, index=index, shift=operation, offset=4, size=size)
        return Instruction(4, Form.TABLE_BRANCH, base=base, index=index, shift=operation, size=size)
    size = 1 << (operation & 3)
    if operation < 4 or size == 8 or operation == 6:
        return Instruction(4, Form.REFUSED)
    written = target if is_load else 1 << (second & 15) if operation & 4 else 0
    return Instruction(4, kind, base=base, size=size, align=size, written=written & 0x7FFF)


def _wide_single(first: int, second: int) -> Instruction:
    log_size, is_load, is_signed = first >> 5 & 3, bool(first & 0x10), first & 0x100
    base, register = first & 15, second >> 12
    if log_size == 3 or (is_signed and not is_load) or (base == PC and not is_load):
        return Instruction(4, Form.REFUSED)
    if is_load and register == PC and log_size < 2:  # PLD, PLI
        return Instruction(4, Form.HINT)
    plain = Instruction(
        4, Form.LOAD if is_load else Form.STORE, base=base, size=1 << log_size,
        written=1 << register & 0x7FFF if is_load else 0, lowers_stack=is_load and register == SP,
        loads_pc=is_load and register == PC, align=4 if is_load and register == PC else 1,
    )  # fmt: skip
    if base == PC:
        return replace(plain, offset=second & 0xFFF if first & 0x80 else -(second & 0xFFF), align=1 << log_size)
    if first & 0x80:
        return replace(plain, offset=second & 0xFFF)
    if second & 0x0800:
        pre, up, write_back = second & 0x0400, second & 0x0200, bool(second & 0x0100)
        offset = second & 255 if up else -(second & 255)
        return replace(
            plain, offset=offset if pre else 0, updates_base=write_back, written=plain.written | write_back << base,
            lowers_stack=plain.lowers_stack or (base == SP and write_back and not up),
        )  # fmt: skip
    if second & 0x07C0:
        return Instruction(4, Form.REFUSED)
    return replace(plain, index=second & 15, shift=second >> 4 & 3)


def _coprocessor(first: int, second: int) -> Instruction:
    """The floating-point extension: coprocessors 10 and 11."""
    if second >> 9 & 7 != 0b101 or first & 0xFF00 in (0xEF00, 0xFD00, 0xFF00) or first & 0xFE00 == 0xFC00:
        return Instruction(4, Form.REFUSED)
    if first & 0xFE00 == 0xEC00:
        return _float_memory(first, second)
    if first & 0xFF00 == 0xFE00:  # VSEL, VMAXNM, VRINT, VCVT of FPv5
        return Instruction(4, Form.FLOAT)
    if second & 0x10:  # VMOV between a core register and the extension, VMRS, VMSR
        to_core = first & 0x10 and second >> 12 != PC
        return Instruction(4, Form.FLOAT, written=1 << (second >> 12) if to_core else 0)
    match first >> 4 & 0b1011:
        case 0b0000 | 0b0001 | 0b1001 | 0b1010:
            return Instruction(4, Form.FLOAT_MULTIPLY_ACCUMULATE)
        case 0b1000:
            return Instruction(4, Form.FLOAT_DIVIDE)
        case 0b1011 if first & 15 == 1 and second & 0xC0 == 0xC0:  # VSQRT
            return Instruction(4, Form.FLOAT_DIVIDE)
        case _:
            return Instruction(4, Form.FLOAT)


def _float_memory(first: int, second: int) -> Instruction:
    is_load, base, words = bool(first & 0x10), first & 15, second & 255
    if first & 0x0FE0 == 0x0C40:
        to_core = (1 << (second >> 12) | 1 << base) if is_load else 0
        return Instruction(4, Form.FLOAT_MOVE_PAIR, written=to_core)
    pre, up, write_back = bool(first & 0x0100), bool(first & 0x80), bool(first & 0x20)
    if pre and not write_back:
        return Instruction(
            4, Form.FLOAT_LOAD if is_load else Form.FLOAT_STORE, base=base, offset=words * (4 if up else -4),
            size=8 if second & 0x0100 else 4, align=4, registers=2 if second & 0x0100 else 1,
        )  # fmt: skip
    if pre == up or not 1 <= words <= 32 or (base == PC and (write_back or not is_load)):
        return Instruction(4, Form.REFUSED)
    return Instruction(
        4, Form.FLOAT_LOAD_MULTIPLE if is_load else Form.FLOAT_STORE_MULTIPLE, base=base,
        offset=0 if up else -4 * words, size=4 * words, align=4, registers=words, written=write_back << base,
        lowers_stack=base == SP and write_back and pre, updates_base=write_back,
    )  # fmt: skip
