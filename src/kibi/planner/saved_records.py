"""Frozen dataclasses from JSON that nobody vouches for: each field is read by its annotation, with bounds, or refused.

A value is what its annotation says, and no more: `True` is no number, a number is no text, NaN is no float. Texts, numbers, lists
and nesting are bounded, so that nothing that follows takes time or memory out of proportion.
"""

import json
import reprlib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")

MOST_NUMBER = 1 << 53
"""No whole number is above it, nor below its negative: sums of a few thousand fit 64 bits."""
_MOST_FLOAT = 1e30
_MOST_ENTRIES = 1 << 22
_MOST_CHARACTERS = 4096
_MOST_LEVELS = 24
"""Of records in records; the plans of nested control flow are the deepest."""


class RecordError(Exception):
    """Error: what was saved is no such record; the text says which field, and what it should be."""


def load_json(text: str) -> object:
    """Returns what a JSON text says.

    Raises:
        RecordError: it is no JSON, names a key twice, has a number that is none, or is nested too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refused_constant)
    except (ValueError, TypeError) as error:
        raise RecordError(str(error)) from None
    except RecursionError:
        raise RecordError("it is nested too deep") from None


def read_record(kind: type[Record], saved: object) -> Record:
    """Returns the record of a dataclass that JSON describes.

    Args:
        kind: a dataclass of whole numbers, floats, truth values, texts, enumerations of texts, tuples and such dataclasses, each
            of which may be None where the annotation says so. Keys that are no fields of this one are passed over.
        saved: what `load_json` gave.

    Raises:
        RecordError: a field is missing, unknown, of another type or out of bounds.
    """
    return _record(kind, saved, kind.__name__.lower(), 1, kind)


def _record(kind: type[Record], saved: object, where: str, level: int, outer: type) -> Record:
    if not isinstance(saved, Mapping):
        raise _wrong(where, saved, "an object")
    if level > _MOST_LEVELS:
        raise RecordError(f"{where} is nested more than {_MOST_LEVELS} deep")
    hints = _hints(kind)  # type: ignore[arg-type]  # classes can be hashed
    unknown = [] if kind is outer else [key for key in saved if key not in hints]
    if unknown:
        raise RecordError(f"{where} has the unknown field {reprlib.repr(unknown[0])}")
    missing = [name for name, (_, is_required) in hints.items() if is_required and name not in saved]
    if missing:
        raise RecordError(f"{where} has no {missing[0]}")
    values = {
        name: _value(hint, saved[name], f"{where}: {name}", level, outer)
        for name, (hint, _) in hints.items()
        if name in saved
    }
    return kind(**values)


@cache
def _hints(kind: type) -> dict[str, tuple[Any, bool]]:
    """Returns for each field of a dataclass its annotation, and whether it must be there."""
    hints = get_type_hints(kind)
    return {each.name: (hints[each.name], each.default is MISSING) for each in fields(kind)}


def _value(hint: Any, saved: object, where: str, level: int, outer: type) -> object:
    """A value of an annotated type."""
    if get_origin(hint) is tuple:
        return _entries(get_args(hint), saved, where, level, outer)
    if isinstance(hint, UnionType):
        if saved is None and NoneType in get_args(hint):
            return None
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint, saved, where, level + 1, outer)
    return _plain(hint, saved, where)


def _entries(kinds: tuple[Any, ...], saved: object, where: str, level: int, outer: type) -> tuple[object, ...]:
    """A tuple: of any length where its annotation ends in dots, else of one entry for each type."""
    if not isinstance(saved, list | tuple):
        raise _wrong(where, saved, "a list")
    is_open = kinds[-1] is Ellipsis
    if len(saved) > _MOST_ENTRIES or not (is_open or len(saved) == len(kinds)):
        raise RecordError(f"{where} has {len(saved)} entries, not {'so few' if is_open else len(kinds)}")
    hints = (kinds[0],) * len(saved) if is_open else kinds
    return tuple(
        _value(hint, each, f"{where}[{place}]", level, outer)
        for place, (hint, each) in enumerate(zip(hints, saved, strict=True))
    )


def _plain(hint: Any, saved: object, where: str) -> object:
    """A number, truth value, text or member of an enumeration."""
    if hint is bool and isinstance(saved, bool):
        return saved
    is_number = isinstance(saved, int) and not isinstance(saved, bool) and abs(saved) <= MOST_NUMBER
    if hint is int and is_number:
        return saved
    is_float = isinstance(saved, float) and isfinite(saved) and abs(saved) <= _MOST_FLOAT
    if hint is float and (is_number or is_float):
        return saved
    if hint is str and isinstance(saved, str) and _is_text(saved):
        return saved
    if issubclass(hint, Enum):
        for member in hint:
            if type(saved) is str and member.value == saved:
                return member
        raise _wrong(where, saved, "one of " + ", ".join(str(member.value) for member in hint))
    raise _wrong(where, saved, _WANTED[hint])


_WANTED = {
    bool: "true or false",
    int: f"a whole number up to {MOST_NUMBER}",
    float: f"a number up to {_MOST_FLOAT:g}",
    str: f"a text of at most {_MOST_CHARACTERS} characters",
}


def _wrong(where: str, saved: object, wanted: str) -> RecordError:
    return RecordError(f"{where} is {reprlib.repr(saved)}, not {wanted}")


def _is_text(text: str) -> bool:
    """True if a text is not too long, and without halves of characters, which nothing can write."""
    return len(text) <= _MOST_CHARACTERS and not any("\ud800" <= each <= "\udfff" for each in text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON.

    Raises:
        ValueError: a key is there twice.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {reprlib.repr(twice)} is there twice")
    return made


def _refused_constant(name: str) -> object:
    raise ValueError(f"{name} is no number")
