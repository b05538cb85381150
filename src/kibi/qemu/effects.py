"""What instructions do to calls and to the stack pointer, as the plugin has to know it, for Thumb and for RISC-V code."""

from collections.abc import Callable, Iterator

from kibi.emulator.arm.thumb import ALWAYS, SP, Form, Located, decode_span
from kibi.emulator.riscv import decode as riscv
from kibi.qemu.plugin import Flag
from kibi.qemu.vectors import is_vector
from kibi.targets import InstructionSet

Effect = tuple[int, Flag, int]
"""An address, what is done there, and by how much."""
_STACK_BIT = 1 << SP
_BEFORE = 1 << 10
"""The bit of a load that adds the number to the base before it accesses memory."""
_EXTENSIONS = frozenset("imafc")
_RISCV_STACK, _LINKS = 2, (1, 5)
"""The registers of RISC-V: the stack pointer, and those that calls put the address of the next instruction into."""


def effects_of(instruction_set: InstructionSet) -> Callable[[int, bytes], Iterator[Effect]]:
    """Returns the function that yields the effects of a piece of code, from its address and its bytes."""
    return _riscv_effects if instruction_set is InstructionSet.RISCV else _thumb_effects


def _thumb_effects(start: int, code: bytes) -> Iterator[Effect]:
    """Yields what the instructions of a piece of Thumb code do that the plugin has to know."""
    halves = memoryview(code[: len(code) & ~1]).cast("H")
    for each in decode_span(start, code):
        at = (each.address - start) // 2
        first = halves[at]
        second = halves[at + 1] if each.instruction.width == 4 and at + 1 < len(halves) else 0
        if is_vector(first, second):
            yield each.address, Flag.VECTOR, 0
        elif _is_call(each, first):
            yield each.address, Flag.CALLS, each.instruction.width
            yield each.address + each.instruction.width, Flag.RETURNED, 0
        elif effect := _stack_effect(each, first, second):
            yield each.address, *effect


def _is_call(each: Located, first: int) -> bool:
    """True for BL and BLX."""
    return each.instruction.kind is Form.BRANCH_LINK or (
        each.instruction.kind is Form.BRANCH_REGISTER and first & 0xFF80 == 0x4780
    )


def _stack_effect(each: Located, first: int, second: int) -> tuple[Flag, int] | None:
    """How the stack pointer follows from an instruction; None where it neither writes it nor accesses memory by it."""
    found = each.instruction
    if found.base == SP and found.size:
        if not found.updates_base:
            return None if found.index is not None else (Flag.BASED, found.offset)
        if found.lowers_stack:
            return Flag.PUSHES, 0
        if found.kind is Form.LOAD:  # by a number of its own, before the access or after it
            return Flag.LEAVES, 0 if second & _BEFORE else second & 0xFF
        return Flag.POPS, 0
    amount = _added(first, second)
    if amount is not None and each.condition == ALWAYS:
        return Flag.MOVES, amount
    return (Flag.LOSES, 0) if found.written & _STACK_BIT or found.lowers_stack or amount is not None else None


def _added(first: int, second: int) -> int | None:
    """The number that `add sp, #n` or `sub sp, #n` adds to the stack pointer; None for another instruction."""
    if first & 0xFF00 == 0xB000:
        amount = 4 * (first & 0x7F)
        return -amount if first & 0x80 else amount
    if second & 0x8F00 != 0x0D00:
        return None
    field = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    match first & 0xFBFF:
        case 0xF10D | 0xF11D:
            return _expanded(field)
        case 0xF1AD | 0xF1BD:
            return -_expanded(field)
        case 0xF20D:
            return field
        case 0xF2AD:
            return -field
    return None


def _expanded(field: int) -> int:
    """The number that a modified immediate of 12 bits is."""
    low = field & 0xFF
    if field >> 10 == 0:
        return (low, low << 16 | low, low << 24 | low << 8, low * 0x0101_0101)[field >> 8]
    value, turns = 0x80 | field & 0x7F, field >> 7
    return (value >> turns | value << (32 - turns)) & 0xFFFF_FFFF


def _riscv_effects(start: int, code: bytes) -> Iterator[Effect]:
    """Yields what the instructions of a piece of RISC-V code do that the plugin has to know."""
    halves = memoryview(code[: len(code) & ~1]).cast("H")
    for step in riscv.decode_span(start, code, _EXTENSIONS):
        at = (step.address - start) // 2
        word = halves[at] | (halves[at + 1] << 16 if step.width == 4 and at + 1 < len(halves) else 0)
        amount = _riscv_added(word)
        if _is_riscv_call(word):
            yield step.address, Flag.CALLS, step.width
            yield step.address + step.width, Flag.RETURNED, 0
        elif amount is not None:
            yield step.address, Flag.MOVES, amount
        elif step.lowers_stack:
            yield step.address, Flag.LOSES, 0
        elif step.size and step.base == riscv.REGISTERS[_RISCV_STACK]:
            yield step.address, Flag.BASED, step.offset


def _is_riscv_call(word: int) -> bool:
    """True for JAL and JALR that keep the address of the next instruction, and for their forms of 16 bits."""
    if word & 3 == 3:
        return word & 0x7F in (0x6F, 0x67) and word >> 7 & 31 in _LINKS
    is_jal = word & 0xE003 == 0x2001
    return is_jal or (word & 0xF07F == 0x9002 and word & 0x0F80 != 0)


def _riscv_added(word: int) -> int | None:
    """The number that an ADDI of the stack pointer adds to it, in each of its forms; None for another instruction."""
    if word & 0x000F_FFFF == _RISCV_STACK << 15 | _RISCV_STACK << 7 | 0x13:
        return _signed(word >> 20, 12)
    if word & 0xEF83 == 0x6101:
        bits = word >> 12 & 1, word >> 3 & 3, word >> 5 & 1, word >> 2 & 1, word >> 6 & 1
        return _signed(bits[0] << 9 | bits[1] << 7 | bits[2] << 6 | bits[3] << 5 | bits[4] << 4, 10)
    if word & 0xEF83 == 0x0101:
        return _signed((word >> 12 & 1) << 5 | word >> 2 & 31, 6)
    return None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value
