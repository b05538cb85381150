"""Whole pages and their free list."""

from kibi.eager.events import Event
from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import ByteRange, Handle, PageAllocator
from kibi.eager.memory.allocator import BlockPinned, MetaHeaderNotFound, OutOfMemory


def _pages(count: int = 8) -> tuple[PageAllocator, list[Event]]:
    errors: list[Event] = []
    return PageAllocator(count * 64 + 10, page_bytes=64, handler=ErrorHandler(on_error=errors.append)), errors


def test_blocks_are_whole_pages() -> None:
    """A byte costs a page; what no whole page holds is not used."""
    pages, _ = _pages()
    assert (pages.page_count, pages.available()) == (8, 512)
    assert (pages.vmalloc(1), pages.vmalloc(65), pages.allocate(64)) == (0, 64, 192)
    assert pages.available() == 256
    assert pages.slack_bytes == 63 + 63


def test_freed_neighbours_become_one_run() -> None:
    """Pages join the free pages below and above them."""
    pages, _ = _pages()
    first, second, third, _fourth = (pages.vmalloc(128) for _ in range(4))
    pages.vfree(first)
    pages.vfree(third)
    assert pages.free_list() == (ByteRange(0, 128), ByteRange(256, 128))
    pages.vfree(second)
    assert pages.free_list() == (ByteRange(0, 384),)
    assert pages.vmalloc(384) == 0


def test_shortest_run_that_is_long_enough_is_taken() -> None:
    """Long runs are kept for long blocks, and divided where they must be."""
    pages, _ = _pages()
    blocks = [pages.vmalloc(size_bytes) for size_bytes in (192, 64, 64, 64)]
    pages.vfree(blocks[0])
    pages.vfree(blocks[2])
    assert pages.vmalloc(60) == 256
    assert pages.vmalloc(60) == 384
    assert pages.vmalloc(60) == 448
    assert pages.vmalloc(60) == 0


def test_block_grows_and_shrinks_in_place() -> None:
    """Pages behind it are taken where they are free, and given back."""
    pages, _ = _pages()
    address = pages.vmalloc(64)
    pages.memory[:64] = 5
    assert pages.vrealloc(address, 300) == address
    assert pages.free_list() == (ByteRange(320, 192),)
    assert pages.vrealloc(address, 10) == address
    assert pages.free_list() == (ByteRange(64, 448),)
    assert (pages.memory[:10] == 5).all()


def test_block_stays_where_another_run_would_fit_better() -> None:
    """Bytes are copied only where they must be."""
    pages, _ = _pages()
    low, _wall, address = pages.vmalloc(128), pages.vmalloc(64), pages.vmalloc(64)
    pages.vfree(low)
    assert pages.vrealloc(address, 128) == address


def test_block_moves_with_its_bytes_and_handle() -> None:
    """Where it cannot grow, it goes elsewhere; over its own bytes if need be."""
    pages, _ = _pages()
    low, handle = pages.vmalloc(128), Handle()
    address = pages.vmalloc(128)
    top = pages.vmalloc(64)
    assert address == 128
    pages.bind(address, handle)
    with handle.pin() as view:
        view[:] = bytes(range(128))
    assert pages.vrealloc(address, 190) == 320
    assert handle.address == 320
    pages.vfree(low)
    assert pages.vrealloc(320, 64) == 320
    assert pages.vrealloc(320, 320) is None
    pages.vfree(top)
    assert pages.vrealloc(320, 512) == 0
    with handle.pin() as view:
        assert bytes(view[:64]) == bytes(range(64))
        assert len(view) == 512


def test_vrealloc_of_nothing_is_vmalloc() -> None:
    """As in C."""
    pages, _ = _pages()
    assert pages.vrealloc(None, 10) == 0


def test_refusals_change_nothing() -> None:
    """No room, a pin, a foreign address: an error each, and the block is as it was."""
    pages, errors = _pages()
    address, handle = pages.vmalloc(200), Handle()
    pages.bind(address or 0, handle)
    assert pages.vrealloc(address, 513) is None
    with handle.pin():
        assert pages.vrealloc(address, 10) is None
    assert pages.vrealloc(64, 10) is None
    assert [event.type for event in errors] == [OutOfMemory, BlockPinned, MetaHeaderNotFound]
    assert errors[0].facts["longest_run_bytes"] == 256
    assert handle.size_bytes == 200
