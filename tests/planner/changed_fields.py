"""Saved records of which one field has another value."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

Field = tuple[Any, ...]
"""The keys and indices that lead from a record to a field."""


def fields_of(value: object) -> Iterator[Field]:
    """Each field of a record, and the first entry of each list."""
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for key, each in inner:
        yield (key,)
        yield from ((key, *path) for path in fields_of(each))


def with_field(record: dict[str, Any], field: Field, value: object) -> dict[str, Any]:
    """A copy of a record in which a field has this value."""
    changed = deepcopy(record)
    inner: Any = changed
    for key in field[:-1]:
        inner = inner[key]
    inner[field[-1]] = value
    return changed
