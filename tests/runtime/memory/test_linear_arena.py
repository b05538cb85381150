"""The arena with two ends."""

import numpy as np
import pytest

from kibi.eager.events import Event
from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import End, Handle, LinearArena
from kibi.eager.memory.allocator import BlockPinned, NotFreedOneByOne, OutOfMemory
from kibi.errors import EventError, InputError


def _arena(size_bytes: int = 256) -> tuple[LinearArena, list[Event]]:
    errors: list[Event] = []
    return LinearArena(size_bytes, handler=ErrorHandler(on_error=errors.append)), errors


def test_two_ends_grow_towards_each_other() -> None:
    """Persistent blocks come down from the top, the planned block and temporaries go up from the bottom, all aligned."""
    arena, _ = _arena()
    assert arena.allocate(10) == 240
    assert arena.allocate_persistent(20) == 208
    assert arena.resize_planned(50) == 0
    assert arena.allocate_temporary(5) == 64
    assert arena.allocate(7, End.TEMPORARY) == 80
    assert arena.persistent_used_bytes == 48
    assert arena.planned_used_bytes == 50
    assert arena.temporary_used_bytes == 37
    assert arena.used_bytes == 48 + 87
    assert arena.available() == 208 - 96


@pytest.mark.parametrize("end", [End.PERSISTENT, End.TEMPORARY])
def test_available_is_what_one_request_gets(end: End) -> None:
    """Exactly so many bytes can be had from each end, not one more."""
    for planned in (1, 16, 50, 200):
        arena, errors = _arena(250)
        arena.resize_planned(planned)
        arena.allocate(3)
        room = arena.available()
        assert arena.allocate(room + 16, end) is None
        assert [event.type for event in errors] == [OutOfMemory]
        assert arena.allocate(room, end) is not None


def test_persistent_blocks_stop_at_the_temporaries() -> None:
    """No end takes the other's bytes."""
    arena, errors = _arena()
    arena.allocate_temporary(128)
    assert arena.allocate_persistent(144) is None
    assert errors[0].facts["missing_bytes"] == 16
    assert arena.allocate_persistent(128) == 128


def test_reset_of_temporaries_leaves_the_rest() -> None:
    """Temporaries end together; planned and persistent blocks stay, with their bytes."""
    arena, _ = _arena()
    persistent, planned, temporary = arena.allocate(16), arena.resize_planned(16), arena.allocate_temporary(16)
    handle = Handle()
    arena.bind(temporary or 0, handle)
    arena.memory[:] = 7
    arena.reset_temporary()
    assert not handle.is_bound
    assert [arena.contains(address) for address in (persistent, planned, temporary)] == [True, True, False]
    assert arena.temporary_used_bytes == 0
    assert arena.allocate_temporary(16) == temporary
    assert (arena.memory == 7).all()


def test_reset_empties_both_ends() -> None:
    """All is free again."""
    arena, _ = _arena()
    for end in End:
        arena.allocate(16, end)
    arena.reset()
    assert not arena.blocks()
    assert arena.used_bytes == 0
    assert arena.available() == 256


def test_pinned_temporary_prevents_the_reset() -> None:
    """Nothing is given up while a view shows it."""
    arena, errors = _arena()
    arena.allocate_temporary(16)
    handle = Handle()
    arena.bind(arena.allocate_temporary(16) or 0, handle)
    with handle.pin():
        arena.reset_temporary()
        arena.reset()
    assert [event.type for event in errors] == [BlockPinned] * 2
    assert len(arena.blocks()) == 2


def test_nothing_is_freed_one_by_one() -> None:
    """A single block cannot be freed; the error says what can."""
    arena, errors = _arena()
    address = arena.allocate(16)
    arena.deallocate(address)
    assert [event.type for event in errors] == [NotFreedOneByOne]
    assert arena.contains(address)
    strict = LinearArena(256)
    address = strict.resize_planned(8)
    with pytest.raises(EventError, match="reset its temporaries"):
        strict.deallocate(address)


def test_planned_block_is_resized_in_place() -> None:
    """It grows and shrinks at the bottom with its bytes and handle, but not under temporaries, nor into the other end."""
    arena, errors = _arena()
    handle = Handle()
    arena.allocate(16)
    arena.bind(arena.resize_planned(32) or 0, handle)
    with handle.pin() as view:
        view[:] = bytes(range(32))
        assert arena.resize_planned(64) is None
    assert arena.resize_planned(100) == 0
    with handle.pin() as view:
        assert bytes(view[:32]) == bytes(range(32))
        assert len(view) == 100
    arena.allocate_temporary(8)
    assert arena.resize_planned(10) is None
    arena.reset_temporary()
    assert arena.resize_planned(10) == 0
    assert arena.resize_planned(241) is None
    assert arena.resize_planned(240) == 0
    assert [event.type for event in errors] == [BlockPinned, OutOfMemory, OutOfMemory]


def test_unknown_end_is_refused() -> None:
    """The error names the ends that exist."""
    with pytest.raises(InputError, match="persistent, planned, temporary"):
        LinearArena(64).allocate(8, "middle")  # type: ignore[arg-type]  # that is the point


def test_planned_block_is_not_movable_memory() -> None:
    """Views of a caller's buffer stay true: nothing moves in a linear arena."""
    memory = np.zeros(256, np.uint8)
    arena = LinearArena(memory, alignment=1)
    address = arena.allocate(4)
    assert address == 252
    arena.memory[252:] = 9
    assert memory.tolist()[250:] == [0, 0, 9, 9, 9, 9]
