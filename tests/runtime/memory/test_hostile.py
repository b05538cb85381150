"""Arguments that make no sense end in errors that say what, where and what to do, and change nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kibi.eager.events import Event, EventType
from kibi.eager.handlers import ErrorHandler, NullHandler
from kibi.eager.memory import (
    BlockArena,
    Handle,
    HandleArena,
    LinearArena,
    PageAllocator,
    PlannedBlock,
    WorkspaceArena,
)
from kibi.eager.memory.allocator import (
    EVENTS,
    BlockPinned,
    InvalidBoundRegionState,
    MetaHeaderNotBound,
    MetaHeaderNotFound,
    OutOfMemory,
    OutOfMemoryBounds,
)
from kibi.errors import ArenaError, EventError, InputError, PlanError

ARENAS: list[type[Any]] = [HandleArena, LinearArena, WorkspaceArena, PageAllocator]
every_arena = pytest.mark.parametrize("kind", ARENAS)


def _errors(kind: type[Any], act: Callable[[Any], object]) -> list[EventType]:
    """The errors that an act leads to; those that raise by default, and go to a callback otherwise."""
    seen: list[Event] = []
    act(kind(1024, handler=ErrorHandler(on_error=seen.append)))
    act(kind(1024, handler=NullHandler()))
    with pytest.raises(EventError) as caught:
        act(kind(1024))
    assert caught.value.name == seen[-1].type.name
    assert seen[-1].type.meaning in str(caught.value)
    return [event.type for event in seen]


@every_arena
@pytest.mark.parametrize("size", [0, -1, 1.5, "8", None, True])
def test_size_that_is_none_is_refused(kind: type[Any], size: Any) -> None:
    """Zero, negative and non-integer sizes are refused, with the value."""
    arena = kind(1024)
    with pytest.raises(InputError, match=f"size in bytes is {size!r}. Give a whole number of at least 1"):
        arena.allocate(size)
    assert not arena.blocks()


@every_arena
@pytest.mark.parametrize("size", [1025, 1 << 40])
def test_block_larger_than_the_arena_is_out_of_memory(kind: type[Any], size: int) -> None:
    """A request that cannot be served is an error, and nothing changes."""
    assert _errors(kind, lambda arena: arena.allocate(size)) == [OutOfMemory]


@pytest.mark.parametrize("kind", [HandleArena, WorkspaceArena, PageAllocator])
def test_second_free_is_refused(kind: type[Any]) -> None:
    """A block is freed once."""

    def act(arena: BlockArena) -> None:
        address = arena.allocate(8)
        arena.deallocate(address)
        arena.deallocate(address)

    assert _errors(kind, act) == [MetaHeaderNotFound]


@every_arena
@pytest.mark.parametrize("operation", ["deallocate", "unbind", "is_bound"])
@pytest.mark.parametrize(
    ("address", "expected"), [(8, MetaHeaderNotFound), (1024, OutOfMemoryBounds), (-1, OutOfMemoryBounds)]
)
def test_foreign_address_is_refused(kind: type[Any], operation: str, address: int, expected: EventType) -> None:
    """An address inside that no block starts at, and one outside, are told apart."""
    further = () if operation == "deallocate" else (Handle(),)
    assert _errors(kind, lambda arena: getattr(arena, operation)(address, *further)) == [expected]
    assert not kind(1024).contains(address)


@every_arena
@pytest.mark.parametrize("is_freed", [False, True])
def test_binding_where_nothing_is_allocated_reports_what_utensor_reports(kind: type[Any], is_freed: bool) -> None:
    """No header, nothing bound, and a region that cannot be bound: all three are told, in this order; the last one raises."""

    def act(arena: Any) -> None:
        address = 8
        if is_freed and kind is not LinearArena:  # which frees no single block
            address = arena.allocate(8)
            arena.deallocate(address)
        handle = Handle()
        try:
            arena.bind(address, handle)
        finally:
            assert not handle.is_bound

    assert _errors(kind, act) == [MetaHeaderNotFound, MetaHeaderNotBound, InvalidBoundRegionState]
    history = ErrorHandler()
    with pytest.raises(EventError, match=r"operation bind, address 8, reason nothing is allocated there") as caught:
        kind(1024, handler=history).bind(8, Handle())
    assert caught.value.name == "InvalidBoundRegionState"
    assert [event.type.name for event in history][-3:] == [
        "MetaHeaderNotFound",
        "MetaHeaderNotBound",
        "InvalidBoundRegionState",
    ]


@every_arena
@pytest.mark.parametrize("address", [1024, -1])
def test_binding_outside_of_the_arena_is_refused(kind: type[Any], address: int) -> None:
    """That is another mistake, and has its own error alone."""
    assert _errors(kind, lambda arena: arena.bind(address, Handle())) == [OutOfMemoryBounds]


@every_arena
def test_address_of_no_number_is_refused(kind: type[Any]) -> None:
    """An address is a whole number."""
    with pytest.raises(InputError, match="address is 'here'"):
        kind(1024).deallocate("here")


@every_arena
def test_freeing_none_is_passed_over(kind: type[Any]) -> None:
    """As in C, freeing nothing is fine."""
    kind(1024).deallocate(None)


@every_arena
def test_binding_twice_is_refused(kind: type[Any]) -> None:
    """A block has one handle, and a handle one block; the first stays."""
    first, second = Handle(), Handle()

    def act(arena: Any) -> None:
        one, other, third = (arena.allocate(8) for _ in range(3))
        first.detach()
        second.detach()
        arena.bind(one, first)
        arena.bind(other, second)
        for address, handle in ((one, first), (one, second), (third, first)):
            try:
                arena.bind(address, handle)
            finally:
                assert arena.is_bound(one, first)
                assert arena.is_bound(other)
                assert not arena.is_bound(third)
                assert not arena.is_bound(one, second)

    assert _errors(kind, act) == [InvalidBoundRegionState] * 3


@every_arena
def test_unbinding_another_handle_is_refused(kind: type[Any]) -> None:
    """Only its own handle is parted from a block."""

    def act(arena: Any) -> None:
        arena.unbind(arena.allocate(8), Handle())

    assert _errors(kind, act) == [InvalidBoundRegionState]


@pytest.mark.parametrize("kind", [HandleArena, WorkspaceArena, PageAllocator])
def test_freeing_a_pinned_block_is_refused(kind: type[Any]) -> None:
    """A view that is in use keeps its block."""

    def act(arena: Any) -> None:
        handle = Handle()
        address = arena.allocate(8)
        arena.bind(address, handle)
        with handle.pin() as view:
            view[:] = b"12345678"
            try:
                arena.deallocate(address)
            finally:
                assert arena.contains(address)
                assert handle.is_bound

    assert _errors(kind, act) == [BlockPinned]


def test_unbound_handle_has_nothing_to_pin() -> None:
    """Pinning raises before and after there is a block, whatever the handler does."""
    arena = HandleArena(64, handler=NullHandler())
    handle = Handle()
    address = arena.allocate(8)
    with pytest.raises(EventError, match="no block to pin"), handle.pin():
        pytest.fail("there is no block")
    arena.bind(address or 0, handle)
    arena.deallocate(address)
    with pytest.raises(EventError, match="no block to pin"), handle.pin():
        pytest.fail("there is no block")
    with pytest.raises(EventError, match="no block here"), arena.pinned(Handle()):
        pytest.fail("there is no block")


@every_arena
def test_memory_that_does_not_fit_is_refused(kind: type[Any]) -> None:
    """Read-only, misaligned, empty, scattered or no bytes at all: each says what to give instead."""
    room = np.zeros(1024 + 16, np.uint8)
    start = -room.ctypes.data % 16
    with pytest.raises(ArenaError, match="does not start at a multiple of 16 bytes, but 13 before one"):
        kind(room[start + 3 : start + 1027], alignment=16)
    with pytest.raises(InputError, match="read-only"):
        kind(bytes(1024), alignment=1)
    for memory in (
        "text",
        [1, 2],
        None,
        bytearray(),
        np.zeros(2048, np.uint8)[::2],
        np.zeros(99, object),
        0,
        -5,
        True,
        1 << 62,
    ):
        with pytest.raises(InputError, match=r"Give|Ask"):
            kind(memory, alignment=1)
    for alignment in (0, 3, -8, 1.5):
        with pytest.raises(InputError, match="alignment"):
            kind(1024, alignment=alignment)


def test_header_that_does_not_fit_is_refused() -> None:
    """Fields are 2 or 4 bytes wide, and must be able to describe the arena."""
    with pytest.raises(InputError, match="2 or 4 bytes, not 3"):
        HandleArena(256, header_bytes=3)
    with pytest.raises(InputError, match="up to 65536 bytes, this one has 65537"):
        HandleArena(65537, header_bytes=2)
    narrow = HandleArena(65536, header_bytes=2, handler=NullHandler())
    assert narrow.headers.largest_block_bytes == 32767
    assert narrow.allocate(32768) is None
    assert narrow.allocate(32767) == 0
    wide = HandleArena(65536).headers
    assert (wide.width_bytes, wide.bytes_per_block, wide.largest_block_bytes) == (4, 12, (1 << 31) - 1)
    assert HandleArena(32767).headers.bytes_per_block == 8


def test_plan_that_does_not_fit_is_refused() -> None:
    """Planned blocks lie inside the arena, and end after they start."""
    with pytest.raises(ArenaError, match="needs 300 bytes, the arena has 256"):
        HandleArena(256, plan=[(200, 100)])
    with pytest.raises(InputError, match="offset of planned block 0 is -1"):
        HandleArena(256, plan=[(-1, 100)])
    with pytest.raises(InputError, match="size of planned block 0 is 0"):
        HandleArena(256, plan=[(0, 0)])
    with pytest.raises(PlanError, match="ends at step 1"):
        HandleArena(256, plan=[PlannedBlock(0, 8, 1, 1)])
    with pytest.raises(PlanError, match="planned block 0 is 5"):
        HandleArena(256, plan=[5])  # type: ignore[list-item]  # that is the point


def test_pages_that_do_not_fit_are_refused() -> None:
    """Pages are aligned, and there is at least one."""
    with pytest.raises(InputError, match="no multiple of the alignment"):
        PageAllocator(1024, page_bytes=12)
    with pytest.raises(InputError, match="hold no page of 2048"):
        PageAllocator(1024, page_bytes=2048)
    with pytest.raises(InputError, match="page_bytes is 0"):
        PageAllocator(1024, page_bytes=0)


def test_event_ids_do_not_collide() -> None:
    """Every event of the allocators has its own id at 2 bytes, and says what it means."""
    assert len({event.id(2) for event in EVENTS}) == len(EVENTS)
    assert all(event.meaning for event in EVENTS)
