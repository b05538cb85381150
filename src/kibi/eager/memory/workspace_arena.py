"""The arena with a counter: after the workspace of TVM's micro runtime."""

from collections.abc import Iterator
from contextlib import contextmanager

from kibi.eager.handlers import Handler
from kibi.eager.memory.allocator import BlockPinned, OutOfMemory, ScopeNotInnermost
from kibi.eager.memory.block_arena import BlockArena
from kibi.eager.memory.blocks import Block, WritableBuffer, align_up, whole_number


class WorkspaceArena(BlockArena):
    """An arena whose blocks are a stack and a counter: freeing a block counts down, and at zero all blocks are free at once.

    A scope gives back what was allocated inside it, at its end:

        with workspace.scope():
            address = workspace.allocate(64)

    Rule: TVM's src/runtime/micro/device/utvm_runtime.c, `TVMBackendAllocWorkspace` and `TVMBackendFreeWorkspace`.

    Args:
        memory: the caller's writable buffer, or how many bytes to make.
        alignment: every block starts at a multiple of it, in bytes.
        handler: receives events and errors; None: errors raise.
    """

    def __init__(self, memory: int | WritableBuffer, *, alignment: int = 8, handler: Handler | None = None) -> None:
        super().__init__(memory, alignment=alignment, handler=handler)
        self._top = 0
        self._high_water_bytes = 0
        self._scopes: list[list[Block]] = []

    @property
    def count(self) -> int:
        """Blocks that have not been freed."""
        return len(self._blocks)

    @property
    def used_bytes(self) -> int:
        """Bytes up to the top of the stack, freed blocks below it included."""
        return self._top

    @property
    def high_water_bytes(self) -> int:
        """The highest that the stack ever was."""
        return self._high_water_bytes

    @property
    def depth(self) -> int:
        """Scopes that are open."""
        return len(self._scopes)

    def available(self) -> int:
        """The largest block that can be had, in bytes."""
        with self._lock:
            return max(0, self.capacity_bytes - align_up(self._top, self.alignment))

    def allocate(self, size_bytes: int) -> int | None:
        """The address of a new block on top of the stack; None where a handler took the error.

        Args:
            size_bytes: at least 1.

        Reports:
            OutOfMemory: there is no room above the top.

        Raises:
            InputError: the size is no such number.
        """
        size_bytes = whole_number(size_bytes, "the block's size in bytes")
        with self._lock:
            address = align_up(self._top, self.alignment)
            if address + size_bytes > self.capacity_bytes:
                self._report(OutOfMemory, size_bytes=size_bytes, available=self.available(), count=self.count)
                return None
            block = self._place(address, size_bytes)
            self._top = block.end
            self._high_water_bytes = max(self._high_water_bytes, self._top)
            if self._scopes:
                self._scopes[-1].append(block)
            return address

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Frees all blocks allocated in a with-block at its end, also those that nobody freed; scopes nest.

        Reports:
            BlockPinned: a block of the scope is in use; the scope's blocks stay until the next outer scope ends.
            ScopeNotInnermost: a scope that was opened later is still open; its blocks stay, and this one's until the next
                outer scope ends.
        """
        blocks: list[Block] = []
        with self._lock:
            self._scopes.append(blocks)
            bottom = self._top
        try:
            yield
        finally:
            with self._lock:
                self._leave(blocks, bottom)

    def _leave(self, blocks: list[Block], bottom: int) -> None:
        number = next(number for number, scope in enumerate(self._scopes) if scope is blocks)
        outer = self._scopes[number - 1] if number else []
        del self._scopes[number]
        if number < self.depth:
            outer += blocks
            self._report(ScopeNotInnermost, blocks=len(blocks), depth=self.depth + 1)
            return
        pinned = next((block for block in blocks if block.is_pinned()), None)
        if pinned is not None:
            outer += blocks
            self._report(BlockPinned, operation="leave the scope", address=pinned.address)
            return
        for block in blocks:
            if self._blocks.get(block.address) is block:
                self._release(block)
        # Where the count was zero inside the scope, the stack has begun anew below its bottom.
        self._top = min(self._top, bottom)

    def _release(self, block: Block) -> None:
        super()._release(block)
        if not self._blocks:
            self._top = 0
