"""Keeps in mind which tools a run used: reports say so, because other versions may give other figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_noted: ContextVar[dict[str, None] | None] = ContextVar("noted", default=None)


@contextmanager
def noting_tools() -> Iterator[None]:
    """Notes the tools that are used during the with-block, for `used_tools` in it; what was noted outside of it stays as it was."""
    token = _noted.set({})
    try:
        yield
    finally:
        _noted.reset(token)


def note_tool(version: str) -> None:
    """Notes that a tool is used; without effect outside of `noting_tools`.

    Args:
        version: its name and version.
    """
    noted = _noted.get()
    if noted is not None:
        noted[version] = None


def used_tools() -> tuple[str, ...]:
    """Returns the names and versions of the tools that were noted so far, in the order of their first use."""
    return tuple(_noted.get() or ())
