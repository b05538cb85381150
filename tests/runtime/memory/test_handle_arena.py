"""The arena with movable blocks: pins, rebalances, lifetimes of handles."""

import threading
from itertools import pairwise

import numpy as np
import pytest

from kibi.eager.events import Event
from kibi.eager.handlers import ErrorHandler, NullHandler
from kibi.eager.memory import ByteRange, Handle, HandleArena
from kibi.eager.memory.allocator import (
    ArenaRebalancing,
    BlockPinned,
    OutOfMemory,
    PinOutlived,
    RebalanceHeldByPins,
)
from kibi.errors import EventError


def bound(arena: HandleArena, size_bytes: int, fill: int) -> Handle:
    """A block that is bound and filled."""
    address = arena.allocate(size_bytes)
    assert address is not None
    handle = Handle()
    arena.bind(address, handle)
    with handle.pin() as view:
        view[:] = bytes([fill]) * size_bytes
    return handle


def _holds(handle: Handle, fill: int) -> bool:
    with handle.pin() as view:
        return bytes(view) == bytes([fill]) * len(view)


def test_pinned_block_stays_and_the_others_move_round_it() -> None:
    """A rebalance fills the gaps below a pinned block with those above it."""
    arena = HandleArena(256, alignment=1)
    handles = [bound(arena, 32, number) for number in range(8)]
    for number in (0, 1, 4, 6):
        handles[number].free()
    with handles[3].pin() as view:
        assert arena.rebalance() is True
        assert handles[3].address == 96
        assert bytes(view) == b"\x03" * 32
    assert [handles[number].address for number in (2, 5, 7)] == [0, 32, 64]
    assert all(_holds(handles[number], number) for number in (2, 3, 5, 7))


def test_rebalance_that_pins_prevent_says_so() -> None:
    """There would be room but for a pin: two reports say that, nothing has moved, and nothing is lost."""
    history = ErrorHandler(50, on_error=lambda _: None)
    arena = HandleArena(256, handler=history)
    arena.allocate(64)
    middle = bound(arena, 64, 2)
    unbound = arena.allocate(64)
    with middle.pin():
        assert arena.allocate(160) is None
        assert arena.contains(0)
        assert arena.contains(unbound)
    refused = list(history)[-2:]
    assert [event.type for event in refused] == [RebalanceHeldByPins, OutOfMemory]
    assert refused[0].facts["pinned_bytes"] == 64
    assert "pinned" in refused[1].facts["reason"]
    assert ArenaRebalancing not in [event.type for event in history]
    assert arena.allocate(160) is not None
    assert middle.address == 0


def test_rebalance_that_cannot_help_loses_nothing() -> None:
    """Unbound blocks are given up only where that makes room."""
    arena = HandleArena(256, handler=NullHandler())
    handle, address = bound(arena, 128, 1), arena.allocate(64)
    assert arena.allocate(129) is None
    assert arena.contains(address)
    assert _holds(handle, 1)


def test_unbound_block_stays_where_moving_bound_ones_is_enough() -> None:
    """Bound blocks move round an unbound one before that is given up."""
    arena = HandleArena(256, alignment=1)
    first, unbound, last = bound(arena, 64, 1), arena.allocate(32), bound(arena, 64, 3)
    first.free()
    assert arena.allocate(150) == 96
    assert arena.contains(unbound)
    assert last.address == 0
    assert _holds(last, 3)


def test_view_is_dead_behind_its_pin() -> None:
    """Using a released view raises."""
    arena = HandleArena(256)
    handle = bound(arena, 8, 1)
    with handle.pin() as view:
        pass
    with pytest.raises(ValueError, match="released"):
        view[0]
    assert not handle.is_pinned


