"""Linking WebAssembly modules: the same C, compiled by the same compiler, for a browser or a runtime."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from kibi.targets import Target
from kibi.toolchain.cache import cached, digest
from kibi.toolchain.compile import compile_objects, run_tool
from kibi.toolchain.compilers import find_compiler, zig_command
from kibi.toolchain.image import Image, Symbol
from kibi.toolchain.link import RUNTIME

_NAME = "model.wasm"
_MAP = "model.map"
_HEAP = "__heap_base"
_PLACED = re.compile(r"\s*(?:([0-9a-f]+)|-)\s+([0-9a-f]+)\s+([0-9a-f]+)\s(\s*)(\S.*)")
"""A line of the linker's map: an address in memory, a place in the file, a size, and with its depth what is there."""


def link_wasm(
    sources: Sequence[Path], target: Target, entries: Sequence[str], *, level: str = "2", includes: Sequence[Path] = ()
) -> bytes:
    """Compiles and links C sources into a WebAssembly module.

    The module imports nothing. It exports the entries, its memory as `memory`, and as `__heap_base` the address from which on the
    memory is free.

    Args:
        sources: C99 files.
        target: a target of WebAssembly with 32-bit addresses.
        entries: the functions to keep, with all that they reach.
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.

    Returns:
        The module.

    Raises:
        ToolchainError: the compiler is missing or fails, or a function is missing.
    """
    return (_linked(sources, target, entries, level, includes) / _NAME).read_bytes()


def build_wasm(
    sources: Sequence[Path],
    target: Target,
    entries: Sequence[str],
    *,
    level: str = "s",
    includes: Sequence[Path] = (),
    stack_bytes: int,
) -> Image:
    """Compiles and links a module as `link_wasm` does, with the stack at the beginning of memory, so that a deeper one traps.

    Args:
        sources: C99 files; read-only data of those whose stem ends in `_weights` is accounted for as weights.
        target: a target of WebAssembly with 32-bit addresses.
        entries: the functions to keep, with all that they reach.
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.
        stack_bytes: the room of the stack.

    Returns:
        The module: `code_bytes` are those of the file less the weights; of the symbols, addresses are those of memory, and 0 for
        functions. It has no segments.

    Raises:
        ToolchainError: as `link_wasm`.
    """
    folder = _linked(sources, target, entries, level, includes, ("--stack-first", "-z", f"stack-size={stack_bytes}"))
    placed = list(_placed((folder / _MAP).read_text(encoding="utf-8")))
    weights = sum(size for depth, _, size, name in placed if depth == 1 and "_weights.o:(.rodata" in name)
    sections = {name: size for depth, _, size, name in placed if depth == 0}
    symbols = {name: Symbol(address, size) for depth, address, size, name in placed if depth == 2}
    return Image(
        path=folder / _NAME,
        code_bytes=(folder / _NAME).stat().st_size - weights,
        weights_bytes=weights,
        data_bytes=sections.get(".data", 0),
        bss_bytes=sections.get(".bss", 0),
        symbols=MappingProxyType(symbols),
        segments=(),
        code_spans=(),
        functions=(),
    )


def _placed(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yields what a linker's map lists: its depth, its address in memory, its size and its name."""
    for line in text.splitlines():
        found = _PLACED.fullmatch(line)
        if found:
            yield len(found[4]) // 8, int(found[1] or "0", 16), int(found[3], 16), found[5]


def _linked(
    sources: Sequence[Path],
    target: Target,
    entries: Sequence[str],
    level: str,
    includes: Sequence[Path],
    options: Sequence[str] = (),
) -> Path:
    """The folder of the cache with a module and its map."""
    objects = [
        *compile_objects(sources, target, level=level, includes=includes),
        # Without built-ins, or the compiler would replace memcpy's loop by a call of memcpy.
        *compile_objects(RUNTIME[:1], target, level=level, flags=("-fno-builtin", "-Wno-pedantic")),
    ]
    exports = [f"--export={name}" for name in (*entries, _HEAP)]
    parts = (part for path in objects for part in (path.parent.name, path.name))
    key = digest(find_compiler("zig", target).identity, target.name, *options, *exports, *parts)

    def make(folder: Path) -> None:
        given = ["--no-entry", "--gc-sections", "--strip-all", f"--Map={folder / _MAP}", *options, *exports]
        command = [zig_command(), "wasm-ld", *given, "-o", str(folder / _NAME), *map(str, objects)]
        run_tool(command, f"the module for {target.name} does not link")

    return cached("wasm", key, make)
