"""The headers that a C source includes, found in its text: what its object depends on beside the source itself.

A source of a generated library is compiled once for all libraries whose headers are the same to it, whatever else they have. So
the search must find at least what a compiler reads: it follows each `#include` of a name, also one that a condition leaves out. A
text in which it cannot tell, such as one that includes what a macro names, depends on all headers.

Two things do not count, because a library's command and its other kernels change them: the comments that a file begins with, and
definitions at the end of a header whose names no text has, such as those that rename other kernels.
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
_FIRST_COMMENTS = re.compile(rb"\A(?:\s*/\*[^\\?]*?\*/)+")
"""Without what could join lines, as the end of a comment may be two lines."""


def without_first_comments(text: bytes) -> bytes:
    """Returns a text with blank lines in place of the comments that it begins with: to a compiler it is the same."""
    comments = _FIRST_COMMENTS.match(text)
    return text if comments is None else b"\n" * comments[0].count(b"\n") + text[comments.end() :]


_OF_DEFINITIONS = re.compile(rb"#define (?P<name>(?:kibi|KIBI)_\w+) (?P<value>\w+)|/\*[^\\?*\n]*\*/|")
"""A line at the end of a header: a name of Kibi's own, which the system's headers do not use; a comment; nothing."""
_WORD = re.compile(rb"\b[kK]\w*")
_INCLUDE = re.compile(rb"^#include .*\n", re.MULTILINE)


def compiled_texts(
    source: Path, text: bytes, folders: Sequence[Path], flags: Sequence[str] = ()
) -> tuple[str | bytes, ...] | None:
    """Returns what decides what a compiler makes of a source: the names that are included, which file each is, and all texts.

    The source's text comes after the names, then those of the headers as they are found.

    Args:
        source: the C file.
        text: its contents.
        folders: of headers, in the order in which the compiler searches them; it looks beside the file that includes a name first.
        flags: of the compiler, which may define names, too.

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
    return (
        *found,
        *_without_unused_definitions([without_first_comments(each) for each in texts], " ".join(flags).encode()),
    )


def _without_unused_definitions(texts: Sequence[bytes], flags: bytes) -> list[bytes]:
    """Leaves out the last definitions of headers whose names are in no text, and cannot be joined from what is."""
    parts = [_divided(each) for each in texts]
    values = [definition["value"] for _, definitions in parts for definition in definitions if definition["name"]]
    rests = [rest for rest, _ in parts]
    words = _words(b" ".join([flags, *values])).union(_words(rests[0]), *map(_words_of_header, rests[1:]))
    joins = any(b"##" in rest for rest in rests)

    def is_used(name: bytes) -> bool:
        return name in words or (joins and any(name[:length] in words for length in range(1, len(name))))

    return [
        b"\n".join(
            [rest, *(definition[0] for definition in definitions if definition["name"] and is_used(definition["name"]))]
        )
        for rest, definitions in parts
    ]


def _divided(text: bytes) -> tuple[bytes, list[re.Match[bytes]]]:
    """Returns a header's text up to its last definitions, and the lines of these; `#endif` ends them."""
    if not text.endswith(b"\n#endif\n"):
        return text, []
    lines = text[:-1].split(b"\n")
    found: list[re.Match[bytes]] = []
    for line in reversed(lines[:-1]):
        match = _OF_DEFINITIONS.fullmatch(line)
        if match is None:
            break
        found.append(match)
    rest = b"\n".join(lines[: len(lines) - 1 - len(found)])
    return (text, []) if rest.endswith(b"\\") else (rest, found[::-1])  # the next line would be part of this one


def _words(text: bytes) -> frozenset[bytes]:
    """Returns the words that a name of Kibi's own can be or begin with; not those of included names."""
    return frozenset(_WORD.findall(_INCLUDE.sub(b"", text)))


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
_words_of_header = lru_cache(maxsize=512)(_words)
"""Headers are small, and read by many sources."""


def _kept(match: re.Match[str]) -> str:
    """Returns a space for a comment, and a literal as it is."""
    return " " if match[0].startswith("/") else match[0]