def test_array_that_outlives_its_pin_holds_the_block() -> None:
    """A NumPy array made inside a pin never shows bytes of another block: while it lives, its block does not move."""
    history = ErrorHandler(50, on_error=lambda _: None)
    arena = HandleArena(256, handler=history)
    first, second = bound(arena, 64, 1), bound(arena, 64, 2)
    with second.pin() as view:
        array = np.frombuffer(view, np.int16)[3:5]
    assert PinOutlived in [event.type for event in history]
    first.free()
    assert arena.blocks()[0].is_pinned
    assert arena.allocate(192) is None
    second.free()
    assert second.is_bound
    assert history_has(history, BlockPinned.name)
    assert array.tolist() == [0x0202, 0x0202]
    del array
    assert not second.is_pinned
    assert arena.allocate(192) is not None
    assert second.address == 0


def test_held_bytes_stay_where_they_are_and_nobody_is_told() -> None:
    """For a program that keeps them: no event, and the block is free to move with the last array of them."""
    history = ErrorHandler(50, on_error=lambda _: None)
    arena = HandleArena(256, handler=history)
    first, second = bound(arena, 64, 1), bound(arena, 64, 2)
    whole = second.hold()
    part = whole[:4].view(np.int16)
    first.free()
    del whole
    part[0] = 7
    assert arena.blocks()[0].is_pinned
    assert arena.allocate(192) is None
    with second.pin() as view:
        assert bytes(view[:4]) == bytes([7, 0, 2, 2])
    del part
    assert arena.allocate(192) is not None
    assert second.address == 0
    assert not history_has(history, PinOutlived.name)
    with pytest.raises(EventError, match="no block to hold"):
        Handle().hold()
    with pytest.raises(EventError, match="no block here"):
        HandleArena(64).held(second)


def history_has(history: ErrorHandler, name: str) -> bool:
    """Whether something of this name happened."""
    return any(event.type.name == name for event in history)


def test_pins_nest() -> None:
    """A block is free to move when its last pin ends, also by an exception."""
    errors: list[Event] = []
    arena = HandleArena(256, handler=ErrorHandler(on_error=errors.append))
    handle = bound(arena, 8, 1)
    with handle.pin() as outer:
        with pytest.raises(IndexError), handle.pin() as inner:
            inner[8] = 7
        handle.free()
        assert outer[0] == 1
    handle.free()
    assert [event.type for event in errors] == [BlockPinned]
    assert not arena.blocks()


def test_block_lives_as_long_as_its_handle() -> None:
    """A handle that nobody holds any more gives its block back."""
    arena = HandleArena(256)
    handle = bound(arena, 100, 1)
    address = handle.address
    del handle
    assert not arena.contains(address)
    assert arena.available() == 256
    handle = bound(arena, 100, 1)
    with handle.pin() as view:
        array = np.frombuffer(view, np.uint8)
    del handle
    assert arena.rebalance()
    assert arena.available() == 156
    assert array.tolist() == [1] * 100
    del array
    assert arena.available() == 256


def test_unbind_leaves_the_block() -> None:
    """An unbound block is contained until a rebalance needs its room; its handle can take another."""
    arena = HandleArena(256)
    handle = bound(arena, 100, 1)
    arena.unbind(0, handle)
    assert not handle.is_bound
    assert handle.size_bytes == 0
    assert arena.contains(0)
    assert not arena.is_bound(0)
    arena.bind(arena.allocate(8) or 0, handle)
    assert handle.address == 104
    assert arena.rebalance() is True
    assert handle.address == 0
    assert arena.available() == 248


def test_all_free_bytes_can_be_had_in_one_block() -> None:
    """With blocks of aligned sizes and nothing pinned, `available` is what one request gets."""
    arena = HandleArena(1024, alignment=16)
    handles = [bound(arena, 16 * (1 + number % 3), number) for number in range(20)]
    for number in range(0, 20, 2):
        handles[number].free()
    assert arena.allocate(arena.available()) is not None
    assert arena.available() == 0
    assert all(_holds(handles[number], number) for number in range(1, 20, 2))


