"""The C kernels, as package data: one function in each `.c` file that a library gets, and what its header says of it.

`portable/` has plain C, `templates/` the texts from which other files of the portable set are made. The other folders have what
is better on some cores. Kernels of custom operators are stored in folders of their own. These are searched last: no file of Kibi's
is ever replaced.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from kibi.errors import InputError, InternalError
from kibi.kernels.params import PARAMS, struct_name
from kibi.kernels.templates import Instance, instances
from kibi.text.c import CCode, code, file_text, word

INCLUDE = re.compile(r'^#include "(?P<name>[\w.]+)"', re.MULTILINE)
_DECLARATION = re.compile(r"^void (?P<name>kibi_\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\b(?P<name>kibi_\w+)\(")
_FOLDERS: list[Path] = []
_THUMB = code("defined(__GNUC__) && defined(__ELF__) && defined(__thumb__) && !defined(__ARMEB__)")
_UNALIGNED = code("defined(__thumb2__) && defined(__ARM_FEATURE_UNALIGNED)")
_CONDITIONS = {
    "helium": code("defined(__ARM_FEATURE_MVE) && $words && \\\n    $thumb", words=_UNALIGNED, thumb=_THUMB),
    "armv7em": code("defined(__ARM_FEATURE_SIMD32) && $words && \\\n    $thumb", words=_UNALIGNED, thumb=_THUMB),
    "armv7m": code(
        "(defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__)) && $words && \\\n    $thumb",
        words=_UNALIGNED,
        thumb=_THUMB,
    ),
    "thumb2": code("$words && \\\n    $thumb", words=_UNALIGNED, thumb=_THUMB),
    "armv6m": code("defined(__ARM_ARCH_6M__) && $thumb", thumb=_THUMB),
    "riscv": code(
        "defined(__riscv) && defined(__riscv_mul) && \\\n    defined(__riscv_xlen) && __riscv_xlen == 32 && !defined(__riscv_32e)"
    ),
}
"""For each set but the portable one, when the compiler has its instructions: on Arm in Thumb state, little-endian, and with words
at any address where the kernels read such; on RISC-V with multiplication and all registers. All other processors get plain C."""


def kernel_folder(kernel_set: str = "portable") -> Path:
    """Returns the folder of a kernel set."""
    return Path(str(files(__name__))) / kernel_set


@cache
def _templates() -> Mapping[str, Instance]:
    """Returns what is made from templates, by the kernel's name."""
    return instances(kernel_folder("templates"))


@cache
def _declared() -> Mapping[str, str]:
    """Returns the header of each of Kibi's own kernels, by the kernel's name."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(kernel_folder(".").glob("*/*.h"))}
    return {found["name"]: name for name, text in texts.items() for found in _DECLARATION.finditer(text)}


def is_shipped(file: str) -> bool:
    """True if one of Kibi's own sets has a file of that name, or a kernel of that name in another file."""
    stem = file.rsplit(".", 1)[0]
    shipped = (folder / file for folder in kernel_folder(".").iterdir() if folder.is_dir())
    return stem in _declared() or any(path.is_file() for path in shipped)


def header_of(kernel: str) -> str:
    """Returns the name of the header that declares a kernel; a custom kernel has one of its own name."""
    return _declared().get(kernel, f"{kernel}.h")


