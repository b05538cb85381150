"""Placements that a search found, kept in the user's cache: the same problem is searched once, whatever asks for it.

A search is a pure function of its problem, of the placement that it begins with, of the work that it may do, and of the planner's
own code. The name of an entry is a hash of all these, so that another version of the planner searches again.
"""

import json
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kibi.errors import ToolchainError
from kibi.planner.placement.items import MOST_BYTES
from kibi.planner.placement.problem import Bytes, PlacementProblem
from kibi.planner.placement.progress import Progress

_KIND = "placements"
_FILE = "placement.json"
_PLANNER = Path(__file__).resolve().parent.parent
_CODE = (".py", ".c", ".h")
_LEAST_SECONDS = 0.1
"""A search that may take less is done again: to keep it costs as much."""


def remembered(
    problem: PlacementProblem,
    progress: Progress,
    capacity: int | None,
    seconds: float,
    search: Callable[[], bool],
) -> None:
    """Brings what is known of a problem up to date, by a search or by what one of the same problem found before.

    Args:
        problem: what to place.
        progress: what is known, with some placement.
        capacity: of the search, in bytes, or None.
        seconds: of the search: an amount of work.
        search: brings `progress` up to date; returns False if a clock ended it: then another run may find more.
    """
    if seconds < _LEAST_SECONDS:
        search()
        return
    # Planning alone should not load the toolchain.
    from kibi.toolchain.cache import cached, digest  # noqa: PLC0415

    has_searched = False

    def make(folder: Path) -> None:
        nonlocal has_searched
        has_searched = True
        if not search():
            raise _ClockError
        (folder / _FILE).write_text(_written(progress), encoding="utf-8", newline="\n")

    try:
        begun = b"" if progress.offsets is None else progress.offsets.tobytes()
        key = digest(_code(), *_parts(problem), begun, repr(capacity), repr(seconds))
        entry = cached(_KIND, key, make)
        if not has_searched:
            _read((entry / _FILE).read_text(encoding="utf-8"), problem, progress)
    except _ClockError:
        return
    except (ToolchainError, OSError, ValueError, RecursionError):
        # The cache is full, read-only or damaged: plans do not need it.
        if not has_searched:
            search()


class _ClockError(Exception):
    """The clock ended a search."""


def _parts(problem: PlacementProblem) -> list[bytes]:
    """Returns all of a problem as bytes."""
    values = [getattr(problem, field.name) for field in fields(problem)]
    return [value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode() for value in values]


@lru_cache
def _code() -> str:
    """A hash of the planner's code."""
    from kibi.toolchain.cache import digest  # noqa: PLC0415

    files = sorted(path for path in _PLANNER.rglob("*") if path.suffix in _CODE)
    return digest(*(part for path in files for part in (path.name, path.read_bytes())))


def _written(progress: Progress) -> str:
    offsets = None if progress.offsets is None else progress.offsets.tolist()
    return json.dumps({"offsets": offsets, "lower_bound_bytes": progress.lower_bound_bytes})


def _read(text: str, problem: PlacementProblem, progress: Progress) -> None:
    """Takes what a search has found, if that is a placement within the problem's limits.

    Raises:
        ValueError: it is not.
    """
    found = json.loads(text)
    bound, offsets = (found.get("lower_bound_bytes"), found.get("offsets")) if isinstance(found, dict) else (None, None)
    numbers: list[Any] = [bound, *(offsets if isinstance(offsets, list) else ())]
    if len(numbers) != problem.items + 1 or not all(type(each) is int and 0 <= each <= MOST_BYTES for each in numbers):
        raise ValueError("no offset for each item, and no bound")
    placed: Bytes = np.array(offsets, np.int64)
    if np.any(placed < problem.lowest) or np.any(placed > problem.highest) or np.any(placed % problem.alignments):
        raise ValueError("an offset that its item cannot have")
    progress.keep(placed, problem.peak_bytes(placed))
    progress.lower_bound_bytes = max(progress.lower_bound_bytes, numbers[0])
