"""Rewrites of graphs: one in each file, pure, verified."""

from typing import TYPE_CHECKING, Any

from kibi.passes.change import Change
from kibi.passes.expose import expose_intermediates
from kibi.passes.external_buffers import with_external_buffers
from kibi.passes.reorder import reorder
from kibi.passes.stream_inputs import stream_inputs

if TYPE_CHECKING:
    from kibi.passes.lossless import PASSES, Pass, Simplified, simplify

__all__ = [
    "PASSES",
    "Change",
    "Pass",
    "Simplified",
    "expose_intermediates",
    "reorder",
    "simplify",
    "stream_inputs",
    "with_external_buffers",
]
_LATE = ("PASSES", "Pass", "Simplified", "simplify")


def __getattr__(name: str) -> Any:
    """Imports the lossless passes at their first use, so that `import kibi` stays quick."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kibi.passes import lossless  # noqa: PLC0415 - see above

    return getattr(lossless, name)
