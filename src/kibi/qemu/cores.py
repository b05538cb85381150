"""A core of the emulator that runs a target, with an image."""

from collections.abc import Sequence

from kibi.emulator import Core, Stored
from kibi.errors import ToolchainError
from kibi.programs.linux import qemu_for
from kibi.programs.wasm import wasmtime
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
    if target.emulator == "qemu":
        return QemuCore(image, target, stored=stored)
    return Core(image, target, memory=memory, code_in_ram=code_in_ram, stored=stored)


def why_not_emulated(target: Target) -> str:
    """Says why no emulated core runs code for a target here; empty where one does."""
    return missing_qemu(target) if target.emulator else f"nothing emulates {target.name}"


def why_not_run(target: Target) -> str:
    """Says why no code for a target runs here: on an emulated core, as a program, or on this machine; empty where it does."""
    if target.is_host:
        return ""
    if not target.is_program:
        return why_not_emulated(target)
    try:
        if target.runner is Runner.WASMTIME:
            wasmtime()
        else:
            qemu_for(target)
    except ToolchainError as error:
        return str(error).removesuffix(".")
    return ""


def missing_qemu(target: Target) -> str:
    """Says why QEMU does not run a target that it alone can run; empty where it does, and for other targets."""
    return why_missing(target) if target.emulator == "qemu" else ""
