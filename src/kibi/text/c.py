r"""C code: templates, and in them names, comments, string literals and numbers that mean nothing but themselves.

    code("static $kind $name[$count];\n", kind=element_type(dtype), name=identifier(text), count=4)

Templates are literals of the program's own; what fills them was made by a function here, or by another template. C has no `$`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from textwrap import wrap
from typing import Final

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InputError, InternalError
from kibi.text.file_name import FileName
from kibi.text.reserved import why_reserved
from kibi.text.template import Code

LINE_WIDTH: Final = 120
LONGEST_NAME: Final = 63
"""Characters that C99 compilers tell apart at least."""
_LONGEST_PLAIN = 80
_LONGEST_WORDS = 40
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[A-Za-z0-9]+")
_TRIGRAPH = re.compile(r"\?(?=\?[=/'()!<>-])")
_TYPES = frozenset((*(dtype.c for dtype in DType), "void", "uint16_t", "uint32_t", "size_t", "unsigned", "int"))


class CCode(Code):
    """C code."""

    __slots__ = ()

    def upper(self) -> "CCode":
        """The same in upper case, as names of macros have it."""
        return CCode(self.text.upper())

    def divided(self, before: str) -> "tuple[CCode, CCode]":
        """Splits before the last occurrence of a text; returns all and an empty rest if it does not occur."""
        at = self.text.rfind(before)
        return (CCode(self.text[:at]), CCode(self.text[at:])) if at >= 0 else (self, CCode(""))

    def replaced(self, old: "CCode", new: "CCode") -> "CCode":
        """Returns the same with other text in each place of a text."""
        return CCode(self.text.replace(old.text, new.text))

    def with_words(self, words: "Mapping[str, CCode]") -> "CCode":
        """Returns the same with other text for some words; `_` separates words, too, as in `kibi_maximum_TYPE`."""
        if not words:
            return self
        pattern = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        found = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])")
        return CCode(found.sub(lambda match: words[match[0]].text, self.text))

    def pieces(self, pattern: "re.Pattern[str]") -> "tuple[CCode, ...]":
        """Returns the text between the places that match, and the groups of these places, as `re.split` does."""
        return tuple(CCode(piece or "") for piece in pattern.split(self.text))

    def stripped(self) -> "CCode":
        """Returns the same without empty lines before and after it."""
        return CCode(self.text.strip("\n"))

    def within(self, width: int) -> "CCode":
        """Returns the same in lines of at most that width where commas allow it; comments stay as they are."""
        return CCode("".join(piece for line in self.text.splitlines(keepends=True) for piece in _cut(line, width)))


def _cut(line: str, width: int) -> Iterator[str]:
    """Yields the parts of a line: cut after the last comma in the fewest parentheses, continued under what these hold."""
    opened: tuple[int, ...] = ()
    while len(line.rstrip("\n")) > width and not line.lstrip().startswith(("/*", "* ", "#")):
        places = [place for place in _commas(line[:width], opened) if place[0] > (opened[-1] if opened else -1) + 1]
        if not places:
            break
        at, opened = min(places, key=lambda place: (len(place[1]), -place[0]))
        yield line[: at + 1] + "\n"
        line = " " * (opened[-1] + 1) + line[at + 2 :]
    yield line


def _commas(line: str, opened: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yields for each comma in parentheses its place, and those of the parentheses that are open there.

    Args:
        line: its text.
        opened: the places of the parentheses that were opened before it.
    """
    for at, character in enumerate(line):
        if character == "(":
            opened = (*opened, at)
        elif character == ")":
            opened = opened[:-1]
        elif character == "," and opened:
            yield at, opened


def code(template: str, /, **parts: CCode | int) -> CCode:
    """C code from a template, a literal, whose places `$name` and `${name}` are filled."""
    return CCode.filled(template, dict(parts))


def code_file(path: Path, /, **parts: CCode | int) -> CCode:
    """The same for a template in a file of the program's own."""
    return CCode.filled_file(path, dict(parts))


def lines(parts: Iterable[CCode]) -> CCode:
    """The parts one after another, with nothing between them."""
    return CCode("").join(parts)


def file_text(path: Path) -> CCode:
    """A file of C, as people wrote it: of Kibi's kernels, or of the kernels of custom operators."""
    return CCode(path.read_text(encoding="utf-8"))


def identifier(name: str, what: str = "the model") -> CCode:
    """A name that somebody chose, as the beginning of names in C and of files.

    Args:
        name: of ASCII letters, digits and underscores, a letter first.
        what: it is the name of, for errors.

    Raises:
        InputError: it is no such name, or would break the library.
    """
    reason = why_reserved(name) if _NAME.fullmatch(name) and name[0] != "_" else "it is no name in C"
    if reason:
        shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
        raise InputError(
            f"{what} cannot be called {shown!r}: {reason}. Give it a name of letters, digits and underscores, with a letter "
            "first, such as 'my_model'."
        )
    return CCode(name)


def word(text: str) -> CCode:
    """A word of the program's own, or of a kernel's header: the name of a function, a field, a macro.

    Raises:
        InternalError: it is no word.
    """
    if not _NAME.fullmatch(text):
        raise InternalError(f"{text!r} is no word in C")
    return CCode(text)


def name_problem(name: object) -> str:
    """Returns what to do about a given name that cannot be a part of names in C; empty for one that can."""
    if isinstance(name, str) and len(name) <= LONGEST_NAME and _NAME.fullmatch(name):
        return ""
    return f"Name it like a variable in C: at most {LONGEST_NAME} letters, digits and underscores, no digit first"


def name_part(name: str) -> CCode:
    """A name that somebody chose, as a part of names in C.

    Raises:
        InputError: it cannot be one.
    """
    problem = name_problem(name)
    if problem:
        raise InputError(f"{str(name)[:40]!r} is no part of names in C. {problem}.")
    return CCode(name)


