"""Linking WebAssembly modules: the same C, compiled by the same compiler, for a browser."""

from collections.abc import Sequence
from pathlib import Path

from kibi.targets import Target
from kibi.toolchain.cache import cached, digest
from kibi.toolchain.compile import compile_objects, run_tool
from kibi.toolchain.compilers import find_compiler, zig_command
from kibi.toolchain.link import RUNTIME

_NAME = "model.wasm"


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
    objects = [
        *compile_objects(sources, target, level=level, includes=includes),
        # Without built-ins, or the compiler would replace memcpy's loop by a call of memcpy.
        *compile_objects(RUNTIME[:1], target, level=level, flags=("-fno-builtin", "-Wno-pedantic")),
    ]
    exports = [f"--export={name}" for name in (*entries, "__heap_base")]
    parts = (part for path in objects for part in (path.parent.name, path.name))
    key = digest(find_compiler("zig", target).identity, target.name, *exports, *parts)

    def make(folder: Path) -> None:
        options = ["--no-entry", "--gc-sections", "--strip-all", *exports]
        command = [zig_command(), "wasm-ld", *options, "-o", str(folder / _NAME), *map(str, objects)]
        run_tool(command, "the module for the browser does not link")

    return (cached("wasm", key, make) / _NAME).read_bytes()
