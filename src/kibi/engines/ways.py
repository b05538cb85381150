"""How the code of a target is built and run: on an emulated core, as a program for Linux, or as a WebAssembly module."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from kibi.emulator import Core
from kibi.engines.engine import DeviceCore
from kibi.errors import ToolchainError
from kibi.programs.linux import SERVER, LinuxProgram
from kibi.programs.wasm import STACK_BYTES, WasmProgram
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


def ways_of(
    target: Target, make_core: MakeCore | None, layout: MemoryLayout, memory: Memory | None, *, code_in_ram: bool
) -> tuple[Build, MakeCore]:
    """Returns what builds code for a target, and what makes the processor that runs it.

    Args:
        target: the target.
        make_core: what makes the processor; None: the way of the target.
        layout: the addresses that the program of a device is linked for.
        memory: how the emulated core reads its flash; None for no wait states.
        code_in_ram: True if its code is in RAM.
    """

    def device(
        sources: Sequence[Path], target: Target, *, entries: Sequence[str], compiler: str, level: str,
        includes: Sequence[Path],
    ) -> Image:  # fmt: skip
        return build_image(
            sources, target, entries=entries, compiler=compiler, level=level, includes=includes, layout=layout
        )

    if target.runner is Runner.QEMU_USER:
        return _linux, make_core or LinuxProgram
    if target.runner is Runner.WASMTIME:
        return _wasm, make_core or WasmProgram
    return device, make_core or (lambda image, target: Core(image, target, memory=memory, code_in_ram=code_in_ram))


def native_program(image: Image, target: Target) -> LinuxProgram:
    """Runs a program without counting, which is by this machine itself where it is of the target's kind."""
    return LinuxProgram(image, target, is_counted=False)


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
