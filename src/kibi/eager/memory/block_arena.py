"""The shared parts of all allocators: their bytes, the table of blocks, handles and pins."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from kibi.eager.events import EventType
from kibi.eager.handlers import ErrorHandler, Handler
from kibi.eager.memory.allocator import (
    ArenaConstructed,
    BlockPinned,
    InvalidBoundRegionState,
    MetaHeaderNotBound,
    MetaHeaderNotFound,
    Observer,
    OutOfMemoryBounds,
    PinOutlived,
)
from kibi.eager.memory.blocks import Block, BlockState, WritableBuffer, whole_number, writable_bytes
from kibi.eager.memory.handle import Handle
from kibi.errors import EventError


class BlockArena(ABC):
    """Bytes with blocks in them. Subclasses decide the places of blocks, and when they are free.

    Safe under threads: one operation at a time.

    Args:
        memory: the caller's writable buffer, or how many bytes to make.
        alignment: every block starts at a multiple of it, in bytes; so must the buffer.
        handler: receives events and errors; None: errors raise.

    Raises:
        InputError: the memory is no writable block of bytes, or the alignment no power of two.
        ArenaError: the memory is misaligned.
    """

    def __init__(self, memory: int | WritableBuffer, *, alignment: int = 8, handler: Handler | None = None) -> None:
        self._memory = writable_bytes(memory, alignment)
        self._alignment = int(alignment)
        self._handler: Handler = ErrorHandler() if handler is None else handler
        self._blocks: dict[int, Block] = {}
        self._observers: list[Observer] = []
        self._orphans: deque[Block] = deque()
        self._lock = RLock()
        self._report(ArenaConstructed, capacity_bytes=self.capacity_bytes, alignment=self._alignment)

    @property
    def memory(self) -> NDArray[np.uint8]:
        """All bytes, `[capacity_bytes]`, to read, and to write to unbound blocks, which nothing moves silently.

        A bound block's bytes may move with any allocation: reach them through `handle.pin()`.
        """
        return self._memory

    @property
    def capacity_bytes(self) -> int:
        """Bytes of the arena."""
        return len(self._memory)

    @property
    def alignment(self) -> int:
        """The alignment of blocks, in bytes."""
        return self._alignment

    def observe(self, observer: Observer) -> None:
        """Tells this observer of every block that is placed, moves or ends."""
        self._observers.append(observer)

    def blocks(self) -> tuple[BlockState, ...]:
        """The live blocks, ascending by address."""
        with self._lock:
            self._adopt()
            return tuple(
                BlockState(block.address, block.size_bytes, block.owner is not None, block.is_pinned())
                for block in self._ascending()
            )

    @abstractmethod
    def allocate(self, size_bytes: int) -> int | None:
        """Returns the address of a new, unbound block; None if there is no room and a handler took the error."""

    def allocate_handle(self, size_bytes: int) -> Handle | None:
        """Allocates a block and binds it at once, so that no request of another thread can come between; None as above."""
        with self._lock:
            address = self.allocate(size_bytes)
            if address is None:
                return None
            handle = Handle()
            self.bind(address, handle)
            return handle

    def available(self) -> int:
        """Bytes that no block holds."""
        with self._lock:
            self._adopt()
            return self.capacity_bytes - sum(block.size_bytes for block in self._blocks.values())

    def contains(self, address: int | None) -> bool:
        """True if a live block starts at an address; False for None and for addresses of no block.

        Another block may start there by now: only a handle knows its own.
        """
        with self._lock:
            self._adopt()
            return address is not None and whole_number(address, "address", least=-(1 << 63)) in self._blocks

    def bind(self, address: int, handle: Handle) -> None:
        """Gives the block at an address to a handle.

        Reports:
            OutOfMemoryBounds: the address is outside of the arena.
            MetaHeaderNotFound, MetaHeaderNotBound, InvalidBoundRegionState: nothing is allocated there; the last one raises.
            InvalidBoundRegionState: the block or the handle is bound already.
        """
        with self._lock:
            self._adopt()
            number = whole_number(address, "address", least=-(1 << 63))
            block = self._blocks.get(number)
            if block is None and 0 <= number < self.capacity_bytes:
                self._report_unallocated(number)
            elif block is None:
                self._report(OutOfMemoryBounds, operation="bind", address=number)
            elif block.owner is handle:
                self._report(InvalidBoundRegionState, operation="bind", address=address, reason="bound to it already")
            elif block.owner is not None:
                self._report(InvalidBoundRegionState, operation="bind", address=address, reason="has another handle")
            elif handle.is_bound:
                reason = f"the handle has the block at {handle.address}"
                self._report(InvalidBoundRegionState, operation="bind", address=address, reason=reason)
            else:
                # The callback runs whenever Python likes, so that it only takes a note.
                orphans = self._orphans
                block.handle = ref(handle, lambda _: orphans.append(block))
                handle.attach(self, block)

    def unbind(self, address: int, handle: Handle) -> None:
        """Unbinds the block at an address from its handle.

        Reports:
            OutOfMemoryBounds, MetaHeaderNotFound: there is no block.
            InvalidBoundRegionState: the block is not bound to this handle.
            BlockPinned: the handle pins it.
        """
        with self._lock:
            block = self._find(address, "unbind")
            if block is None:
                return
            if block.owner is not handle:
                self._report(InvalidBoundRegionState, operation="unbind", address=address, reason="not its handle")
            elif block.is_pinned():
                self._report(BlockPinned, operation="unbind", address=address)
            else:
                self._part(block)

    def is_bound(self, address: int, handle: Handle | None = None) -> bool:
        """True if the block at an address is bound to this handle; None: to any.

        Reports:
            OutOfMemoryBounds, MetaHeaderNotFound: there is no block.
        """
        with self._lock:
            block = self._find(address, "is_bound")
            owner = None if block is None else block.owner
            return owner is not None and (handle is None or owner is handle)

    def free(self, handle: Handle) -> None:
        """Frees the block of a handle, if it has one in this arena."""
        with self._lock:
            block = handle.block_in(self)
            if block is not None:
                self.deallocate(block.address)

    def deallocate(self, address: int | None) -> None:
        """Frees the block at an address; does nothing for None.

        Reports:
            OutOfMemoryBounds, MetaHeaderNotFound: there is no block.
            BlockPinned: it is in use.
        """
        with self._lock:
            block = None if address is None else self._find(address, "deallocate")
            if block is None:
                return
            if block.is_pinned():
                self._report(BlockPinned, operation="deallocate", address=address)
            else:
                self._release(block)

    @contextmanager
    def pinned(self, handle: Handle) -> Iterator[memoryview]:
        """Pins a handle's block, and gives its bytes; `handle.pin()` calls this.

        Raises:
            EventError: the handle has no block here.
        """
        with self._lock:
            block = handle.block_in(self)
            if block is None:
                raise EventError(InvalidBoundRegionState.name, "this handle has no block here. Bind it first")
            shown = self._memory[block.address : block.end]
            # All arrays made from the view, and theirs, keep this one array alive: it tells whether any is left.
            token = ref(shown)
            view = shown.data
            del shown
            block.pins += 1
        try:
            yield view
        finally:
            _let_go(view)
            with self._lock:
                block.pins -= 1
                if token() is not None:
                    block.views.append(token)
                    self._report(PinOutlived, address=block.address, size_bytes=block.size_bytes)

    def held(self, handle: Handle) -> NDArray[np.uint8]:
        """The bytes of a handle's block, which does not move while an array of them lives; `handle.hold()` calls this.

        Raises:
            EventError: the handle has no block here.
        """
        with self._lock:
            block = handle.block_in(self)
            if block is None:
                raise EventError(InvalidBoundRegionState.name, "this handle has no block here. Bind it first")
            shown = self._memory[block.address : block.end]
            block.views.append(ref(shown))
            return np.frombuffer(shown.data, np.uint8)  # keeps `shown` alive, as do all arrays made from it

    def _ascending(self) -> list[Block]:
        return sorted(self._blocks.values(), key=lambda block: block.address)

    def _find(self, address: int, operation: str) -> Block | None:
        """Returns the block at an address; if no block begins there, reports an error and returns None."""
        self._adopt()
        number = whole_number(address, "address", least=-(1 << 63))
        block = self._blocks.get(number)
        if block is None:
            inside = 0 <= number < self.capacity_bytes
            self._report(MetaHeaderNotFound if inside else OutOfMemoryBounds, operation=operation, address=number)
        return block

    def _report_unallocated(self, address: int) -> None:
        """Reports that a handle is to be bound where nothing is allocated, as uTensor does.

        Its `bind` first asks whether the region is bound already, which finds no header (MetaHeaderNotFound) and nothing active
        (MetaHeaderNotBound), and then binds, which fails (InvalidBoundRegionState). Its errors do not return to the caller; here
        all three are reported, and the caller gets the last one.

        Source: uTensor, `AllocatorInterface::bind` in src/uTensor/core/memoryManagementInterface.cpp, and `_read_header`,
        `_is_bound` and `_bind` in src/uTensor/allocators/arenaAllocator.cpp. MetaHeaderNotFound is an event there, no error.
        """
        facts = {"operation": "bind", "address": address, "reason": "nothing is allocated there"}
        with ExitStack() as reports:  # runs from the last to the first, each even if the one before raises
            for kind in (InvalidBoundRegionState, MetaHeaderNotBound, MetaHeaderNotFound):
                reports.callback(self._report, kind, **facts)

    def _place(self, address: int, size_bytes: int) -> Block:
        """A new block."""
        block = self._blocks[address] = Block(address, size_bytes)
        for observer in self._observers:
            observer.placed(address, size_bytes)
        return block

    def _move(self, block: Block, address: int, size_bytes: int | None = None) -> None:
        """Moves a block's bytes to an address that is free, but for the block itself; as many as fit into its new size."""
        old, size_bytes = block.address, block.size_bytes if size_bytes is None else size_bytes
        kept = min(size_bytes, block.size_bytes)
        if address != old:
            self._memory[address : address + kept] = self._memory[old : old + kept]
        del self._blocks[old]
        block.address, block.size_bytes = address, size_bytes
        self._blocks[address] = block
        for observer in self._observers:
            observer.moved(old, address, size_bytes)

    def _release(self, block: Block) -> None:
        """A block is no more."""
        self._part(block)
        del self._blocks[block.address]
        for observer in self._observers:
            observer.freed(block.address, block.size_bytes)

    def _part(self, block: Block) -> None:
        owner = block.owner
        block.handle = None
        if owner is not None:
            owner.detach()

    def _adopt(self) -> None:
        """Unbinds or frees the blocks whose handles have died since the last operation."""
        waiting = []
        while self._orphans:
            block = self._orphans.popleft()
            is_orphan = self._blocks.get(block.address) is block and block.handle is not None and block.owner is None
            if is_orphan and block.is_pinned():
                waiting.append(block)
            elif is_orphan:
                self._orphaned(block)
        self._orphans.extend(waiting)

    def _orphaned(self, block: Block) -> None:
        """Unbinds a block whose handle has died."""
        block.handle = None

    def _report(self, kind: EventType, **facts: Any) -> None:
        self._handler.notify(kind(arena=type(self).__name__, **facts))


def _let_go(view: memoryview) -> None:
    """Releases a view. If other code still holds the view, it stays valid, and its block stays pinned."""
    try:
        view.release()
    except BufferError:
        return
