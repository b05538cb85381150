"""Contexts, arenas, handles, tensors, operators by hand, events: what runs without a plan."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kibi.eager.program import Program, record

__all__ = ["Program", "record"]


def __getattr__(name: str) -> Any:
    """Imports what is asked for; most programs record nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'kibi.eager' has no attribute {name!r}")
    from kibi.eager import program  # noqa: PLC0415

    return getattr(program, name)
