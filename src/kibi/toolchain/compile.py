"""Compiling: one object per source, two at a time, each from the cache where nothing changed."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kibi.errors import ToolchainError
from kibi.targets import Target
from kibi.toolchain.cache import cached, digest, temporary_folder, zig_folder
from kibi.toolchain.compilers import find_compiler
from kibi.toolchain.flags import compile_flags
from kibi.toolchain.host_cpu import host_cpu
from kibi.toolchain.includes import compiled_texts

_WORKERS = 2
_HEADER_SUFFIXES = (".h", ".hpp", ".inc")


def compile_objects(
    sources: Sequence[Path],
    target: Target,
    *,
    compiler: str = "zig",
    level: str = "2",
    includes: Sequence[Path] = (),
    language: str = "c99",
    sanitize: bool = False,
    flags: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Compiles C files, with all warnings as errors.

    An object is compiled again when its source, the compiler, a flag, or a header that the source includes has changed; for the
    host, when the processor is another one, too. Comments at the beginning of a file do not count, nor definitions of Kibi's own
    names that no text has. If the source's text does not tell which headers it includes, all those in the include folders (at any
    depth) and beside the source count.

    Args:
        sources: the C files.
        target: the processor; the host target gives position-independent code for this machine's own processor.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        includes: folders of headers.
        language: `c99`, or `c++17` to compile the same files as C++.
        sanitize: stop the program at undefined behaviour; on the host alone.
        flags: more flags for the compiler, after all others.

    Returns:
        One object file per source, in their order, named `<source stem>.o`; inside the cache.

    Raises:
        ToolchainError: the compiler is missing, a name is unknown, a source cannot be read, or one does not compile.
    """
    tool = find_compiler(compiler, target, language)
    folders = [Path(folder).absolute() for folder in includes]
    command = [
        *(tool.c if language == "c99" else tool.cxx),
        *compile_flags(tool.flags, target, level, language, sanitize=sanitize),
        *(f"-I{folder}" for folder in folders),
        *flags,
    ]
    maker = (tool.identity, host_cpu() if target.is_host else "")
    paths = [Path(source).absolute() for source in sources]
    contents = {path: _read(path) for path in dict.fromkeys(paths)}
    folder_names = {f"-I{folder}": f"#{number}" for number, folder in enumerate(folders)}
    flags_key = [folder_names.get(part, part) for part in command]

    def compile_one(source: Path) -> Path:
        texts = compiled_texts(source, contents[source], folders, flags)
        if texts is None:
            texts = (contents[source], *_all_headers(source, folders))
        key = digest(*maker, *flags_key, source.name, *texts)

        def make(folder: Path) -> None:
            output = folder / f"{source.stem}.o"
            prefix = f"-ffile-prefix-map={source.parent}=."  # an object must not depend on its source's folder
            run_tool([*command, prefix, "-c", str(source), "-o", str(output)], f"{source.name} does not compile")

        return cached("objects", key, make) / f"{source.stem}.o"

    with ThreadPoolExecutor(_WORKERS) as pool:
        largest_first = sorted(contents, key=lambda path: (-len(contents[path]), str(path)))
        started = {path: pool.submit(compile_one, path) for path in largest_first}
        return tuple(started[path].result() for path in paths)


def run_tool(command: Sequence[str], failure: str) -> None:
    """Runs a compiler or linker; zig keeps the files that runs share in Kibi's cache, and no others.

    Raises:
        ToolchainError: it did not start or did not succeed; the text holds what it printed.
    """
    with temporary_folder() as work:
        zig_caches = {"ZIG_GLOBAL_CACHE_DIR": str(zig_folder()), "ZIG_LOCAL_CACHE_DIR": str(work)}
        environment = {**os.environ, **zig_caches, "LC_ALL": "C"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", env=environment, check=False
            )
        except OSError as error:
            raise ToolchainError(f"{command[0]} does not run: {error}", command) from error
    if done.returncode != 0:
        raise ToolchainError(f"{failure} (exit code {done.returncode})", command, done.stderr + done.stdout)


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as error:
        raise ToolchainError(f"cannot read the source {source}: {error.strerror}") from error


def _all_headers(source: Path, folders: Sequence[Path]) -> tuple[str, ...]:
    """Returns a hash over the names and contents of all headers in the folders, and one over those beside the source."""
    places = ((path for folder in folders for path in folder.rglob("*")), source.parent.iterdir())
    return tuple(map(_headers, places))


def _headers(paths: Iterable[Path]) -> str:
    """One hash over the names and contents of all headers among the paths."""
    headers = sorted(path for path in paths if path.suffix in _HEADER_SUFFIXES and path.is_file())
    return digest(*(part for path in headers for part in (path.name, path.read_bytes())))
