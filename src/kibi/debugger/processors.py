"""The families of cores that a debugger runs models on."""

from kibi.debugger.cortex_m import CortexM
from kibi.debugger.processor import Processor
from kibi.debugger.riscv import RiscV
from kibi.errors import BoardError
from kibi.targets import Target

_PROCESSORS: tuple[Processor, ...] = (CortexM(), RiscV())
TARGETS = tuple(name for each in _PROCESSORS for name in each.targets)
"""The targets whose code runs on boards."""


def processor_of(target: str, what: str) -> Processor:
    """Returns the processor that runs a target's code.

    Args:
        target: its name.
        what: what has that core, for the error.

    Raises:
        BoardError: none does.
    """
    for each in _PROCESSORS:
        if target in each.targets:
            return each
    raise BoardError(f"{what} has a {target}, but models run on boards with these cores alone: {', '.join(TARGETS)}.")


def family_of(target: Target) -> Processor:
    """Returns the processor with a target's instruction set, on boards or elsewhere.

    Args:
        target: for Thumb or RISC-V.
    """
    return next(each for each in _PROCESSORS if each.instruction_set is target.instruction_set)
