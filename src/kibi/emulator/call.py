"""The result of a call of the emulated core: counts, by operator, and the stack."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kibi.emulator.waits import Spent, Stalls


@dataclass(frozen=True, slots=True)
class Call:
    """The result of one call.

    Attributes:
        value: the function's result, the first result register, 0 to 2^32 - 1; to 2^64 - 1 where registers have 64 bits.
        instructions: instructions from the function's first to its return, with those that a condition skips.
        by_operator: those instructions by operator label; the label "" is what ran outside all operators. Their sum is
            `instructions`.
        stack_bytes: the most that the stack held, without arguments passed on it.
        cycles_estimate: cycles by published tables, see `kibi.emulator.arm.cycles`, and those that the core waits for its
            memory; None where no table exists.
        spent: these cycles by operator label; None where no table exists.
        vectors: how many of the instructions are of vectors; 0 on a core without any.
    """

    value: int
    instructions: int
    by_operator: Mapping[str, int]
    stack_bytes: int
    cycles_estimate: int | None
    spent: Mapping[str, Spent] | None
    vectors: int = 0

    @property
    def cycles_by_operator(self) -> Mapping[str, int]:
        """The cycles by operator label, whose sum they are; empty where no table exists."""
        return {label: each.cycles for label, each in (self.spent or {}).items()}

    @property
    def stalls(self) -> Stalls | None:
        """The cycles that the core waits for its memory; None where no timing table exists."""
        return None if self.spent is None else sum((each.stalls for each in self.spent.values()), Stalls())

    def then(self, other: "Call") -> "Call":
        """This call and the next one as one call: counts are added, and the deeper stack counts."""
        estimates = (self.cycles_estimate, other.cycles_estimate)
        spent = None
        if self.spent is not None and other.spent is not None:
            labels = {**self.spent, **other.spent}
            spent = {each: self.spent.get(each, Spent()) + other.spent.get(each, Spent()) for each in labels}
        return Call(
            value=other.value,
            instructions=self.instructions + other.instructions,
            by_operator=_added(self.by_operator, other.by_operator),
            stack_bytes=max(self.stack_bytes, other.stack_bytes),
            cycles_estimate=None if None in estimates else sum(each or 0 for each in estimates),
            spent=spent,
            vectors=self.vectors + other.vectors,
        )

    @property
    def signed_value(self) -> int:
        """The function's result as a signed number of 32 bits, for status codes."""
        low = self.value & 0xFFFF_FFFF
        return low - (1 << 32) if low >= 1 << 31 else low


def _added(first: Mapping[str, int], second: Mapping[str, int]) -> Mapping[str, int]:
    """The sums by label."""
    return MappingProxyType({each: first.get(each, 0) + second.get(each, 0) for each in {**first, **second}})
