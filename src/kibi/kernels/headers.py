"""The parameter structs in the kernels' headers: read, compared with their descriptions, and written from them."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kibi.errors import InputError, InternalError
from kibi.kernels import INCLUDE, find, header_of, kernel_folder
from kibi.kernels.params import PARAMS, Params, struct_name
from kibi.kernels.params.c_text import struct_text

_FIELD = re.compile(r"^\s+(?:const\s+)?(?P<type>\w+)\s+(?P<star>\*?)(?P<name>\w+);", re.MULTILINE)
_START = "typedef struct {"


class HeaderField(NamedTuple):
    """A field as a header defines it: its C type, whether it points to constants of that type, and its name."""

    type: str
    is_pointer: bool
    name: str


def struct_fields(
    kernel: str, kernel_sets: tuple[str, ...], folders: tuple[Path, ...] | None = None
) -> tuple[HeaderField, ...]:
    """Returns the fields of a kernel's parameter struct as its header defines it; arguments as of `find`.

    Raises:
        InputError: a custom operator has no kernel.
        InternalError: the header does not define the struct, or does not declare the kernel.
    """
    try:
        path = find(header_of(kernel), kernel_sets, folders)
    except InternalError:
        raise InputError(
            f"an operator of the model needs {f'the C kernel {kernel}' if kernel else 'a C kernel'}, but no file defines "
            "it: it runs in Python alone. Write its .c and .h files, and register the operator with kernels=<their folder>."
        ) from None
    declaring = path.read_text(encoding="utf-8")
    beside = (path.parent / name for name in INCLUDE.findall(declaring))
    shared = (each.read_text(encoding="utf-8") for each in beside if each.is_file())
    return _fields((declaring, *shared), kernel, path)


@cache
def _fields(texts: tuple[str, ...], kernel: str, path: Path) -> tuple[HeaderField, ...]:
    """Returns the fields of the struct, which the header that declares the kernel defines, or one that it includes."""
    struct = struct_name(kernel)
    text = next((text for text in texts if f"}} {struct};" in text), "")
    start, end = _struct_place(text, struct)
    found = _FIELD.finditer(text, max(start, 0), max(end, 0))
    fields = tuple(HeaderField(m["type"], bool(m["star"]), m["name"]) for m in found)
    if not 0 <= start < end or not fields or not re.search(rf"\bvoid {kernel}\(", texts[0]):
        raise InternalError(
            f"{path} must define {struct}, a typedef of a struct with fields, and declare void {kernel}("
        )
    return fields


def _struct_place(text: str, struct: str) -> tuple[int, int]:
    """Returns where the struct begins in a header, and where its last line begins; negative where it is missing."""
    end = text.find(f"}} {struct};")
    return text.rfind(_START, 0, max(end, 0)), end


def check_header(kernel: str, params: Params | None, kernel_sets: tuple[str, ...]) -> None:
    """Checks that a kernel's header defines the struct that a call has parameters for.

    Raises:
        InputError: a custom operator has no kernel, or its kernel takes other parameters.
    """
    defined = struct_fields(kernel, kernel_sets)
    kind = PARAMS.get(kernel)
    if kind is not None and isinstance(params, kind):
        return  # tests compare Kibi's own headers with their descriptions
    described = (
        () if params is None else tuple(HeaderField(each.type, each.is_pointer, each.name) for each in params.fields)
    )
    if defined != described:
        raise InputError(
            f"the header of {kernel} and the operator's parameters differ: {struct_name(kernel)} has {_listed(defined)}, "
            f"{'the call' if params is None else type(params).__name__} has {_listed(described)}. Give both the same fields in "
            "the same order."
        )


def _listed(fields: tuple[HeaderField, ...]) -> str:
    return ", ".join(f"{each.type} {'*' * each.is_pointer}{each.name}" for each in fields) or "no fields"


def with_structs(text: str) -> str:
    """Returns the text of a header of Kibi's own with each struct as its description says."""
    for kind in dict.fromkeys(PARAMS.values()):
        start, end = _struct_place(text, kind.struct)
        if end >= 0:
            text = text[:start] + struct_text(kind).text + text[text.index("\n", end) + 1 :]
    return text


def outdated_headers() -> dict[Path, str]:
    """Returns the headers of Kibi's own whose structs are not as their descriptions say, each with the text that it should have."""
    found = {}
    for path in sorted(kernel_folder(".").glob("*/*.h")):
        text = path.read_text(encoding="utf-8")
        wanted = with_structs(text)
        if wanted != text:
            found[path] = wanted
    return found


def write_headers() -> None:
    """Writes the structs of Kibi's own headers anew, from their descriptions."""
    for path, text in outdated_headers().items():
        path.write_text(text, encoding="utf-8", newline="\n")
