"""The record of what a pass changed in a graph, for people."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a lossless pass did.

    Attributes:
        by: the pass's name: `constant-channels`.
        where: the node that changed or vanished, as `Node.label` names it.
        what: one sentence: what was done, and the reason why no bit changes.
        macs: multiply-accumulates saved in one inference.
        weights_bytes: bytes of constants saved; negative if the constants grow.
    """

    by: str
    where: str
    what: str
    macs: int = 0
    weights_bytes: int = 0
