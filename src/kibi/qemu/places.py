"""The table that the plugin reads: what each instruction of an image does to calls and to the stack pointer."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.emulator.arm.thumb import ALWAYS, SP, Form, Located, decode_span
from kibi.qemu.plugin import PLACE, Flag
from kibi.qemu.vectors import is_vector
from kibi.targets import Target
from kibi.toolchain import Image

Effect = tuple[int, Flag, int]
"""An address, what is done there, and by how much."""
_STACK_BIT = 1 << SP
_BEFORE = 1 << 10
"""The bit of a load that adds the number to the base before it accesses memory."""


def place_table(image: Image, target: Target) -> tuple[int, NDArray[np.void]]:
    """The address of the first instruction, and an entry of `PLACE` for each two bytes from there on."""
    spans = tuple(
        (start, segment.data[start - segment.address : stop - segment.address])
        for segment in image.segments
        for start, stop in image.code_spans
        if segment.address <= start < segment.address + len(segment.data)
    )
    first = min((start for start, _ in image.code_spans), default=0)
    end = max((stop for _, stop in image.code_spans), default=0)
    table = _table(first, end, spans, unaligned_words=target.unaligned_words).copy()
    for start, _, _ in image.functions:
        table["flags"][(start - first) // 2] |= int(Flag.ENTERS)
    return first, table


@lru_cache(maxsize=16)  # many cores are made of few images
def _table(first: int, end: int, spans: tuple[tuple[int, bytes], ...], *, unaligned_words: bool) -> NDArray[np.void]:
    table = np.zeros((end - first) // 2 + 1, dtype=PLACE)
    table["flags"] = 0 if unaligned_words else int(Flag.ALIGNED)
    for start, code in spans:
        for address, flag, amount in _effects(start, code):
            place = table[(address - first) // 2]
            place["flags"] |= int(flag)
            if flag is not Flag.RETURNED:
                place["amount"] = amount
    return table


def _effects(start: int, code: bytes) -> Iterator[Effect]:
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
