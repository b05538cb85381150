"""The table that the plugin reads: what each instruction of an image does to calls and to the stack pointer."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.qemu.effects import effects_of
from kibi.qemu.plugin import PLACE, Flag
from kibi.targets import InstructionSet, Target
from kibi.toolchain import Image


def place_table(image: Image, target: Target) -> tuple[int, NDArray[np.void]]:
    """The address of the first instruction, and an entry of `PLACE` for each two bytes from there on."""
    first, end = image.code_range
    table = _table(first, end, image.code, target.instruction_set, unaligned_words=target.unaligned_words).copy()
    for start, _, _ in image.functions:
        table["flags"][(start - first) // 2] |= int(Flag.ENTERS)
    return first, table


@lru_cache(maxsize=16)  # many cores are made of few images
def _table(
    first: int,
    end: int,
    spans: tuple[tuple[int, bytes], ...],
    instruction_set: InstructionSet,
    *,
    unaligned_words: bool,
) -> NDArray[np.void]:
    table = np.zeros((end - first) // 2 + 1, dtype=PLACE)
    table["flags"] = 0 if unaligned_words else int(Flag.ALIGNED)
    for start, code in spans:
        for address, flag, amount in effects_of(instruction_set)(start, code):
            place = table[(address - first) // 2]
            place["flags"] |= int(flag)
            if flag is not Flag.RETURNED:
                place["amount"] = amount
    return table