def test_blocks_and_spare_describe_the_arena() -> None:
    """Without a plan, what is spare are the gaps."""
    arena = HandleArena(128)
    first, _second = bound(arena, 32, 1), bound(arena, 32, 2)
    first.free()
    arena.allocate(8)
    with _second.pin():
        states = arena.blocks()
    assert [(each.address, each.is_bound, each.is_pinned) for each in states] == [(0, False, False), (32, True, True)]
    assert arena.spare() == (ByteRange(8, 24), ByteRange(64, 64))


def test_header_bytes_follow_the_blocks() -> None:
    """Headers are counted now, and at the most."""
    arena = HandleArena(256, header_bytes=4)
    for _ in range(3):
        arena.allocate(8)
    arena.deallocate(0)
    assert (arena.header_bytes_used, arena.header_bytes_peak) == (24, 36)


def test_errors_name_the_arena_and_what_to_do() -> None:
    """A refusal says which arena, how much was asked, how much there is, why, and what to do."""
    arena = HandleArena(256)
    handle = bound(arena, 200, 1)
    with pytest.raises(EventError) as caught:
        arena.allocate(100)
    text = str(caught.value)
    assert all(part in text for part in ("HandleArena", "size_bytes 100", "available 56", "not enough", "free blocks"))
    assert _holds(handle, 1)


def test_threads_share_an_arena() -> None:
    """Blocks of several threads never overlap, whatever moves."""
    arena = HandleArena(4096, handler=NullHandler())
    wrong: list[int] = []

    def work(fill: int) -> None:
        for size_bytes in range(1, 500):
            handle = arena.allocate_handle(size_bytes)
            assert handle is not None
            with handle.pin() as view:
                view[:] = bytes([fill]) * len(view)
            if not _holds(handle, fill):
                wrong.append(size_bytes)

    threads = [threading.Thread(target=work, args=(fill,)) for fill in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    spans = [(state.address, state.address + state.size_bytes) for state in arena.blocks()]
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_handler_is_told_where_blocks_went() -> None:
    """A rebalance reports how much it moved and lost."""
    events: list[Event] = []

    class Keeper:
        def notify(self, event: Event) -> None:
            events.append(event)

    arena = HandleArena(256, handler=Keeper())
    arena.allocate(64)
    handle = bound(arena, 64, 1)
    arena.allocate(180)
    assert events[-1].type == ArenaRebalancing
    facts = events[-1].facts
    assert (facts["request_bytes"], facts["moved_blocks"], facts["moved_bytes"], facts["lost_blocks"]) == (
        180,
        1,
        64,
        1,
    )
    assert handle.address == 0


@pytest.mark.parametrize("size_bytes", [64, 128])
def test_block_that_is_less_aligned_than_the_arena_never_moves_up(size_bytes: int) -> None:
    """A planned place need not be aligned; behind a pin, its block stays where it is, else it moves down."""
    arena = HandleArena(size_bytes, alignment=16, plan=[(0, 2), (4, 48)])
    first, second = bound(arena, 2, 1), bound(arena, 48, 2)
    with first.pin():
        arena.rebalance()
        assert second.address == 4
    first.free()
    assert arena.rebalance()
    assert [state.address for state in arena.blocks()] == [0]
    assert _holds(second, 2)


def test_handle_without_a_block_prints_and_frees_nothing() -> None:
    """A handle says what it has."""
    handle = Handle()
    handle.free()
    assert repr(handle) == "<Handle, unbound>"
    assert repr(bound(HandleArena(64), 8, 1)) == "<Handle of 8 bytes at 0>"
    assert (handle.address, handle.size_bytes, handle.is_pinned) == (None, 0, False)


def test_refused_allocation_gives_no_handle() -> None:
    """As `allocate` gives no address."""
    assert HandleArena(64, handler=NullHandler()).allocate_handle(65) is None
