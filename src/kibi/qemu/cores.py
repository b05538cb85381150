"""A core of the emulator that runs a target, with an image."""

from collections.abc import Sequence

from kibi.emulator import Core, Stored
from kibi.qemu.core import QemuCore
from kibi.qemu.process import why_missing
from kibi.targets import Memory, Runner, Target
from kibi.toolchain import Image


def emulated(
    image: Image,
    target: Target,
    *,
    memory: Memory | None = None,
    code_in_ram: bool = False,
    stored: Sequence[Stored] = (),
) -> Core | QemuCore:
    """Returns a core of the target's emulator with an image in its memory.

    Args:
        image: the program, linked for the target's layout.
        target: the processor.
        memory: how the core reads its flash, as of `Core`; QEMU estimates no cycles.
        code_in_ram: as of `Core`.
        stored: what is in flash after the image.

    Raises:
        EmulationError: nothing emulates the target.
        ToolchainError: QEMU is to emulate it, and is missing, too old, or does not start; or what counts cannot be compiled.
    """
    if target.runner is Runner.QEMU:
        return QemuCore(image, target, stored=stored)
    return Core(image, target, memory=memory, code_in_ram=code_in_ram, stored=stored)


def why_not_emulated(target: Target) -> str:
    """Says why no emulated core runs code for a target here; empty where one does."""
    return missing_qemu(target) if target.is_emulated else f"nothing emulates {target.name}"


def missing_qemu(target: Target) -> str:
    """Says why QEMU does not run a target that it alone can run; empty where it does, and for other targets."""
    return why_missing(target) if target.runner is Runner.QEMU else ""
