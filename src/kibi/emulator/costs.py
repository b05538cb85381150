"""The cycles of one instruction, as the hook adds them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles of one instruction.

    Attributes:
        following: where the instruction before it in memory was executed before it.
        jumped: where a branch led to it.
        odd: as many more where the address of its access is odd.
        even: as many more where that address is even, but no multiple of 4.
    """

    following: int
    jumped: int
    odd: int = 0
    even: int = 0


UNKNOWN = Cost(0, 0)
"""That of a core without a table."""
