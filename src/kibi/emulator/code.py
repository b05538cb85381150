"""The table that the hook reads: the accesses and the costs of each instruction of an image."""

import numpy as np
from numpy.typing import NDArray
from unicorn import arm_const

from kibi.emulator.cycles import cycles_after_jump, cycles_behind
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
_Row = tuple[int, int, int, int, int, int, int, int, int, int, int, int]


def code_table(image: Image, target: Target) -> tuple[int, NDArray[np.void]]:
    """The address of the first instruction, and an entry of `INSTRUCTION` for each two bytes from there on.

    Entries where no instruction starts are marked as refused: execution never gets there by fair means.
    """
    first = min((start for start, _ in image.code_spans), default=0)
    end = max((stop for _, stop in image.code_spans), default=0)
    table = np.zeros((end - first) // 2, dtype=INSTRUCTION)
    table["flags"], table["align"] = int(Flag.REFUSED), 1
    for segment in image.segments:
        for start, stop in image.code_spans:
            if segment.address <= start < segment.address + len(segment.data):
                located = decode_span(start, segment.data[start - segment.address : stop - segment.address])
                for before, current in zip([None, *located], located, strict=False):
                    table[(current.address - first) // 2] = _row(before, current, target)
    return first, table


def _row(before: Located | None, current: Located, target: Target) -> _Row:
    instruction = current.instruction
    base, offset = instruction.base, instruction.offset
    if base == PC and instruction.size:
        base, offset = None, offset + (current.address + 4 & ~3)
    elif instruction.kind is Form.TABLE_BRANCH and base is None:
        offset += current.address
    align = instruction.align
    if not target.unaligned_words and instruction.size:
        align = max(align, min(instruction.size & -instruction.size, 4))
    flags = _flags(instruction, current.condition)
    return (
        int(flags), _register(base), _register(instruction.index), instruction.shift, _signed(offset), instruction.size,
        0, align, instruction.width, *_costs(before, current, target.timing), 0,
    )  # fmt: skip


def _costs(before: Located | None, current: Located, timing: Timing | None) -> tuple[int, int]:
    if timing is None:
        return 0, 0
    return cycles_behind(timing, before, current), cycles_after_jump(timing, current)


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
