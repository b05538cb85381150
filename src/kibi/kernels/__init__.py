"""The C kernels, as package data: `portable/`, one function in each `.c` file, and what its header says of it."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from kibi.errors import InternalError

_FIELD = re.compile(r"^\s+(?:const\s+)?(?P<type>\w+)\s+(?P<star>\*?)(?P<name>\w+);", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "(?P<name>[\w.]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a parameter struct: its C type, whether it points to constants of it, its name."""

    type: str
    is_pointer: bool
    name: str


def kernel_folder(kernel_set: str = "portable") -> Path:
    """The folder of a kernel set."""
    return Path(str(files(__name__))) / kernel_set


@cache
def find(file: str, kernel_sets: tuple[str, ...]) -> Path:
    """A kernel's file in the first of these sets that has it.

    Raises:
        InternalError: none has it.
    """
    for kernel_set in kernel_sets:
        path = kernel_folder(kernel_set) / file
        if path.is_file():
            return path
    raise InternalError(f"no kernel set of {', '.join(kernel_sets)} has the file {file}")


@cache
def struct_fields(kernel: str, kernel_sets: tuple[str, ...]) -> tuple[Field, ...]:
    """The fields of `<kernel>_params`, in the order of the struct."""
    text = find(f"{kernel}.h", kernel_sets).read_text(encoding="utf-8")
    body = text[text.index("typedef struct {") : text.index(f"}} {kernel}_params;")]
    return tuple(Field(m["type"], bool(m["star"]), m["name"]) for m in _FIELD.finditer(body))


def closure(kernels: frozenset[str], kernel_sets: tuple[str, ...]) -> dict[str, str]:
    """The texts of the kernels' files and of all that they include, by file name, sorted.

    A header with a `.c` file beside it brings that file along: kernels share functions, too.
    """
    waiting = [f"{kernel}.h" for kernel in sorted(kernels)] + ["kibi.h"]
    texts: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name in texts:
            continue
        path = find(name, kernel_sets)
        texts[name] = path.read_text(encoding="utf-8")
        waiting += _INCLUDE.findall(texts[name])
        if path.with_suffix(".c").is_file():
            waiting.append(path.with_suffix(".c").name)
    return dict(sorted(texts.items()))
