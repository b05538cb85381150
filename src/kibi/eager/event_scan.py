"""The names of ids: the events and errors that sources declare, their collisions, and logs of ids.

What counts as a declaration:

- C and C++, which Tree-sitter parses: `DECLARE_EVENT(Name)` and `DECLARE_ERROR(Name)`, which are uTensor's
  (`src/uTensor/core/errorHandler.hpp`), and Kibi's `KIBI_EVENT(Name)` and `KIBI_ERROR(Name)`. C99 cannot hash a name, so Kibi's may
  state the id after the name, as in `KIBI_EVENT(Name, 0x1234u)`, which is checked. Not in comments, string literals, preprocessor
  directives (so that a macro's own definition is none) or after `#if 0`.
- Python: calls of `declare_event("Name")` and `declare_error("Name")`, also by the name that they were imported as. A name
  that is computed cannot be known and is passed over.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

from kibi.eager.events import EventType, Severity
from kibi.errors import InputError
from kibi.files import read_file

_MOST_DIGITS = 20
"""The limit of digits in a number that may be an id; an id of 32 bits has ten at most."""
C_SUFFIXES = (".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".ipp", ".inl", ".ino", ".tpp")
_C_FORMS = ("DECLARE_EVENT", "DECLARE_ERROR", "KIBI_EVENT", "KIBI_ERROR")
PYTHON_SUFFIXES = (".py", ".pyi")
_MOST_SOURCE_BYTES = 16 << 20

_SEVERITIES = {
    "DECLARE_EVENT": Severity.EVENT,
    "DECLARE_ERROR": Severity.ERROR,
    "KIBI_EVENT": Severity.EVENT,
    "KIBI_ERROR": Severity.ERROR,
    "declare_event": Severity.EVENT,
    "declare_error": Severity.ERROR,
}
_STATED_ID = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NO_CODE = frozenset((
    "comment", "string_literal", "raw_string_literal", "char_literal", "system_lib_string", "preproc_def", "preproc_function_def",
    "preproc_include", "preproc_call",
))  # fmt: skip
"""The kinds of syntax in which nothing is declared."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One place where an event or error is declared.

    Attributes:
        type: name and severity.
        path: the file, as it was reached.
        line: counted from 1.
        stated_id: the id that stands beside the name, or None.
    """

    type: EventType
    path: str
    line: int
    stated_id: int | None = None

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.path}:{self.line}"

    @property
    def is_wrong(self) -> bool:
        """True if the stated id is not that of the name, at any width."""
        return self.stated_id is not None and self.stated_id not in {self.type.id(width) for width in (1, 2, 4)}


@dataclass(frozen=True, slots=True)
class Collision:
    """Events and errors that share an id, so that a log cannot tell them apart.

    Attributes:
        id_bytes: the width of the ids.
        id: the one that they share.
        types: two or more, by name. A name that is declared as event and as error collides with itself.
    """

    id_bytes: int
    id: int
    types: tuple[EventType, ...]


@dataclass(frozen=True, slots=True)
class EventMap:
    """All declarations that were found.

    Attributes:
        declarations: by file and line.
        unread: Python files that do not parse, as they may be for another version.
    """

    declarations: tuple[Declaration, ...]
    unread: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[EventType, ...]:
        """Each event and error once, by name."""
        found = {declaration.type for declaration in self.declarations}
        return tuple(sorted(found, key=lambda each: (each.name, each.severity.value)))

    def places(self, kind: EventType) -> tuple[str, ...]:
        """Returns the places where it is declared."""
        return tuple(declaration.place for declaration in self.declarations if declaration.type == kind)

    def by_id(self, id_bytes: int) -> dict[int, tuple[EventType, ...]]:
        """Events and errors by their ids of that width."""
        found: defaultdict[int, list[EventType]] = defaultdict(list)
        for kind in self.types:
            found[kind.id(id_bytes)].append(kind)
        return {number: tuple(kinds) for number, kinds in sorted(found.items())}

    def collisions(self, id_bytes: int) -> tuple[Collision, ...]:
        """Ids of that width that more than one event or error has, by id."""
        shared = ((number, kinds) for number, kinds in self.by_id(id_bytes).items() if len(kinds) > 1)
        return tuple(Collision(id_bytes, number, kinds) for number, kinds in shared)


def scan(paths: Iterable[Path]) -> EventMap:
    """The events and errors that sources declare.

    Args:
        paths: source files, and folders that hold them at any depth. Folders whose names begin with a dot are left out.

    Raises:
        InputError: a path does not exist, cannot be read, or is a file in no language that is known here.
    """
    found: list[Declaration] = []
    unread = []
    for path in dict.fromkeys(file for given in paths for file in _files(given)):
        data = read_file(path, _MOST_SOURCE_BYTES, InputError, "Give sources that can be read.")
        if path.suffix.lower() in C_SUFFIXES:
            found += scan_c(data.decode("utf-8", errors="replace"), str(path))
            continue
        try:
            found += scan_python(data, str(path))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # so the parser says that it is nested too deep
            unread.append(str(path))
    return EventMap(tuple(found), tuple(unread))


def scan_c(text: str, path: str) -> tuple[Declaration, ...]:
    """The declarations in C or C++ source text, by line.

    Args:
        text: the source.
        path: the path that the declarations state.
    """
    if not any(form in text for form in _C_FORMS):  # most files: they need not be parsed
        return ()
    tokens = list(_tokens(text.encode(errors="replace")))
    found = []
    for place, (form, line) in enumerate(tokens):
        given = [token for token, _ in tokens[place + 1 : place + 6]] if form in _C_FORMS else []
        if given[:1] != ["("] or not _NAME.fullmatch(given[1] if given[1:] else ""):
            continue
        stated = _STATED_ID.fullmatch(given[3]) if given[2:3] + given[4:] == [",", ")"] else None
        if given[2:3] == [")"] or stated:
            number = _number(stated[1]) if stated else None
            found.append(Declaration(EventType(given[1], _SEVERITIES[form]), path, line, number))
    return tuple(found)


def _tokens(source: bytes) -> Iterator[tuple[str, int]]:
    """The tokens of code, each with its line, in order: without comments, texts, directives, and what `#if 0` leaves out."""
    waiting = [_parser().parse(source).root_node]
    while waiting:
        node = waiting.pop()
        if node.type in _NO_CODE:
            continue
        if node.child_count:
            waiting += reversed(_alternatives(node) if node.type.startswith("preproc_") else node.children)
        elif node.text:
            yield node.text.decode(errors="replace"), node.start_point.row + 1


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def _alternatives(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    """What a conditional directive holds: of `#if 0` only what comes after its `#else`."""
    condition, after = node.child_by_field_name("condition"), node.child_by_field_name("alternative")
    if node.type in ("preproc_if", "preproc_elif") and condition is not None and condition.text == b"0":
        return [] if after is None else [after]
    heads = [condition, node.child_by_field_name("name")]
    return [each for each in node.children if each not in heads]


def _number(text: str) -> int:
    """The number of a C literal. Of a literal with more digits than any id has, the first digits: they are wrong in any case."""
    is_hexadecimal = text[:2].lower() == "0x"
    digits = (text[2:] if is_hexadecimal else text).lstrip("0")[:_MOST_DIGITS]
    return int(digits or "0", 16 if is_hexadecimal else 10)


def scan_python(source: bytes | str, path: str) -> tuple[Declaration, ...]:
    """The declarations in Python source, by line.

    Args:
        source: bytes keep their own declaration of an encoding.
        path: the path that the declarations state.

    Raises:
        SyntaxError, ValueError: this version of Python does not parse it.
    """
    tree = ast.parse(source, path)
    names = {name: _SEVERITIES[name] for name in ("declare_event", "declare_error")}
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    for alias in (alias for node in imports for alias in node.names):
        if alias.asname and alias.name in ("declare_event", "declare_error"):
            names[alias.asname] = _SEVERITIES[alias.name]
    calls = sorted((node for node in ast.walk(tree) if isinstance(node, ast.Call)), key=lambda node: node.lineno)
    found = []
    for call in calls:
        severity = names.get(_called(call))
        name = next(_names(call), None)
        if severity is not None and name is not None:
            found.append(Declaration(EventType(name, severity), path, call.lineno))
    return tuple(found)


def _called(call: ast.Call) -> str:
    """The last part of the name of the called function."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _names(call: ast.Call) -> Iterator[str]:
    """The constant text that a call gives as its name, if it does."""
    for given in [*call.args[:1], *(word.value for word in call.keywords if word.arg == "name")]:
        if isinstance(given, ast.Constant) and isinstance(given.value, str) and _is_encodable(given.value):
            yield given.value


def _is_encodable(name: str) -> bool:
    """True if a name has no surrogates, which have no bytes to hash."""
    return not any("\ud800" <= each <= "\udfff" for each in name)


def _files(path: Path) -> Sequence[Path]:
    suffixes = C_SUFFIXES + PYTHON_SUFFIXES
    if path.is_dir():
        below = (file for file in path.rglob("*") if file.suffix.lower() in suffixes)
        visible = (file for file in below if not any(part.startswith(".") for part in file.relative_to(path).parts))
        return sorted(file for file in visible if file.is_file())
    if not path.exists():
        raise InputError(f"{path}: no such file or folder. Give sources, or folders that hold them.")
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: neither C, C++ nor Python by its name. Sources end in {' '.join(suffixes)}.")
    return [path]
