"""Blocks of whole pages, with a free list: after the page allocator of TVM's C runtime."""

from collections.abc import Iterable

from kibi.eager.handlers import Handler
from kibi.eager.memory.allocator import BlockPinned, OutOfMemory
from kibi.eager.memory.block_arena import BlockArena
from kibi.eager.memory.blocks import Block, ByteRange, WritableBuffer, gaps, whole_number
from kibi.errors import InputError


class PageAllocator(BlockArena):
    """Hands out neighbouring pages: the shortest free run that is long enough, the lowest of equals.

    Freed pages join free neighbours at once, and a longer run is divided, where TVM's own does neither. Blocks move only
    in `vrealloc`.

    Rule: TVM's src/runtime/crt/memory/page_allocator.c.

    Args:
        memory: the caller's writable buffer, or how many bytes to make; bytes after the last complete page are not used.
        page_bytes: size of a page, a multiple of the alignment.
        alignment: the buffer starts at a multiple of it, in bytes.
        handler: receives events and errors; None: errors raise.

    Raises:
        InputError: no page fits, or pages are not aligned.
    """

    def __init__(
        self, memory: int | WritableBuffer, *, page_bytes: int = 256, alignment: int = 8, handler: Handler | None = None
    ) -> None:
        self._page_bytes = whole_number(page_bytes, "page_bytes")
        super().__init__(memory, alignment=alignment, handler=handler)
        if page_bytes % alignment:
            raise InputError(
                f"pages of {page_bytes} bytes are no multiple of the alignment, {alignment}. Make them one."
            )
        self._page_count = self.capacity_bytes // page_bytes
        if not self._page_count:
            raise InputError(
                f"{self.capacity_bytes} bytes hold no page of {page_bytes}. Give more bytes or smaller pages."
            )

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self._page_bytes

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return self._page_count

    @property
    def slack_bytes(self) -> int:
        """Bytes of used pages that no block asked for."""
        with self._lock:
            return sum(self._paged(block.size_bytes) - block.size_bytes for block in self._blocks.values())

    def free_list(self) -> tuple[ByteRange, ...]:
        """The runs of free pages, in bytes, ascending; no two are neighbours."""
        with self._lock:
            return self._free(self._blocks.values())

    def available(self) -> int:
        """Bytes of all free pages; the largest possible block is the longest run of `free_list`."""
        return sum(run.size_bytes for run in self.free_list())

    def vmalloc(self, size_bytes: int) -> int | None:
        """Returns the address of a new block of complete pages; None if a handler took the error.

        Args:
            size_bytes: at least 1.

        Reports:
            OutOfMemory: no run of free pages is long enough.

        Raises:
            InputError: the size is no such number.
        """
        size_bytes = whole_number(size_bytes, "the block's size in bytes")
        with self._lock:
            address = self._best_fit(self.free_list(), size_bytes)
            if address is None:
                self._refuse(size_bytes)
                return None
            return self._place(address, size_bytes).address

    def vrealloc(self, address: int | None, size_bytes: int) -> int | None:
        """Makes a block larger or smaller, and keeps its handle and as many of its bytes as fit.

        It stays where it is if it can; else it moves.

        Args:
            address: the block's address; None: a new block.
            size_bytes: at least 1.

        Returns:
            The block's new address; None if a handler took the error: then the block is as it was.

        Reports:
            OutOfMemoryBounds, MetaHeaderNotFound: there is no block.
            OutOfMemory: no run of free pages is long enough, its own and their neighbours included.
            BlockPinned: the block is in use.

        Raises:
            InputError: the size is no such number.
        """
        if address is None:
            return self.vmalloc(size_bytes)
        size_bytes = whole_number(size_bytes, "the block's size in bytes")
        with self._lock:
            block = self._find(address, "vrealloc")
            if block is None:
                return None
            if block.is_pinned():
                self._report(BlockPinned, operation="vrealloc", address=address)
                return None
            free = self._free(other for other in self._blocks.values() if other is not block)
            around = next(run for run in free if run.offset <= block.address < run.end)
            stays = block.address + self._paged(size_bytes) <= around.end
            new = block.address if stays else self._best_fit(free, size_bytes)
            if new is None:
                self._refuse(size_bytes)
                return None
            self._move(block, new, size_bytes)
            return new

    def vfree(self, address: int | None) -> None:
        """Frees a block; its pages join the free list. None is passed over. See `deallocate`."""
        self.deallocate(address)

    def allocate(self, size_bytes: int) -> int | None:
        """The same as `vmalloc`."""
        return self.vmalloc(size_bytes)

    def _paged(self, size_bytes: int) -> int:
        """Bytes of the pages that hold so many."""
        return -(-size_bytes // self._page_bytes) * self._page_bytes

    def _free(self, blocks: Iterable[Block]) -> tuple[ByteRange, ...]:
        spans = [(block.address, block.address + self._paged(block.size_bytes)) for block in blocks]
        return tuple(gaps(spans, self._page_count * self._page_bytes))

    def _best_fit(self, free: tuple[ByteRange, ...], size_bytes: int) -> int | None:
        fitting = [run for run in free if run.size_bytes >= size_bytes]
        return min(fitting, key=lambda run: run.size_bytes).offset if fitting else None

    def _refuse(self, size_bytes: int) -> None:
        longest = max((run.size_bytes for run in self.free_list()), default=0)
        self._report(OutOfMemory, size_bytes=size_bytes, available=self.available(), longest_run_bytes=longest)
