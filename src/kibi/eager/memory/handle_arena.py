"""The arena with movable blocks: after uTensor's circular arena allocator."""

from collections.abc import Iterable

from kibi.eager.handlers import Handler
from kibi.eager.memory.allocator import ArenaRebalancing, OutOfMemory, PlanDeparture, RebalanceHeldByPins
from kibi.eager.memory.block_arena import BlockArena
from kibi.eager.memory.blocks import Block, ByteRange, WritableBuffer, align_up, first_fit, gaps, whole_number
from kibi.eager.memory.compaction import Compaction, clearance, compaction
from kibi.eager.memory.headers import HeaderLayout
from kibi.eager.memory.plan_guide import Departure, PlanGuide, PlannedBlock, planned_blocks
from kibi.eager.notes import recorders
from kibi.errors import InputError
from kibi.planner.plan import Plan


class HandleArena(BlockArena):
    """Bytes of a fixed size in which blocks are allocated and freed in any order, and move together to make room.

    A new block belongs to nobody until it is bound to a handle, and may be lost when the arena rebalances: `contains` tells.
    A bound block keeps its contents and may move: its handle knows where it is. It lives as long as its handle, or until it
    is freed. A pinned block does not move.

    A request that fits into no gap first makes bound blocks move round the unbound ones; where that is not enough,
    unbound blocks are given up. Nothing moves and nothing is lost where that would not help either.

    With a plan, each allocation that the plan expects (they are known by size and order) gets its planned place, and bound
    blocks move out of its way. The plan is a soft bound: what departs from it is served as well as can be, and reported as
    `PlanDeparture`.

    Rule: uTensor's src/uTensor/allocators/arenaAllocator.hpp and TESTS/allocators/test_arenaAllocator.cpp.

    Args:
        memory: the caller's writable buffer, or how many bytes to make.
        alignment: blocks start at a multiple of it, in bytes, but for planned ones, which start where the plan says.
        header_bytes: width of the fields of a block's header, 2 or 4; None: the narrowest that can describe the arena.
        plan: the blocks that the program will allocate: Kibi's plan, or blocks or (offset, bytes) in the order of allocation.
        handler: receives events and errors; None: errors raise.

    Raises:
        InputError, ArenaError, PlanError: the memory, the header or the plan does not fit.
    """

    def __init__(
        self,
        memory: int | WritableBuffer,
        *,
        alignment: int = 8,
        header_bytes: int | None = None,
        plan: Plan | Iterable[PlannedBlock | tuple[int, int]] | None = None,
        handler: Handler | None = None,
    ) -> None:
        super().__init__(memory, alignment=alignment, handler=handler)
        narrowest = HeaderLayout.narrowest(self.capacity_bytes)
        self._headers = narrowest if header_bytes is None else HeaderLayout(header_bytes)
        if self.capacity_bytes > self._headers.largest_arena_bytes:
            raise InputError(
                f"headers of {header_bytes} bytes describe arenas of up to {self._headers.largest_arena_bytes} bytes, "
                f"this one has {self.capacity_bytes}. Give header_bytes=4."
            )
        self._most_blocks = 0
        self._packed_blocks, self._packed_end = 0, 0
        self._guide = None if plan is None else PlanGuide(planned_blocks(plan, self.capacity_bytes))

    @property
    def headers(self) -> HeaderLayout:
        """The costs of each block besides its bytes, and the largest block that a header can describe."""
        return self._headers

    @property
    def header_bytes_used(self) -> int:
        """Metadata of the live blocks, in bytes; `available` does not count them."""
        return len(self._blocks) * self._headers.bytes_per_block

    @property
    def header_bytes_peak(self) -> int:
        """Metadata of the most blocks that lived at once, in bytes."""
        return self._most_blocks * self._headers.bytes_per_block

    def allocate(self, size_bytes: int) -> int | None:
        """Returns the address of a new, unbound block; None if a handler took the error.

        Args:
            size_bytes: at least 1.

        Reports:
            OutOfMemory: there is no room for it.
            ArenaRebalancing: blocks move, or are lost, to make room.
            PlanDeparture: it departs from the plan.

        Raises:
            InputError: the size is no such number.
        """
        size_bytes = whole_number(size_bytes, "the block's size in bytes")
        with self._lock:
            self._adopt()
            if size_bytes > min(self._headers.largest_block_bytes, self.capacity_bytes):
                largest = min(self._headers.largest_block_bytes, self.capacity_bytes)
                self._refuse(size_bytes, f"blocks have at most {largest} bytes here")
                return None
            if self._guide is not None:
                return self._allocate_by_plan(self._guide, size_bytes)
            address = self._room_for(size_bytes)
            return None if address is None else self._placed(address, size_bytes).address

    def allocate_spare(self, size_bytes: int) -> int | None:
        """Allocates a block in bytes that the plan leaves free, for the application: no departure from the plan.

        Reports:
            OutOfMemory: none of the spare regions has room.

        Raises:
            InputError: the size is no such number.
        """
        size_bytes = whole_number(size_bytes, "the block's size in bytes")
        with self._lock:
            address = first_fit(self.spare(), size_bytes, self.alignment)
            if address is None or size_bytes > self._headers.largest_block_bytes:
                self._refuse(size_bytes, "no spare region has room")
                return None
            return self._placed(address, size_bytes).address

    def spare(self) -> tuple[ByteRange, ...]:
        """The regions that no planned block ever uses and that have no block, ascending; without a plan, all gaps."""
        with self._lock:
            self._adopt()
            taken = self._taken()
            if self._guide is not None:
                taken += self._guide.planned()
            return tuple(gaps(taken, self.capacity_bytes))

    def restart_plan(self) -> None:
        """Begins the plan again with its first block."""
        with self._lock:
            if self._guide is not None:
                self._guide.restart()

    def rebalance(self) -> bool:
        """Moves bound blocks together, and gives up unbound ones. Returns True if the free bytes are then in one piece.

        Reports:
            ArenaRebalancing, RebalanceHeldByPins.
        """
        with self._lock:
            self._adopt()
            step = self._compaction(keep_unbound=False)
            self._carry_out(step, 0)
            if len(step.free) > 1:
                self._report_pins(0)
        for each in recorders():
            each.rebalanced(self)
        return len(step.free) <= 1

    def _allocate_by_plan(self, guide: PlanGuide, size_bytes: int) -> int | None:
        planned, departure = guide.match(size_bytes)
        if planned is None:
            avoided = gaps(self._taken() + guide.expected(), self.capacity_bytes)
            address = first_fit(avoided, size_bytes, self.alignment)
            address = self._room_for(size_bytes) if address is None else address
            if address is not None:
                self._depart(Departure.UNPLANNED, address, size_bytes)
                self._placed(address, size_bytes)
            return address
        for block, other in guide.late(planned):
            self._depart(Departure.LATE, block.address, block.size_bytes, other)
        address = self._cleared(guide, planned)
        if address is None:
            address = self._room_for(size_bytes)
            departure = Departure.OCCUPIED
        if address is None:
            return None
        if departure is not None:
            self._depart(departure, address, size_bytes, planned)
        guide.assign(planned, self._placed(address, size_bytes))
        return address

    def _cleared(self, guide: PlanGuide, planned: PlannedBlock) -> int | None:
        """The planned place, after bound blocks there have moved away; None if it cannot be cleared."""
        expected = [span for span in guide.expected() if span != planned.span]
        moves = clearance(planned.span, self._ascending(), expected, self.capacity_bytes, self.alignment)
        if moves is None:
            return None
        for block, address in moves:
            self._depart(Departure.DISPLACED, block.address, block.size_bytes, guide.planned_of(block), address)
            self._move(block, address)
        return planned.offset

    def _room_for(self, size_bytes: int) -> int | None:
        """Returns a place for a block of this size, after a rebalance if necessary; if none, reports an error and returns None."""
        address = self._lowest_room(size_bytes)
        if address is not None:
            return address
        for keep_unbound in (True, False):
            step = self._compaction(keep_unbound=keep_unbound)
            address = first_fit(step.free, size_bytes, self.alignment)
            if address is not None:
                self._carry_out(step, size_bytes)
                return address
        without_pins = self._compaction(keep_unbound=False, heed_pins=False)
        if first_fit(without_pins.free, size_bytes, self.alignment) is None:
            self._refuse(size_bytes, "there are not enough free bytes")
            return None
        self._report_pins(size_bytes)
        self._refuse(size_bytes, "pinned blocks stand in the way of a rebalance")
        return None

    def _lowest_room(self, size_bytes: int) -> int | None:
        """Returns the lowest free place; None if no place is large enough.

        If all blocks are packed from the start of the arena, like an interpreter's, each is visited only once.
        """
        while (block := self._blocks.get(self._packed_end)) is not None:
            self._packed_blocks += 1
            self._packed_end = align_up(block.end, self.alignment)
        if self._packed_blocks < len(self._blocks):
            return first_fit(gaps(self._taken(), self.capacity_bytes), size_bytes, self.alignment)
        return self._packed_end if self._packed_end + size_bytes <= self.capacity_bytes else None

    def _compaction(self, *, keep_unbound: bool, heed_pins: bool = True) -> Compaction:
        return compaction(
            self._ascending(), self.capacity_bytes, self.alignment, keep_unbound=keep_unbound, heed_pins=heed_pins
        )

    def _carry_out(self, step: Compaction, request_bytes: int) -> None:
        self._report(
            ArenaRebalancing,
            request_bytes=request_bytes,
            moved_blocks=len(step.moves),
            moved_bytes=step.moved_bytes,
            lost_blocks=len(step.lost),
        )
        for block in step.lost:
            self._release(block)
        for block, address in step.moves:
            planned = None if self._guide is None else self._guide.planned_of(block)
            if planned is not None:
                self._depart(Departure.DISPLACED, block.address, block.size_bytes, planned, address)
            self._move(block, address)

    def _placed(self, address: int, size_bytes: int) -> Block:
        block = self._place(address, size_bytes)
        self._most_blocks = max(self._most_blocks, len(self._blocks))
        return block

    def _release(self, block: Block) -> None:
        if self._guide is not None:
            planned, is_early = self._guide.forget(block)
            if is_early:
                self._depart(Departure.EARLY, block.address, block.size_bytes, planned)
        super()._release(block)
        self._packed_blocks, self._packed_end = 0, 0

    def _move(self, block: Block, address: int, size_bytes: int | None = None) -> None:
        super()._move(block, address, size_bytes)
        self._packed_blocks, self._packed_end = 0, 0

    def _orphaned(self, block: Block) -> None:
        """Frees a block whose handle has died."""
        self._release(block)

    def _taken(self) -> list[tuple[int, int]]:
        return [(block.address, block.end) for block in self._blocks.values()]

    def _refuse(self, size_bytes: int, reason: str) -> None:
        held = sum(block.size_bytes for block in self._blocks.values())
        self._report(OutOfMemory, size_bytes=size_bytes, available=self.capacity_bytes - held, reason=reason)

    def _report_pins(self, request_bytes: int) -> None:
        pinned = [block for block in self._ascending() if block.is_pinned()]
        self._report(
            RebalanceHeldByPins,
            request_bytes=request_bytes,
            pinned_blocks=len(pinned),
            pinned_bytes=sum(block.size_bytes for block in pinned),
        )

    def _depart(
        self, how: Departure, address: int, size_bytes: int, planned: PlannedBlock | None = None, new: int | None = None
    ) -> None:
        facts: dict[str, object] = {"how": how.value, "address": address, "size_bytes": size_bytes}
        if planned is not None:
            facts["planned_offset"] = planned.offset
        if new is not None:
            facts["moved_to"] = new
        self._report(PlanDeparture, **facts)
