"""A plan that allocations follow where they can: the planned block of each allocation, and the bytes that stay free."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kibi.eager.memory.blocks import Block, whole_number
from kibi.errors import ArenaError, PlanError
from kibi.planner.plan import Plan


class Departure(StrEnum):
    """The ways in which allocation by hand departs from the plan.

    UNPLANNED: no planned block of this size is left. ORDER: a block that the plan has later. EARLY: freed before the last
    step that the plan lets it live in. LATE: still there when a block is allocated that the plan has after its end.
    DISPLACED: it is not at its planned place, or had to move, so that another could have its planned place. OCCUPIED: its
    planned place was taken and could not be cleared.
    """

    UNPLANNED = "unplanned"
    ORDER = "order"
    EARLY = "early"
    LATE = "late"
    DISPLACED = "displaced"
    OCCUPIED = "occupied"


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """A block that a program is expected to allocate.

    Attributes:
        offset: bytes from the start of the arena.
        size_bytes: exactly what `allocate` will be asked for.
        start, end: the steps in which it lives, half-open; `end` is None where the plan does not say.
    """

    offset: int
    size_bytes: int
    start: int = 0
    end: int | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The half-open range of its bytes."""
        return self.offset, self.offset + self.size_bytes


def planned_blocks(
    plan: Plan | Iterable[PlannedBlock | tuple[int, int]], capacity_bytes: int
) -> tuple[PlannedBlock, ...]:
    """A plan's blocks in the order in which they are allocated.

    Args:
        plan: Kibi's own, in the order of its steps (an output that it makes in its input's place has no room beside that,
            and displaces it); or blocks or (offset, bytes) in the order of allocation. Blocks with
            lifetimes are put in the order of their starts.
        capacity_bytes: bytes of the arena.

    Raises:
        InputError: an offset or a size is no number of bytes.
        PlanError: an entry is no block, or a block ends before it starts.
        ArenaError: the plan needs more bytes than there are.
    """
    if isinstance(plan, Plan):
        ordered = sorted(plan.buffers, key=lambda buffer: (buffer.start, buffer.offset))
        blocks = [PlannedBlock(each.offset, each.size_bytes, each.start, each.end) for each in ordered]
    else:
        blocks = [_planned_block(number, each) for number, each in enumerate(plan)]
        blocks.sort(key=lambda block: block.start)
    for number, block in enumerate(blocks):
        if block.end is not None and block.end <= block.start:
            raise PlanError(f"planned block {number} ends at step {block.end}, but starts at {block.start}. Swap them.")
    needed = max((block.span[1] for block in blocks), default=0)
    if needed > capacity_bytes:
        raise ArenaError("the planned blocks do not fit", needed, capacity_bytes)
    return tuple(blocks)


def _planned_block(number: int, block: PlannedBlock | tuple[int, int]) -> PlannedBlock:
    if not isinstance(block, PlannedBlock):
        try:
            offset, size_bytes = block
        except (TypeError, ValueError):
            raise PlanError(f"planned block {number} is {block!r}. Give PlannedBlock or (offset, bytes).") from None
        block = PlannedBlock(offset, size_bytes, start=number)
    offset = whole_number(block.offset, f"the offset of planned block {number}", least=0)
    size_bytes = whole_number(block.size_bytes, f"the size of planned block {number}")
    return replace(block, offset=offset, size_bytes=size_bytes)


class PlanGuide:
    """Follows a program through a plan, allocation by allocation.

    Args:
        blocks: in the order of allocation.
    """

    def __init__(self, blocks: Sequence[PlannedBlock]) -> None:
        self._all = tuple(blocks)
        self._remaining = list(blocks)
        self._assigned: dict[Block, PlannedBlock] = {}
        self._told_late: set[Block] = set()
        self._start = 0

    def restart(self) -> None:
        """Begins again with the first block; blocks that still live no longer belong to the plan."""
        self._remaining = list(self._all)
        self._assigned.clear()
        self._told_late.clear()
        self._start = 0

    def match(self, size_bytes: int) -> tuple[PlannedBlock | None, Departure | None]:
        """The planned block that an allocation of this size is, and whether that departs from the plan's order."""
        ahead = self._ahead()
        for planned in ahead:
            if planned.size_bytes == size_bytes:
                return planned, None if planned.start == ahead[0].start else Departure.ORDER
        passed = (planned for planned in self._remaining if planned.size_bytes == size_bytes)
        found = next(passed, None)
        return found, Departure.UNPLANNED if found is None else Departure.ORDER

    def assign(self, planned: PlannedBlock, block: Block) -> None:
        """Records that a block is this planned one; planned blocks before it are skipped, but may still come."""
        self._remaining.remove(planned)
        self._assigned[block] = planned
        self._start = max(self._start, planned.start)

    def planned_of(self, block: Block) -> PlannedBlock | None:
        """Returns the planned block of an allocated block; None if it was not planned."""
        return self._assigned.get(block)

    def late(self, planned: PlannedBlock) -> list[tuple[Block, PlannedBlock]]:
        """Blocks that should have ended before this one starts; each is told once."""
        found = [
            (block, other)
            for block, other in self._assigned.items()
            if other.end is not None and other.end <= planned.start and block not in self._told_late
        ]
        self._told_late.update(block for block, _ in found)
        return found

    def forget(self, block: Block) -> tuple[PlannedBlock | None, bool]:
        """A block is no more: which planned one it was, if any, and whether that ended early."""
        planned = self._assigned.pop(block, None)
        self._told_late.discard(block)
        if planned is None or planned.end is None:
            return planned, False
        return planned, any(planned.start < other.start < planned.end for other in self._ahead())

    def _ahead(self) -> list[PlannedBlock]:
        """Blocks that the program has not come past."""
        return [planned for planned in self._remaining if planned.start >= self._start]

    def expected(self) -> list[tuple[int, int]]:
        """Bytes of the blocks that are still to come, as half-open ranges."""
        return [planned.span for planned in self._remaining]

    def planned(self) -> list[tuple[int, int]]:
        """Bytes of all blocks of the plan, as half-open ranges."""
        return [planned.span for planned in self._all]