def add_folder(folder: Path) -> None:
    """Adds a folder of custom operators' kernels to those that are searched; one that is searched already changes nothing.

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
    """Removes a folder from those that are searched."""
    _FOLDERS.remove(folder)


def _c_files(folder: Path) -> set[str]:
    """Returns the files of kernels, and those that they may share."""
    return {path.name for path in folder.glob("kibi_*.[ch]")}


@cache
def _find_shipped(file: str, kernel_sets: tuple[str, ...]) -> Path | None:
    paths = (kernel_folder(kernel_set) / file for kernel_set in kernel_sets)
    return next((path for path in paths if path.is_file()), None)


def _find(file: str, kernel_sets: tuple[str, ...], folders: tuple[Path, ...]) -> Path | None:
    custom = (folder / file for folder in folders)
    return _find_shipped(file, kernel_sets) or next((path for path in custom if path.is_file()), None)


def find(file: str, kernel_sets: tuple[str, ...], folders: tuple[Path, ...] | None = None) -> Path:
    """Returns a file in the first of these sets that has it. Files that are made from templates are none of these.

    Args:
        file: its name.
        kernel_sets: Kibi's own sets, the first choice first.
        folders: of custom kernels, which come last; None: those that were added.

    Raises:
        InternalError: none has it.
    """
    places = tuple(_FOLDERS) if folders is None else folders
    found = _find(file, kernel_sets, places)
    if found is None:
        searched = ", ".join((*kernel_sets, *map(str, places)))
        raise InternalError(f"no kernel set of {searched} has the file {file}")
    return found


def file_names(kernel_sets: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of all C files and headers of some of Kibi's own sets, sorted; the portable set has those of templates."""
    found = {path.name for each in kernel_sets for path in kernel_folder(each).glob("*.[ch]")}
    made = {f"{kernel}.c" for kernel in _templates()} if "portable" in kernel_sets else set()
    return tuple(sorted(found | made))


def text_of(file: str, kernel_sets: tuple[str, ...]) -> CCode:
    """Returns the text of a kernel's file; arguments and errors as of `find`.

    Where a set for some cores has a file that the portable set has, too, the text is both, and the compiler chooses: so a
    library for a core also builds, and can be tested, on any other machine.
    """
    path = _find(file, kernel_sets, tuple(_FOLDERS))
    portable = _portable_text(file)
    if path is None and portable is not None:
        return portable
    path = path or find(file, kernel_sets)
    condition = _CONDITIONS.get(path.parent.name)
    if condition is None or (portable is None and not file.endswith(".c")):
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
        other=_nothing(path.stem) if portable is None else portable,
    )


def _portable_text(file: str) -> CCode | None:
    """Returns the text of a file of the portable set, made from a template where there is no such file; None if it has none."""
    path, kernel = kernel_folder() / file, file.removesuffix(".c")
    if path.is_file():
        return file_text(path)
    made = _templates().get(kernel) if file.endswith(".c") else None
    return None if made is None else made.text(header_of(kernel).removesuffix(".h"), struct_name(kernel))


def _nothing(kernel: str) -> CCode:
    """Returns what a file has where the core is another one."""
    return code("typedef int ${name}_is_for_other_cores; /* C wants one declaration at least */\n", name=word(kernel))


def closure(
    kernels: frozenset[str], kernel_sets: tuple[str, ...], headers: frozenset[str] = frozenset()
) -> dict[str, CCode]:
    """Returns the texts of the kernels' files, of further headers, and of all that they need, by file name, sorted.

    A file needs the headers that it includes. A header needs the `.c` file of its name, where there is one. A file needs the
    kernels that it calls.
    """
    waiting = ["kibi.h", *sorted(headers)]
    for kernel in sorted(kernels):
        waiting += [f"{kernel}.c", header_of(kernel)]
    texts: dict[str, CCode] = {}
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        texts[name] = text_of(name, kernel_sets)
        waiting += _needed(name, texts[name].text, kernel_sets)
    return dict(sorted(texts.items()))


def kernels_called(kernels: Iterable[str], kernel_sets: tuple[str, ...]) -> frozenset[str]:
    """Returns which of Kibi's own kernels these kernels call, with parameters that they make."""
    texts = ((kernel, text_of(f"{kernel}.c", kernel_sets).text) for kernel in kernels)
    return frozenset(
        each for kernel, text in texts for each in _CALL.findall(text) if each in PARAMS and each != kernel
    )


def _needed(name: str, text: str, kernel_sets: tuple[str, ...]) -> list[str]:
    included = INCLUDE.findall(text)
    called = [] if name in _declared().values() else [each for each in _CALL.findall(text) if each in _declared()]
    own = f"{name.removesuffix('.h')}.c"
    if name.endswith(".h") and (_portable_text(own) or _find(own, kernel_sets, tuple(_FOLDERS))):
        included.append(own)
    return [*included, *(f"{kernel}.c" for kernel in called)]
