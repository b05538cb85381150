"""The table that the hook reads: the accesses and the costs of each instruction of an image."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.emulator.architecture import Step
from kibi.emulator.architectures import architecture_of
from kibi.emulator.hook import INSTRUCTION, Flag
from kibi.targets import Target
from kibi.toolchain import Image

_Row = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int, int]


def code_table(image: Image, target: Target) -> tuple[int, NDArray[np.void]]:
    """The address of the first instruction, and an entry of `INSTRUCTION` for each two bytes from there on, read-only.

    Entries where no instruction starts are marked as refused: execution never gets there by fair means.
    """
    first, end = image.code_range
    return first, _table(first, end, image.code, replace(target, clock_hz=0))


@lru_cache(maxsize=16)  # many cores are made of few images
def _table(first: int, end: int, spans: tuple[tuple[int, bytes], ...], target: Target) -> NDArray[np.void]:
    """The entries from the first address to the last one, for pieces of code with their addresses."""
    table = np.zeros((end - first) // 2, dtype=INSTRUCTION)
    table["flags"], table["align"] = int(Flag.REFUSED), 1
    decode = architecture_of(target).decode
    for start, code in spans:
        steps = decode(start, code, target)
        table[[(each.address - first) // 2 for each in steps]] = [_row(each) for each in steps]
    table.flags.writeable = False
    return table


def _row(step: Step) -> _Row:
    return (
        int(_flags(step)), step.base, step.index, step.shift, _signed(step.offset), step.size, 0, step.align, step.width,
        step.cost.following, step.cost.jumped, 0, step.cost.odd, step.cost.even,
    )  # fmt: skip


def _flags(step: Step) -> Flag:
    flags = Flag(0)
    if step.is_refused:
        flags |= Flag.REFUSED
    if step.size:
        flags |= Flag.STORES if step.is_store else Flag.LOADS
    if step.lowers_stack:
        flags |= Flag.MOVES_STACK
    if step.is_conditional:
        flags |= Flag.CONDITIONAL
    if step.is_predicted:
        flags |= Flag.PREDICTED
    return flags


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
