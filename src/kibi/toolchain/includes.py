"""The headers that a C source includes, found in its text: what its object depends on beside the source itself.

A source of a generated library is compiled once for all libraries whose headers are the same to it, whatever else they have. So
the search must find at least what a compiler reads: it follows each `#include` of a name, also one that a condition leaves out. A
text in which it cannot tell, such as one that includes what a macro names, depends on all headers.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

_LEFT_OUT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:include|import|embed)\w*\b[ \t]*(?P<rest>[^\n]*)", re.MULTILINE)
_NAME = re.compile(r'(?:"(?P<near>[^"\n]+)"|<(?P<far>[^>\n]+)>)\s*\Z')
_UNCLEAR = re.compile(r"""\?\?[=/]|%:|__has_include|__has_embed|\.inc|R"|\r(?!\n)""")
"""Other spellings of `#` and of a joined line, conditions on files, the assembler's own directives, and raw strings."""


def included(source: Path, text: bytes, folders: Sequence[Path]) -> tuple[str | bytes, ...] | None:
    """Returns what a compiler reads beside a source: the names that are included, which file each is, and the files' contents.

    Two sources of the same text and with the same answer are the same to a compiler.

    Args:
        source: the C file.
        text: its contents.
        folders: of headers, in the order in which the compiler searches them; it looks beside the file that includes a name first.

    Returns:
        None if the text does not tell which files are read.
    """
    numbers: dict[Path, int] = {source: 0}
    texts = [text]
    found: list[str] = []
    for place, file in enumerate(files := [source]):  # the list grows with what is found
        names = _names_of_header(texts[place]) if place else _names(text)
        if names is None:
            return None
        for name, is_near in names:
            path = _first(name, [*([file.parent] if is_near else []), *folders])
            if path is not None and path not in numbers:
                numbers[path] = len(files)
                files.append(path)
                texts.append(path.read_bytes())
            found += [name, str(-1 if path is None else numbers[path])]
    return (*found, *texts[1:])


def _first(name: str, folders: Sequence[Path]) -> Path | None:
    """Returns the first file of this name; None for a header of the system."""
    return next((path for folder in folders if (path := folder / name).is_file()), None)


def _names(text: bytes) -> tuple[tuple[str, bool], ...] | None:
    """Returns the names that a text includes, each with whether a file beside it counts; None if it does not tell."""
    joined = text.decode("latin-1").replace("\r\n", "\n").replace("\\\n", "")
    if _UNCLEAR.search(joined):
        return None
    names = []
    for directive in _DIRECTIVE.finditer(_LEFT_OUT.sub(_kept, joined)):
        name = _NAME.match(directive["rest"])
        if name is None:
            return None
        names.append((name["near"] or name["far"], name["near"] is not None))
    return tuple(names)


_names_of_header = lru_cache(maxsize=512)(_names)
"""Headers are small, and read by many sources."""


def _kept(match: re.Match[str]) -> str:
    """Returns a space for a comment, and a literal as it is."""
    return " " if match[0].startswith("/") else match[0]
