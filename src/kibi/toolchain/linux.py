"""Linking programs for Linux: static, without a C library, with a server that calls the program's functions."""

from collections.abc import Sequence
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from kibi.errors import ToolchainError
from kibi.targets import Target
from kibi.toolchain.cache import cached, digest
from kibi.toolchain.compile import compile_objects, run_tool
from kibi.toolchain.compilers import find_compiler, zig_command
from kibi.toolchain.image import Image, image_of
from kibi.toolchain.link import RUNTIME, compiler_runtime, missing_symbols

_SCRIPT = Path(__file__).parent / "linux.ld"
_NAME = "program"


def build_linux(
    sources: Sequence[Path],
    server: Path,
    target: Target,
    entries: Sequence[str],
    *,
    level: str = "s",
    includes: Sequence[Path] = (),
) -> Image:
    """Compiles and links C sources into a static program for Linux, by zig.

    The program has no C library: the functions that compilers call by themselves are Kibi's, as on devices.

    Args:
        sources: C99 files; read-only data of those whose stem ends in `_weights` is accounted for as weights.
        server: the C file with the program's first function, `kibi_start`, named `kibi_server.c`; its size is not counted.
        target: a target of Linux.
        entries: functions to keep, with all that they reach.
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.

    Returns:
        The program; the code has constants and the values of initialized variables in it.

    Raises:
        ToolchainError: the compiler is missing or fails, or no source defines an entry.
    """
    objects = [
        *compile_objects(sources, target, level=level, includes=includes),
        *compile_objects([server], target, flags=("-fno-builtin",)),
        # Without built-ins, or the compiler would replace memcpy's loop by a call of memcpy.
        *compile_objects(RUNTIME[:1], target, flags=("-fno-builtin", "-Wno-pedantic", "-Wno-reserved-identifier")),
    ]
    parts = (part for path in objects for part in (path.parent.name, path.name))
    key = digest(find_compiler("zig", target).identity, target.name, *entries, _SCRIPT.read_bytes(), *parts)
    path = cached("linux", key, lambda folder: _link(objects, target, entries, folder / _NAME)) / _NAME
    try:
        with path.open("rb") as stream:
            image = image_of(path, ELFFile(stream), _code_bytes)
    except (OSError, ELFError) as error:
        raise ToolchainError(f"cannot read the program {path}: {error}") from error
    missing = [name for name in entries if name not in image.symbols]
    if missing:
        raise ToolchainError(f"no source defines the function {', '.join(missing)}.")
    return image


def _link(objects: Sequence[Path], target: Target, entries: Sequence[str], output: Path) -> None:
    command = [
        zig_command(), "ld.lld", "-static", f"--script={_SCRIPT}", "--gc-sections",
        *(f"--undefined={name}" for name in entries), "-o", str(output), *map(str, objects),
    ]  # fmt: skip
    try:
        run_tool(command, "the program does not link")
    except ToolchainError as error:
        if not missing_symbols(error):
            raise
        run_tool([*command, str(compiler_runtime(target))], "the program does not link")


def _code_bytes(elf: ELFFile, weights_bytes: int) -> int:
    """The bytes of code, constants and initial values, without weights and without the server."""
    del weights_bytes
    counted = (".text", ".rodata", ".data")
    return sum(section["sh_size"] for section in elf.iter_sections() if section.name in counted)
