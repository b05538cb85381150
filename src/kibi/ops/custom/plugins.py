"""Custom operators of installed distributions: entry points of the group `kibi.operators`.

The entry point's name is the custom code that models have; its value is a `CustomOperator`, or the operator's class alone.
Nothing is imported before a model asks for that code, or somebody for the list.
"""

import os
import sys
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from kibi.errors import InputError
from kibi.ops.custom.custom_operator import CustomOperator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

GROUP = "kibi.operators"


def installed() -> "Mapping[str, EntryPoint]":
    """The entry points by name, in alphabetical order.

    Raises:
        InputError: two distributions give the same name.
    """
    return _installed_in(tuple((folder, _changed(folder)) for folder in sys.path))


def _changed(folder: str) -> int:
    """When distributions came into a folder of the path, or left it; 0 if there is no such folder."""
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - the path's entries are strings
    except (OSError, ValueError):
        return 0


@lru_cache(maxsize=4)
def _installed_in(folders: tuple[tuple[str, int], ...]) -> "Mapping[str, EntryPoint]":
    """The same, of folders as they were at a time: to look through them takes milliseconds."""
    del folders
    from importlib.metadata import entry_points  # noqa: PLC0415 - it brings all of `email` along

    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, origin_of(entry), entry.value)):
        other = found.setdefault(entry.name, entry)
        # A distribution that is found on two paths is still one.
        if (origin_of(other), other.value) != (origin_of(entry), entry.value):
            raise InputError(
                f"custom operator {entry.name!r} is given by {origin_of(other)} ({other.value}) and by {origin_of(entry)} "
                f"({entry.value}). Uninstall one of them."
            )
    return MappingProxyType(found)


def load_plugin(entry: "EntryPoint") -> CustomOperator:
    """Returns what an entry point gives.

    Raises:
        InputError: it cannot be imported.
    """
    origin = origin_of(entry)
    try:
        loaded = entry.load()
    except Exception as error:  # other people's code may raise anything
        raise InputError(
            f"custom operator {entry.name!r} of {origin} cannot be loaded from {entry.value}: {type(error).__name__}: {error}. "
            "Update or uninstall it."
        ) from error
    if isinstance(loaded, CustomOperator):
        return replace(loaded, origin=origin)
    return CustomOperator(loaded, origin=origin)


def origin_of(entry: "EntryPoint") -> str:
    """The distribution that an entry point is from, with its version."""
    return "an unnamed distribution" if entry.dist is None else f"distribution {entry.dist.name} {entry.dist.version}"
