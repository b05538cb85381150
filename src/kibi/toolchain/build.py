"""Builds of complete things: an image for a device, a shared library or a program for the host."""

import ctypes
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kibi.errors import ToolchainError
from kibi.targets import Target
from kibi.targets import target as target_named
from kibi.toolchain.cache import cached, digest, load_library
from kibi.toolchain.compile import compile_objects, run_tool
from kibi.toolchain.compilers import Compiler, find_compiler, zig_command
from kibi.toolchain.image import Image, read_image
from kibi.toolchain.layout import MemoryLayout, layout_of
from kibi.toolchain.link import RUNTIME, SCRIPT, link_device

_HOST = target_named("host")
_SHARED_NAMES = {"darwin": "library.dylib", "win32": "library.dll"}
_PROGRAM_NAMES = {"win32": "program.exe"}


def build_image(
    sources: Sequence[Path],
    target: Target,
    *,
    entries: Sequence[str],
    compiler: str = "zig",
    level: str = "2",
    includes: Sequence[Path] = (),
    layout: MemoryLayout | None = None,
) -> Image:
    """Compiles and links C sources for a device.

    Args:
        sources: C99 files; read-only data of those whose stem ends in `_weights` is accounted for as weights.
        target: the processor; not the host.
        entries: functions to keep, with all that they reach; the rest is left out.
        compiler: `zig`, `gcc` (`arm-none-eabi-gcc`) or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.
        layout: the addresses of flash and RAM; None: those of what emulates the target.

    Raises:
        ToolchainError: a compiler is missing or fails, or no source defines an entry.
    """
    if not target.is_device or not entries:
        reason = "no entries: nothing would be kept" if target.is_device else f"{target.name} is not a device"
        raise ToolchainError(f"cannot build an image: {reason}.")
    objects = compile_objects(sources, target, compiler=compiler, level=level, includes=includes)
    places = layout or layout_of(target)
    own = (path.read_bytes() for path in (SCRIPT, *RUNTIME))
    path = _linked(
        "images",
        "image.elf",
        (find_compiler(compiler, target).identity, target.name, places.commands, *entries, *own),
        objects,
        lambda output: link_device(objects, target, entries, compiler, output, places),
    )
    image = read_image(path, places)
    missing = [name for name in entries if name not in image.symbols]
    if missing:
        raise ToolchainError(f"no source defines the function {', '.join(missing)}.")
    return image


def build_shared(
    sources: Sequence[Path],
    *,
    compiler: str = "zig",
    level: str = "2",
    includes: Sequence[Path] = (),
    sanitize: bool = False,
    flags: Sequence[str] = (),
) -> Path:
    """Compiles and links C sources into a shared library for this machine, for `ctypes`.

    Args:
        sources: C99 files.
        compiler: `zig`, or `gcc` or `clang` (the system's).
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.
        sanitize: stop the process at undefined behaviour: zig traps; gcc prints what and where, and aborts.
        flags: more flags for the compiler.

    Returns:
        The library, inside the cache.

    Raises:
        ToolchainError: a compiler is missing or fails.
    """
    objects = compile_objects(
        sources, _HOST, compiler=compiler, level=level, includes=includes, sanitize=sanitize, flags=flags
    )
    tool = find_compiler(compiler, _HOST)
    command = (
        _zig_shared(tool, sys.platform) if compiler == "zig" else (*tool.link, "-shared", *_gcc_runtimes(sanitize))
    )
    return _linked(
        "shared",
        _SHARED_NAMES.get(sys.platform, "library.so"),
        (tool.identity, *command),
        objects,
        lambda output: run_tool([*command, *map(str, objects), "-o", str(output)], "the library does not link"),
    )


def _zig_shared(tool: Compiler, system: str) -> tuple[str, ...]:
    """Returns the command that links a shared library.

    On Linux lld alone links in milliseconds; the C library's functions come from the process that loads the library. Other systems
    have other formats, whose libraries must name where those functions are.
    """
    return (zig_command(), "ld.lld", "-shared") if system.startswith("linux") else (*tool.link, "-shared")


def load_shared(
    sources: Sequence[Path], *, compiler: str = "zig", level: str = "2", includes: Sequence[Path] = ()
) -> ctypes.CDLL:
    """Builds a shared library as `build_shared` does, and loads it into this process: the bytes that were checked.

    Raises:
        ToolchainError: a compiler is missing or fails, or the library cannot be loaded.
    """
    return load_library(build_shared(sources, compiler=compiler, level=level, includes=includes))


def build_program(
    sources: Sequence[Path],
    *,
    compiler: str = "zig",
    level: str = "2",
    includes: Sequence[Path] = (),
    sanitize: bool = False,
) -> Path:
    """Compiles and links C sources into a program for this machine.

    Args:
        sources: C99 files, one of them with `main`.
        compiler: `zig`, or `gcc` or `clang` (the system's).
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.
        sanitize: stop at undefined behaviour: zig traps; gcc also checks each memory access, and prints why.

    Returns:
        The executable, inside the cache.

    Raises:
        ToolchainError: a compiler is missing or fails.
    """
    tool = find_compiler(compiler, _HOST)
    address = ("-fsanitize=address",) if sanitize and compiler == "gcc" else ()
    objects = compile_objects(
        sources, _HOST, compiler=compiler, level=level, includes=includes, sanitize=sanitize, flags=address
    )
    command = (*tool.link, *(() if compiler == "zig" else (*_gcc_runtimes(sanitize), *address)))

    def link(output: Path) -> None:
        if compiler == "zig" and _linked_without_runtime(objects, output):
            return
        run_tool([*command, *map(str, objects), "-o", str(output), "-lm"], "the program does not link")

    return _linked("programs", _PROGRAM_NAMES.get(sys.platform, "program"), (tool.identity, *command), objects, link)


def _linked_without_runtime(objects: Sequence[Path], output: Path) -> bool:
    """Links a program without zig's run-time library, which few need, and which takes 25 s of processor time to make.

    Returns:
        False if the program needs it, or the system's linker is another one.
    """
    if not sys.platform.startswith("linux"):
        return False
    command = [
        zig_command(), "build-exe", *map(str, objects), "-lc", "-lm", "-flld", "-fno-compiler-rt", "-fno-ubsan-rt",
        f"-femit-bin={output}",
    ]  # fmt: skip
    try:
        run_tool(command, "the program does not link")
    except ToolchainError:
        return False
    return True


def _gcc_runtimes(sanitize: bool) -> tuple[str, ...]:
    return ("-fsanitize=undefined",) if sanitize else ()


def _linked(
    kind: str, name: str, facts: Sequence[str | bytes], objects: Sequence[Path], link: Callable[[Path], None]
) -> Path:
    """The linked file, cached; an object's folder is named by the hash of all that went into it."""
    key = digest(*facts, *(part for path in objects for part in (path.parent.name, path.name)))
    return cached(kind, key, lambda folder: link(folder / name)) / name
