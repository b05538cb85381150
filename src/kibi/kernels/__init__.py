"""The C kernels, as package data: `portable/`, one function in each `.c` file, and what its header says of it.

Those of custom operators lie in folders of their own, which are looked through last: no file of Kibi's is ever replaced.
"""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from kibi.errors import InputError, InternalError
from kibi.text.c import CCode, code, file_text, word

_INCLUDE = re.compile(r'^#include "(?P<name>[\w.]+)"', re.MULTILINE)
_FOLDERS: list[Path] = []
_THUMB = code("defined(__GNUC__) && defined(__ELF__) && defined(__thumb__) && !defined(__ARMEB__)")
_UNALIGNED = code("defined(__thumb2__) && defined(__ARM_FEATURE_UNALIGNED)")
_CONDITIONS = {
    "armv7em": code("defined(__ARM_FEATURE_SIMD32) && $words && \\\n    $thumb", words=_UNALIGNED, thumb=_THUMB),
    "armv7m": code(
        "(defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__)) && $words && \\\n    $thumb",
        words=_UNALIGNED,
        thumb=_THUMB,
    ),
    "armv6m": code("defined(__ARM_ARCH_6M__) && $thumb", thumb=_THUMB),
}
"""For each set but the portable one, when the compiler has its instructions: in Thumb state, little-endian, and with words at any
address where the kernels read such; all other processors get plain C."""


def kernel_folder(kernel_set: str = "portable") -> Path:
    """The folder of a kernel set."""
    return Path(str(files(__name__))) / kernel_set


def is_shipped(file: str) -> bool:
    """Whether one of Kibi's own sets has a file of that name."""
    return any((folder / file).is_file() for folder in kernel_folder(".").iterdir() if folder.is_dir())


def add_folder(folder: Path) -> None:
    """Look through a folder of custom operators' kernels, too; one that is looked through already changes nothing.

    Raises:
        InputError: it is no folder, or has a file that another one has.
    """
    if folder in _FOLDERS:
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder. Give the folder with the kernels' .c and .h files.")
    for other in _FOLDERS:
        both = sorted(_c_files(folder) & _c_files(other))
        if both:
            raise InputError(f"{folder} and {other} both have {', '.join(both)}. Rename one of each.")
    _FOLDERS.append(folder)


def remove_folder(folder: Path) -> None:
    """Look through that folder no more."""
    _FOLDERS.remove(folder)


def _c_files(folder: Path) -> set[str]:
    """The files of kernels, and those that they may share."""
    return {path.name for path in folder.glob("kibi_*.[ch]")}


@cache
def _find_shipped(file: str, kernel_sets: tuple[str, ...]) -> Path | None:
    paths = (kernel_folder(kernel_set) / file for kernel_set in kernel_sets)
    return next((path for path in paths if path.is_file()), None)


def find(file: str, kernel_sets: tuple[str, ...], folders: tuple[Path, ...] | None = None) -> Path:
    """A kernel's file in the first of these sets that has it.

    Args:
        file: its name.
        kernel_sets: Kibi's own sets, the first choice first.
        folders: of custom kernels, which come last; None: those that were added.

    Raises:
        InternalError: none has it.
    """
    shipped = _find_shipped(file, kernel_sets)
    if shipped is not None:
        return shipped
    places = tuple(_FOLDERS) if folders is None else folders
    for folder in places:
        if (folder / file).is_file():
            return folder / file
    searched = ", ".join((*kernel_sets, *map(str, places)))
    raise InternalError(f"no kernel set of {searched} has the file {file}")


def text_of(file: str, kernel_sets: tuple[str, ...]) -> CCode:
    """The text of a kernel's file; arguments and errors as of `find`.

    Where a set for some cores has a file that the portable set has, too, the text is both, and the compiler chooses: so a
    library for a core also builds, and can be tested, on any other machine.
    """
    path = find(file, kernel_sets)
    condition, portable = _CONDITIONS.get(path.parent.name), kernel_folder() / file
    if condition is None or not (portable.is_file() or file.endswith(".c")):
        return file_text(path)
    return code(
        """\
#if $condition

$special
#else

$other
#endif
""",
        condition=condition,
        special=file_text(path),
        other=file_text(portable) if portable.is_file() else _nothing(path.stem),
    )


def _nothing(kernel: str) -> CCode:
    """What a file has where the core is another one."""
    return code("typedef int ${name}_is_for_other_cores; /* C wants one declaration at least */\n", name=word(kernel))


def closure(kernels: frozenset[str], kernel_sets: tuple[str, ...]) -> dict[str, CCode]:
    """The texts of the kernels' files and of all that they include, by file name, sorted.

    A header with a `.c` file beside it brings that file along: kernels share functions, too.
    """
    waiting = [f"{kernel}.h" for kernel in sorted(kernels)] + ["kibi.h"]
    texts: dict[str, CCode] = {}
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        path = find(name, kernel_sets)
        texts[name] = text_of(name, kernel_sets)
        waiting += _INCLUDE.findall(texts[name].text)
        if path.with_suffix(".c").is_file():
            waiting.append(path.with_suffix(".c").name)
    return dict(sorted(texts.items()))