def name_words(text: str) -> CCode:
    """The words of any text as a name in C begins: lower case, at most 40 characters; empty where the text has no words.

    Of several names that a converter has joined with semicolons the first counts; of a long one the end, which tells most.
    """
    words = [found.lower()[:_LONGEST_WORDS] for found in _WORD.findall(text.partition(";")[0])]
    while len("_".join(words)) > _LONGEST_WORDS:
        del words[0]
    if words and words[0][0].isdigit():
        words.insert(0, "tensor")
    return CCode("_".join(words))


def type_name(text: str) -> CCode:
    """A type of elements or numbers, of C99.

    Raises:
        InternalError: there is no such type.
    """
    if text not in _TYPES:
        raise InternalError(f"{text!r} is no type that generated C has")
    return CCode(text)


def element_type(dtype: DType) -> CCode:
    """Returns the C type of elements."""
    return CCode(dtype.c)


def include(name: FileName) -> CCode:
    """The line that includes a file of the library."""
    return CCode(f'#include "{name.path}"\n')


def comment(text: str, indent: str = "") -> CCode:
    """A block comment of any text, which it cannot end. Paragraphs stay apart, long ones are wrapped."""
    filled = []
    for paragraph in _defused(text).split("\n"):
        filled += wrap(paragraph, LINE_WIDTH - len(indent) - 6, break_long_words=False) or [""]
    return comment_lines(filled, indent)


def comment_lines(texts: Sequence[str], indent: str = "") -> CCode:
    """A block comment of lines as they are; none of them can end it."""
    shown = [_without_last_backslash(_defused(each).replace("\n", " ")) for each in texts]
    if len(shown) == 1:
        return CCode(f"{indent}/* {shown[0]} */\n")
    body = "\n".join(f"{indent} * {line}".rstrip() for line in shown[1:])
    return CCode(f"{indent}/* {shown[0]}\n{body} */\n")


def remark(text: str) -> CCode:
    """A comment within a line, which any text cannot end."""
    return CCode(f"/* {_without_last_backslash(_defused(text).replace(chr(10), ' '))} */")


def plain(name: str) -> str:
    """A name as comments have it: printable ASCII, at most 80 characters."""
    text = "".join(each if " " <= each <= "~" else "?" for each in name)
    return text if len(text) <= _LONGEST_PLAIN else f"{text[:38]}...{text[-38:]}"


def _defused(text: str) -> str:
    """A text that neither ends a comment nor opens one, in printable ASCII; line ends stay."""
    shown = "".join(each if " " <= each <= "~" or each == "\n" else "?" for each in text)
    return _TRIGRAPH.sub("? ", shown).replace("*/", "* /").replace("/*", "/ *")


def _without_last_backslash(line: str) -> str:
    """A line that does not join the next one."""
    kept = line.rstrip()
    return f"{kept}." if kept.endswith("\\") else line


def string_literal(text: str) -> CCode:
    """A string literal of a text's UTF-8 bytes: the same in every compiler, whatever its character set and its trigraphs."""
    pieces = (_character(byte) for byte in text.encode("utf-8", "replace"))
    return CCode(f'"{"".join(pieces)}"')


def _character(byte: int) -> str:
    """A byte within a string literal; three octal digits, so that none that follows is taken for one."""
    if byte == ord("\n"):
        return r"\n"
    return chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\?' else f"\\{byte:03o}"


def hexadecimal(value: int, digits: int = 8) -> CCode:
    """An unsigned literal with that many hexadecimal digits."""
    return CCode(f"0x{value:0{digits}x}u")


def literal(value: float, c_type: str) -> CCode:
    """A C99 literal of a value of an integer type or `float`."""
    return CCode(_literal(value, c_type))


def array(declaration: CCode, data: Array) -> CCode:
    """A definition with initializer: `declaration = {…};`, lines filled; words without a sign in hexadecimal digits."""
    c_type = DType.of(data).c
    flat = data.reshape(-1)
    numbers = map(str, flat.tolist()) if c_type == "int8_t" else (_literal(value, c_type) for value in flat.tolist())
    if c_type == "uint32_t":
        numbers = (hexadecimal(value).text for value in flat.tolist())
    return CCode(f"{declaration.text} = {{\n{_filled(numbers)}\n}};\n")


def filled(parts: Iterable[CCode | int]) -> CCode:
    """Parts with commas between them, as many on a line as fit, indented by 4."""
    return CCode(_filled(str(part) if isinstance(part, int) else part.text for part in parts))


def _filled(numbers: Iterable[str]) -> str:
    indent = "    "
    found, line = [], indent
    for number in numbers:
        piece = f"{number}, "
        if len(line) + len(piece) - 1 > LINE_WIDTH:
            found.append(line.rstrip())
            line = indent
        line += piece
    found.append(line.rstrip(", "))
    return "\n".join(found)


def _literal(value: float, c_type: str) -> str:
    if c_type == "float" and not isfinite(value):
        # Constant expressions that need no header.
        return "(0.0f / 0.0f)" if isnan(value) else f"({'-' if value < 0 else ''}1.0f / 0.0f)"
    if c_type == "float":
        # Decimal digits that give back the very same float32, in C99 and C++17 alike.
        text = repr(float(np.float32(value))) if float(np.float32(value)) == value else f"{value:.9g}"
        return f"{text if '.' in text or 'e' in text else text + '.0'}f"
    if int(value) in (-(1 << 31), -(1 << 63)):
        return f"({int(value) + 1} - 1)"  # no literal is negative, and none is as large as this number without its sign
    return f"{int(value)}{'u' if c_type in ('uint32_t', 'uint64_t') else ''}"
