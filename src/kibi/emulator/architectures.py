"""The instruction sets that the emulated core has, by target."""

from kibi.emulator.architecture import Architecture
from kibi.emulator.arm import ARM
from kibi.emulator.riscv import RISCV
from kibi.errors import EmulationError
from kibi.targets import InstructionSet, Target, targets

_ARCHITECTURES = {InstructionSet.THUMB: ARM, InstructionSet.RISCV: RISCV}


def architecture_of(target: Target) -> Architecture:
    """Returns the instruction set of a target's core.

    Raises:
        EmulationError: the target's core is not emulated.
    """
    if not target.emulated_cpu or target.instruction_set not in _ARCHITECTURES:
        known = ", ".join(each.name for each in targets() if each.is_emulated)
        raise EmulationError(f"the target {target.name} is not emulated. Emulated are: {known}")
    return _ARCHITECTURES[target.instruction_set]
