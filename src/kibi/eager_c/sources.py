"""The C of the library for programs by hand: its files as people wrote them, and the numbers that Python knows."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from kibi.eager.own_events import own_events
from kibi.errors import InputError
from kibi.kernels import closure
from kibi.kernels.params import PARAMS
from kibi.planfile.types import TYPES
from kibi.targets import Target
from kibi.text.c import CCode, code, file_text, hexadecimal, lines, remark, word
from kibi.text.file_name import FileName

SOURCES: Final = Path(__file__).parent / "c"
KERNELS: Final = "kernels"
_RUNTIME: Final = (
    "kibi_eager.h", "kibi_handle_arena.h", "kibi_linear_arena.h", "kibi_page_allocator.h", "kibi_workspace.h",
    "kibi_tensor.h", "kibi_row_tensors.c",
)  # fmt: skip
_NEXT_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_INCLUDE = re.compile(r'^#include "(kibi_\w+\.h)"', re.MULTILINE)
_KERNEL_HEADER = re.compile(rf'^#include "{KERNELS}/(kibi_\w+\.h)"', re.MULTILINE)
_WORD = re.compile(r"\b\w+\b")
_OPERATOR = re.compile(r"^kibi_status kibi_op_(\w+)\(", re.MULTILINE)


def event_macro(name: str) -> str:
    """The macro with an event's id: `KIBI_EVENT_OUT_OF_MEMORY` for `OutOfMemory`."""
    return f"KIBI_EVENT_{_NEXT_WORD.sub('_', name).upper()}"


def ids_header() -> CCode:
    """The header with the ids of all events and errors, and with the numbers of element types."""
    events = [
        code("#define $macro $id $meaning\n", macro=word(event_macro(each.name)), id=hexadecimal(each.id()),
             meaning=remark(each.meaning))
        for each in own_events()
    ]  # fmt: skip
    types = [
        code("#define KIBI_TYPE_$name ${value}u\n", name=word(dtype.value.upper()), value=number)
        for number, dtype in enumerate(TYPES)
    ]
    return code(
        """\
/* Ids of events and errors, each the FNV-1a hash of its name, and numbers of element types. */
#ifndef KIBI_IDS_H
#define KIBI_IDS_H

$events
$types
#endif
""",
        events=lines(events),
        types=lines(types),
    )


def operators() -> Mapping[str, str]:
    """The file of each operator, by the name of the operator: `conv2d` for `kibi_op_conv2d`."""
    files = sorted(SOURCES.glob("kibi_op_*.c"))
    found = {name: path.name for path in files for name in _OPERATOR.findall(path.read_text(encoding="utf-8"))}
    return dict(sorted(found.items()))


def library_texts(names: Iterable[str], target: Target) -> Mapping[FileName, CCode]:
    """The files of the library: arenas, handlers, the context and tensors; operators, and the kernels that these call.

    Args:
        names: of operators, as `operators` has them.
        target: the processor, which chooses the kernels.

    Raises:
        InputError: there is no such operator.
    """
    known = operators()
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise InputError(f"no operator by hand is called {', '.join(unknown)}. There are {', '.join(known)}.")
    waiting = [*_RUNTIME, *sorted({known[name] for name in names})]
    texts: dict[FileName, CCode] = {FileName("kibi_ids.h"): ids_header()}
    while waiting:
        name = FileName(waiting.pop())
        if name not in texts:
            texts[name] = file_text(SOURCES / name.text)
            waiting += _needed(name.text, texts[name].text)
    kernels = frozenset(kernel for text in texts.values() for kernel in _kernels(text.text))
    headers = {header for text in texts.values() for header in _KERNEL_HEADER.findall(text.text)}
    for file, text in closure(kernels, target.kernel_sets, frozenset(headers)).items():
        texts[FileName(file, KERNELS)] = text
    return dict(sorted(texts.items(), key=lambda each: each[0].path))


def _needed(name: str, text: str) -> list[str]:
    """The files that one needs: the headers that it includes, and the `.c` file of its own name."""
    included = [each for each in _INCLUDE.findall(text) if each != "kibi_ids.h"]
    own = f"{name.removesuffix('.h')}.c"
    return [*included, own] if name.endswith(".h") and (SOURCES / own).is_file() else included


def _kernels(text: str) -> set[str]:
    """The kernels that a file calls, by its own name for them or by one that a macro completes."""
    if not _KERNEL_HEADER.search(text):
        return set()
    words = set(_WORD.findall(text))
    return {kernel for kernel in PARAMS if kernel in words or kernel.removeprefix("kibi_") in words}
