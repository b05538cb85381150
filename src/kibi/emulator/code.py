"""The table that the hook reads: the accesses and the costs of each instruction of an image."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from unicorn import arm_const

from kibi.emulator.costs import Cost
from kibi.emulator.cycles import costs
from kibi.emulator.hook import INSTRUCTION, Flag
from kibi.emulator.thumb import ALWAYS, LR, PC, SP, Form, Instruction, Located, decode_span
from kibi.targets import Target, Timing
from kibi.toolchain import Image

_REGISTERS = tuple(
    {SP: arm_const.UC_ARM_REG_SP, LR: arm_const.UC_ARM_REG_LR, PC: arm_const.UC_ARM_REG_PC}.get(
        number, arm_const.UC_ARM_REG_R0 + number
    )
    for number in range(16)
)
_Row = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int]


def code_table(image: Image, target: Target) -> tuple[int, NDArray[np.void]]:
    """The address of the first instruction, and an entry of `INSTRUCTION` for each two bytes from there on, read-only.

    Entries where no instruction starts are marked as refused: execution never gets there by fair means.
    """
    spans = tuple(
        (start, segment.data[start - segment.address : stop - segment.address])
        for segment in image.segments
        for start, stop in image.code_spans
        if segment.address <= start < segment.address + len(segment.data)
    )
    first = min((start for start, _ in image.code_spans), default=0)
    end = max((stop for _, stop in image.code_spans), default=0)
    return first, _table(first, end, spans, target.timing, unaligned_words=target.unaligned_words)


@lru_cache(maxsize=16)  # many cores are made of few images
def _table(
    first: int, end: int, spans: tuple[tuple[int, bytes], ...], timing: Timing | None, *, unaligned_words: bool
) -> NDArray[np.void]:
    """The entries from the first address to the last one, for pieces of code with their addresses."""
    table = np.zeros((end - first) // 2, dtype=INSTRUCTION)
    table["flags"], table["align"] = int(Flag.REFUSED), 1
    for start, code in spans:
        located = decode_span(start, code)
        places = [(each.address - first) // 2 for each in located]
        taken = [Cost(0, 0)] * len(located) if timing is None else costs(timing, located)
        table[places] = [
            _row(current, cost, unaligned_words=unaligned_words) for current, cost in zip(located, taken, strict=True)
        ]
    table.flags.writeable = False
    return table


def _row(current: Located, cost: Cost, *, unaligned_words: bool) -> _Row:
    instruction = current.instruction
    base, offset = instruction.base, instruction.offset
    if base == PC and instruction.size:
        base, offset = None, offset + (current.address + 4 & ~3)
    elif instruction.kind is Form.TABLE_BRANCH and base is None:
        offset += current.address
    align = instruction.align
    if not unaligned_words and instruction.size:
        align = max(align, min(instruction.size & -instruction.size, 4))
    flags = _flags(instruction, current.condition)
    return (
        int(flags), _register(base), _register(instruction.index), instruction.shift, _signed(offset), instruction.size,
        0, align, instruction.width, cost.following, cost.jumped, 0, cost.odd, cost.even,
    )  # fmt: skip


def _flags(instruction: Instruction, condition: int) -> Flag:
    flags = Flag(0)
    if instruction.kind is Form.REFUSED:
        flags |= Flag.REFUSED
    if instruction.size:
        flags |= Flag.STORES if instruction.is_store else Flag.LOADS
    if instruction.lowers_stack:
        flags |= Flag.MOVES_STACK
    if condition != ALWAYS:
        flags |= Flag.CONDITIONAL
    return flags


def _register(number: int | None) -> int:
    return 0 if number is None else _REGISTERS[number]


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
