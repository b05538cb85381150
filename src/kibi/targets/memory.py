"""How cores read their flash, as data: wait states, caches and prefetch of the memory interfaces that makers document."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from kibi.errors import TargetError, did_you_mean


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache. The line that was used longest ago makes room for another.

    Attributes:
        lines: how many lines there are; a power of two times `ways`.
        ways: the lines of each set.
        line_bytes: bytes with one tag. A miss fills one read of the flash, not the whole line.
        in_turn: True if lines make room in the order in which they came, whatever was used since.
    """

    lines: int
    ways: int
    line_bytes: int
    in_turn: bool = False

    @property
    def sets(self) -> int:
        """How many sets there are."""
        return self.lines // self.ways

    @property
    def size_bytes(self) -> int:
        """What it holds."""
        return self.lines * self.line_bytes

    @property
    def text(self) -> str:
        """The same in words."""
        order = "fully associative" if self.sets == 1 else f"{self.ways} ways" if self.ways > 1 else "direct-mapped"
        turn = ", replaced in turn" if self.in_turn else ""
        return f"{self.size_bytes:,} bytes, {self.lines} lines of {self.line_bytes}, {order}{turn}"


@dataclass(frozen=True, slots=True)
class Memory:
    """The interface between a core and the flash that code and weights are in.

    Attributes:
        name: the name that the table of boards gives.
        title: the chips that have it.
        read_bytes: bytes of one read of the flash, aligned; a power of two.
        clock_limits_hz: the highest clock without a wait state, with one, with two and so on; empty if they do not depend on it.
        fixed_wait_states: wait states at every clock, where there are no such limits.
        instruction_cache, data_cache: caches of fetches, and of loads; None if the chip has no such cache.
        unified_cache: a cache of both, instead of these two.
        has_prefetch: True if the read after that which instructions come from is begun ahead.
        miss_cycles: what a miss costs beyond the wait states.
        source: the documents that the figures are from, and which of them no document states.
    """

    name: str
    title: str
    read_bytes: int
    clock_limits_hz: tuple[int, ...]
    fixed_wait_states: int
    instruction_cache: Cache | None
    data_cache: Cache | None
    unified_cache: Cache | None
    has_prefetch: bool
    miss_cycles: int
    source: str

    def wait_states(self, clock_hz: int) -> int:
        """The cycles that a read takes longer than one at a clock; at a higher one than the last limit, one more than at that."""
        if not self.clock_limits_hz:
            return self.fixed_wait_states
        return bisect_left(self.clock_limits_hz, clock_hz)


@cache
def memories() -> Mapping[str, Memory]:
    """Returns all memory interfaces that Kibi has a model of, by name."""
    text = files("kibi.targets").joinpath("memories.toml").read_text(encoding="utf-8")
    import tomllib  # noqa: PLC0415 - few commands read the table

    return {each["name"]: _memory(each) for each in tomllib.loads(text)["memory"]}


def memory(name: str) -> Memory:
    """Returns the memory interface of that name.

    Raises:
        TargetError: no memory has that name.
    """
    try:
        return memories()[name]
    except KeyError:
        near = did_you_mean(name, memories())
        raise TargetError(f"unknown memory {name[:60]!r}.{near} Memories are: {', '.join(memories())}.") from None


def _memory(entry: Mapping[str, Any]) -> Memory:
    return Memory(
        name=entry["name"],
        title=entry["title"],
        read_bytes=entry["read_bytes"],
        clock_limits_hz=tuple(entry.get("clock_limits_hz", ())),
        fixed_wait_states=entry.get("wait_states", 0),
        instruction_cache=_cache(entry.get("instruction_cache")),
        data_cache=_cache(entry.get("data_cache")),
        unified_cache=_cache(entry.get("unified_cache")),
        has_prefetch=entry.get("prefetch", False),
        miss_cycles=entry.get("miss_cycles", 0),
        source=entry["source"],
    )


def _cache(entry: Mapping[str, Any] | None) -> Cache | None:
    if entry is None:
        return None
    return Cache(entry["lines"], entry.get("ways", entry["lines"]), entry["line_bytes"], entry.get("in_turn", False))
