"""How the code of a target is built and run: on an emulated core, as a program for Linux, or as a WebAssembly module."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from kibi.engines.engine import DeviceCore
from kibi.errors import ToolchainError
from kibi.programs.linux import SERVER, LinuxProgram, qemu_for
from kibi.programs.wasm import STACK_BYTES, WasmProgram, wasmtime
from kibi.qemu import emulated, why_not_emulated
from kibi.targets import Memory, Runner, Target
from kibi.toolchain import Image, MemoryLayout, build_image
from kibi.toolchain.linux import build_linux
from kibi.toolchain.wasm import build_wasm

MakeCore = Callable[[Image, Target], DeviceCore]


class Build(Protocol):
    """A function that compiles and links C sources, with the entries that are kept."""

    def __call__(
        self, sources: Sequence[Path], target: Target, *, entries: Sequence[str], compiler: str, level: str,
        includes: Sequence[Path],
    ) -> Image:  # fmt: skip
        """Builds a program."""


Ways = tuple[Build, MakeCore]
"""What builds a program, and what gives the processor that runs it."""


def ways_of(target: Target, memory: Memory | None = None, *, code_in_ram: bool = False) -> Ways:
    """Returns what builds code for a target, and what makes the processor that runs it.

    Args:
        target: the target.
        memory: how an emulated core reads its flash; None for no wait states.
        code_in_ram: True if its code is in RAM.
    """
    if target.runner is Runner.QEMU_USER:
        return _linux, LinuxProgram
    if target.runner is Runner.WASMTIME:
        return _wasm, WasmProgram
    return linked_for(None), lambda image, target: emulated(image, target, memory=memory, code_in_ram=code_in_ram)


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


def native_ways() -> Ways:
    """Builds for Linux, and runs without counting, which is by this machine itself where it is of the target's kind."""
    return _linux, lambda image, target: LinuxProgram(image, target, is_counted=False)


def linked_for(layout: MemoryLayout | None) -> Build:
    """Builds for the memories of a device; None: those of what emulates the target."""

    def device(
        sources: Sequence[Path], target: Target, *, entries: Sequence[str], compiler: str, level: str,
        includes: Sequence[Path],
    ) -> Image:  # fmt: skip
        return build_image(
            sources, target, entries=entries, compiler=compiler, level=level, includes=includes, layout=layout
        )

    return device


def _linux(
    sources: Sequence[Path], target: Target, *, entries: Sequence[str], compiler: str, level: str,
    includes: Sequence[Path],
) -> Image:  # fmt: skip
    _check_zig(compiler, target)
    return build_linux(sources, SERVER, target, entries, level=level, includes=includes)


def _wasm(
    sources: Sequence[Path], target: Target, *, entries: Sequence[str], compiler: str, level: str,
    includes: Sequence[Path],
) -> Image:  # fmt: skip
    _check_zig(compiler, target)
    return build_wasm(sources, target, entries, level=level, includes=includes, stack_bytes=STACK_BYTES)


def _check_zig(compiler: str, target: Target) -> None:
    if compiler != "zig":
        raise ToolchainError(f"{compiler} does not support the target {target.name}. Use zig.")
