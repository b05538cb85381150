"""The C of the library for programs by hand: its files as people wrote them, and the numbers that Python knows."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kibi.eager.own_events import own_events
from kibi.planfile.types import TYPES
from kibi.text.c import CCode, code, file_text, hexadecimal, lines, remark, word
from kibi.text.file_name import FileName

SOURCES: Final = Path(__file__).parent / "c"
_NEXT_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


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


def runtime_texts() -> Mapping[FileName, CCode]:
    """The files of the library without operators, by name: arenas, handlers, the context, tensors."""
    texts = {FileName(path.name): file_text(path) for path in sorted(SOURCES.glob("kibi_*.[ch]"))}
    texts[FileName("kibi_ids.h")] = ids_header()
    return texts
