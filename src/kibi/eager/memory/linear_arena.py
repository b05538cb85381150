"""The arena with two ends: after TensorFlow Lite Micro's single-arena buffer allocator."""

from enum import StrEnum

from kibi.eager.events import EventType
from kibi.eager.handlers import Handler
from kibi.eager.memory.allocator import BlockPinned, NotFreedOneByOne, OutOfMemory
from kibi.eager.memory.block_arena import BlockArena
from kibi.eager.memory.blocks import Block, WritableBuffer, align_down, align_up, whole_number
from kibi.errors import InputError


class End(StrEnum):
    """The part of a linear arena that contains a block.

    PERSISTENT: comes down from the top and stays. PLANNED: one block at the bottom, which a memory plan divides. TEMPORARY:
    goes up after the planned block, until the temporaries are reset.
    """

    PERSISTENT = "persistent"
    PLANNED = "planned"
    TEMPORARY = "temporary"


class LinearArena(BlockArena):
    """An arena that allocates from both ends. No block is freed alone, and none moves.

    Rule: TFLM's tensorflow/lite/micro/arena_allocator/single_arena_buffer_allocator.cc; here persistent blocks stop
    at the temporaries, too.

    Args:
        memory: the caller's writable buffer, or how many bytes to make.
        alignment: every block starts at a multiple of it, in bytes; TFLM's own is 16.
        handler: receives events and errors; None: errors raise.
    """

    def __init__(self, memory: int | WritableBuffer, *, alignment: int = 16, handler: Handler | None = None) -> None:
        super().__init__(memory, alignment=alignment, handler=handler)
        self._planned_end = self._temporary_end = 0
        self._persistent_start = self.capacity_bytes

    @property
    def persistent_used_bytes(self) -> int:
        """Bytes from the lowest persistent block to the top."""
        return self.capacity_bytes - self._persistent_start

    @property
    def planned_used_bytes(self) -> int:
        """Bytes of the planned block."""
        return self._planned_end

    @property
    def temporary_used_bytes(self) -> int:
        """Bytes from the planned block's end to the end of the highest temporary one."""
        return self._temporary_end - self._planned_end

    @property
    def used_bytes(self) -> int:
        """Used bytes of both ends."""
        return self.persistent_used_bytes + self._temporary_end

    def available(self) -> int:
        """Bytes of the largest block that can be allocated, aligned at both sides."""
        with self._lock:
            bottom = align_up(self._temporary_end, self.alignment)
            return max(0, align_down(self._persistent_start, self.alignment) - bottom)

    def allocate(self, size_bytes: int, end: End = End.PERSISTENT) -> int | None:
        """Returns the address of a new block at one of the ends; None if a handler took the error.

        Args:
            size_bytes: at least 1.
            end: PLANNED is the same as `resize_planned`.

        Reports:
            OutOfMemory: the other end is in the way.

        Raises:
            InputError: the size is no such number, or there is no such end.
        """
        if end not in tuple(End):
            raise InputError(f"a linear arena has no end {end!r}. Give one of {', '.join(End)}.")
        if end is End.PLANNED:
            return self.resize_planned(size_bytes)
        size_bytes = whole_number(size_bytes, "the block's size in bytes")
        with self._lock:
            if end is End.TEMPORARY:
                address = align_up(self._temporary_end, self.alignment)
                missing = address + size_bytes - self._persistent_start
            else:
                address = align_down(self._persistent_start - size_bytes, self.alignment)
                missing = self._temporary_end - address
            if missing > 0:
                self._refuse(OutOfMemory, end, size_bytes=size_bytes, missing_bytes=missing)
                return None
            if end is End.TEMPORARY:
                self._temporary_end = address + size_bytes
            else:
                self._persistent_start = address
            return self._place(address, size_bytes).address

    def allocate_persistent(self, size_bytes: int) -> int | None:
        """Allocates a block that stays; see `allocate`."""
        return self.allocate(size_bytes, End.PERSISTENT)

    def allocate_temporary(self, size_bytes: int) -> int | None:
        """Allocates a block until `reset_temporary`; see `allocate`."""
        return self.allocate(size_bytes, End.TEMPORARY)

    def resize_planned(self, size_bytes: int) -> int | None:
        """Resizes the planned block, which keeps its bytes, and returns its address, 0. None if a handler took the error.

        Reports:
            OutOfMemory: temporaries are in use, or the persistent end is in the way.
            BlockPinned: it is in use, and would change its size.

        Raises:
            InputError: the size is no number of at least 1.
        """
        size_bytes = whole_number(size_bytes, "the planned block's size in bytes")
        with self._lock:
            block = self._blocks.get(0) if self._planned_end else None
            if self._temporary_end > self._planned_end:
                reason = "temporaries are above it; reset them first"
                self._refuse(OutOfMemory, End.PLANNED, size_bytes=size_bytes, reason=reason)
                return None
            if size_bytes > self._persistent_start:
                missing = size_bytes - self._persistent_start
                self._refuse(OutOfMemory, End.PLANNED, size_bytes=size_bytes, missing_bytes=missing)
                return None
            if block is not None and block.is_pinned():
                self._refuse(BlockPinned, End.PLANNED, address=0)
                return None
            if block is None:
                self._place(0, size_bytes)
            else:
                self._move(block, 0, size_bytes)
            self._planned_end = self._temporary_end = size_bytes
            return 0

    def reset_temporary(self) -> None:
        """Gives up all temporary blocks; their handles are unbound.

        Reports:
            BlockPinned: one of them is in use; all stay.
        """
        with self._lock:
            doomed = [
                block for block in self._ascending() if self._planned_end <= block.address < self._persistent_start
            ]
            if self._give_up(doomed):
                self._temporary_end = self._planned_end

    def reset(self) -> None:
        """Gives up all blocks of both ends; their handles are unbound.

        Reports:
            BlockPinned: one of them is in use; all stay.
        """
        with self._lock:
            if self._give_up(self._ascending()):
                self._planned_end = self._temporary_end = 0
                self._persistent_start = self.capacity_bytes

    def deallocate(self, address: int | None) -> None:
        """Refuses to free any block; does nothing for None.

        Reports:
            NotFreedOneByOne: that is what this arena does not do.
            OutOfMemoryBounds, MetaHeaderNotFound: there is no block.
        """
        with self._lock:
            if address is not None and self._find(address, "deallocate") is not None:
                self._report(NotFreedOneByOne, address=address)

    def _give_up(self, doomed: list[Block]) -> bool:
        for block in doomed:
            if block.is_pinned():
                self._report(BlockPinned, operation="reset", address=block.address)
                return False
        for block in doomed:
            self._release(block)
        return True

    def _refuse(self, kind: EventType, end: End, **facts: object) -> None:
        self._report(kind, end=end.value, available=self.available(), **facts)
