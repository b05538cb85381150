"""The compiler flags: one list per compiler, target, language and purpose.

Code for the host is for its very processor, with all its instructions; the cache keeps that of each processor apart.
"""

import platform
from pathlib import Path

from kibi.errors import ToolchainError
from kibi.targets import InstructionSet, Runner, Target
from kibi.toolchain.compilers import zig_headers

LEVELS = ("0", "1", "2", "3", "s")
LANGUAGES = ("c99", "c++17")
WARNINGS = (
    "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Wvla", "-Wpedantic", "-Werror",
)  # fmt: skip
_FREESTANDING_HEADERS = Path(__file__).parent / "include"

# One section per function and object lets the linker drop what nobody calls; nothing on the device unwinds the stack.
_DEVICE = (
    "-ffunction-sections", "-fdata-sections", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fno-pic",
    "-fomit-frame-pointer", "-fno-common",
)  # fmt: skip
_HOST = ("-fPIC", "-fomit-frame-pointer")
# Processors with fused multiply-adds round once where C says twice, and compilers may choose: the bits must not depend on it.
_FLOATS = ("-ffp-contract=off",)
_FAST_LEVELS = ("2", "3")
"""At which compilers make vectors of loops even where code grows."""


def compile_flags(compiler: str, target: Target, level: str, language: str, *, sanitize: bool) -> tuple[str, ...]:
    """Returns the flags of one compilation, without the include folders and the files.

    Args:
        compiler: whose flags: `zig`, `zig clang`, `gcc` or `clang`.
        target: the processor.
        level: one of `LEVELS`.
        language: `c99`, or `c++17` to compile C files as C++.
        sanitize: stop at undefined behaviour; on the host alone.

    Raises:
        ToolchainError: no optimization level or language has that name, or a device was to be sanitized.
    """
    if level not in LEVELS:
        raise ToolchainError(f"unknown optimization level {level!r}. Levels are: {', '.join(LEVELS)}.")
    if language not in LANGUAGES:
        raise ToolchainError(f"unknown language {language!r}. Languages are: {', '.join(LANGUAGES)}.")
    if sanitize and not target.is_host:
        raise ToolchainError(f"sanitizers run on the host alone, not on {target.name}.")
    machine = _MACHINE[compiler](target, sanitize)
    dialect = ("-x", "c", "-std=c99") if language == "c99" else ("-x", "c++", "-std=c++17", *_no_runtime(target))
    common = _HOST if target.is_host else _DEVICE
    return (*machine, *common, *_FLOATS, f"-O{level}", *_no_vectors(target, level), *dialect, *WARNINGS)


def _no_vectors(target: Target, level: str) -> tuple[str, ...]:
    """For speed, compilers compute loops over floats by Helium, whose vectors take denormal numbers for zero."""
    return ("-fno-tree-vectorize",) if level in _FAST_LEVELS and "helium" in target.kernel_sets else ()


def _no_runtime(target: Target) -> tuple[str, ...]:
    return () if target.is_host else ("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")


def _zig_machine(target: Target, sanitize: bool) -> tuple[str, ...]:
    if target.is_host:
        trap = ("-fsanitize=undefined", "-fsanitize-trap=undefined", "-g")
        return ("-march=native", *(trap if sanitize else ("-fno-sanitize=all",)))
    if target.runner is Runner.QEMU_USER:
        return ("-target", target.zig_target, f"-mcpu={target.zig_cpu}", "-fno-sanitize=all", "-fno-stack-protector")
    # With a freestanding target, each four-byte memcpy would become a call; hosted built-ins keep it one load.
    return (
        "-target", target.zig_target, f"-mcpu={target.zig_cpu}", "-fno-sanitize=all", "-fno-stack-protector",
        "-fhosted", "-isystem", str(_FREESTANDING_HEADERS),
    )  # fmt: skip


def _gcc_machine(target: Target, sanitize: bool) -> tuple[str, ...]:
    if not target.is_host:
        return target.gcc_flags
    checks = ("-fsanitize=undefined", "-fno-sanitize-recover=all", "-g") if sanitize else ()
    return ("-march=native", *checks)


def _clang_machine(target: Target, sanitize: bool) -> tuple[str, ...]:
    if target.is_host:
        return _gcc_machine(target, sanitize)
    own_headers = ("-fno-stack-protector", "-isystem", str(_FREESTANDING_HEADERS))
    if target.instruction_set is InstructionSet.RISCV:
        return ("--target=riscv32-unknown-elf", *target.gcc_flags, *own_headers)
    # Without an operating system, clang up to 18 takes unaligned words for faults, on every core.
    words = "-munaligned-access" if target.unaligned_words else "-mno-unaligned-access"
    # GCC 12 does not know the newest cores, and takes an older one with the same instructions; clang knows all.
    core = f"-mcpu={target.zig_cpu.partition('+')[0].replace('_', '-')}"
    machine = (core if flag.startswith("-mcpu=") else flag for flag in target.gcc_flags)
    return ("--target=arm-none-eabi", *machine, words, *own_headers)


def _zig_clang_machine(target: Target, sanitize: bool) -> tuple[str, ...]:
    own_headers = ("-isystem", str(zig_headers()), "-fno-spell-checking")
    if target.is_host:
        triple = f"--target={platform.machine()}-linux-gnu"
        return (triple, *_zig_machine(target, sanitize), "-nobuiltininc", *own_headers)
    return (*_clang_machine(target, sanitize), "-nostdinc", *own_headers)


_MACHINE = {
    "zig": _zig_machine,
    "zig clang": _zig_clang_machine,
    "gcc": _gcc_machine,
    "clang": _clang_machine,
}
