"""JSON that every reader takes, with any names and numbers."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kibi.errors import InternalError


@dataclass(frozen=True, slots=True)
class JsonText:
    """A document in JSON, in ASCII alone; `json_text` makes it.

    Attributes:
        text: for the writers at the end.
    """

    text: str


def json_text(value: Any, indent: int | None = 1, *, is_compact: bool = False) -> JsonText:
    """A value as JSON with a line end.

    Halves of surrogate pairs, which many readers refuse, become U+FFFD, and numbers that JSON does not have become null. No
    entry of an object gets lost where that makes keys equal.

    Args:
        value: of mappings, sequences, texts, numbers, true, false and None.
        indent: blanks for each level; None: all in one line.
        is_compact: True to leave out the blanks after commas and colons.
    """
    separators = (",", ":") if is_compact else None
    text = json.dumps(_plain(value), indent=indent, separators=separators, allow_nan=False)
    return JsonText(text.replace("\x7f", "\\u007f") + "\n")  # a control character that JSON lets through


def with_own_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which every pair has an entry: a key that is taken gets a number, ` (2)` and so on."""
    made: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for name, value in pairs:
        key, count = name, counts.get(name, 1)
        while key in made:
            count += 1
            key = f"{name} ({count})"
        counts[name] = count
        made[key] = value
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return with_own_keys((_key(key), _plain(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return without_surrogates(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _key(key: Any) -> str:
    if not isinstance(key, str | int):
        raise InternalError(f"{key!r} is no key for JSON")
    return without_surrogates(str(key))


def without_surrogates(text: str) -> str:
    """Returns a text with U+FFFD in place of each half of a surrogate pair, which UTF-8 cannot hold."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)
