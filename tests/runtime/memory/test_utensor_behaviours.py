"""What uTensor's own tests of its allocator promise (TESTS/allocators/test_arenaAllocator.cpp), one by one."""

import copy
import pickle

import numpy as np
import pytest

from kibi.eager.handlers import ErrorHandler, NullHandler
from kibi.eager.memory import Handle, HandleArena
from kibi.eager.memory.allocator import ArenaConstructed, ArenaRebalancing, OutOfMemory
from kibi.errors import EventError


def _allocated(arena: HandleArena, size_bytes: int, fill: int) -> int:
    address = arena.allocate(size_bytes)
    assert address is not None
    arena.memory[address : address + size_bytes] = fill
    return address


def test_new_arena_has_all_bytes_and_says_so() -> None:
    """A constructed arena reports it, and has every byte."""
    history = ErrorHandler(50)
    arena = HandleArena(256, handler=history)
    assert arena.available() == 256
    assert [event.type for event in history] == [ArenaConstructed]


def test_forty_bytes_leave_216() -> None:
    """Headers take no data bytes."""
    arena = HandleArena(256)
    address = arena.allocate(40)
    assert arena.available() == 256 - 40
    assert arena.contains(address)
    assert arena.header_bytes_used == arena.headers.bytes_per_block == 8


def test_400_bytes_of_256_are_an_error_and_nothing() -> None:
    """A request that can never fit tells the callback, and gives nothing."""
    errors: list[str] = []
    arena = HandleArena(256, handler=ErrorHandler(50, on_error=lambda event: errors.append(event.type.name)))
    assert arena.allocate(400) is None
    assert errors == [OutOfMemory.name]
    assert HandleArena(256, handler=NullHandler()).allocate(400) is None


def test_400_bytes_of_256_raise_by_default() -> None:
    """Without a handler, the error raises, with the numbers."""
    with pytest.raises(EventError, match=r"OutOfMemory .*size_bytes 400.*at most 256") as caught:
        HandleArena(256).allocate(400)
    assert caught.value.name == "OutOfMemory"


def test_freed_block_is_not_contained() -> None:
    """`contains` knows what lives; None it does not contain."""
    arena = HandleArena(256)
    assert not arena.contains(None)
    address = arena.allocate(40)
    assert arena.contains(address)
    arena.deallocate(address)
    assert not arena.contains(address)
    assert arena.available() == 256


def test_two_blocks_do_not_share_bytes() -> None:
    """What is written to one block is not seen in another."""
    arena = HandleArena(256)
    first, second = _allocated(arena, 40, 1), _allocated(arena, 40, 2)
    assert (arena.memory[first : first + 40] == 1).all()
    assert (arena.memory[second : second + 40] == 2).all()


def test_freed_region_is_used_again() -> None:
    """A block of the same size comes where the freed one was."""
    arena = HandleArena(256)
    first = _allocated(arena, 40, 1)
    _allocated(arena, 40, 2)
    arena.deallocate(first)
    assert arena.allocate(40) == first


def test_unbound_blocks_are_lost_when_a_third_needs_room() -> None:
    """100 + 100 + 117 bytes without handles: the arena rebalances, drops what is unbound, and serves the third."""
    history = ErrorHandler(50)
    arena = HandleArena(256, handler=history)
    first, second = _allocated(arena, 100, 1), _allocated(arena, 100, 2)
    third = _allocated(arena, 117, 3)
    assert not arena.contains(second)
    assert arena.contains(third)
    assert (arena.memory[first : first + 100] != 1).all()
    assert (arena.memory[third : third + 117] == 3).all()
    assert ArenaRebalancing in [event.type for event in history]


def test_bound_block_moves_and_its_handle_follows() -> None:
    """96 + 100 bound + 117 bytes: the bound block moves, its handle follows, its bytes are intact."""
    history = ErrorHandler(50)
    arena = HandleArena(256, handler=history)
    first, second = _allocated(arena, 96, 1), _allocated(arena, 100, 2)
    handle = Handle()
    arena.bind(second, handle)
    third = _allocated(arena, 117, 3)
    assert not arena.contains(second)
    assert arena.contains(handle.address)
    assert arena.contains(third)
    assert handle.address != second
    assert (arena.memory[first : first + 96] != 1).all()
    with handle.pin() as view:
        assert bytes(view) == b"\x02" * 100
    assert (arena.memory[third : third + 117] == 3).all()
    assert ArenaRebalancing in [event.type for event in history]


def test_handle_reads_and_writes_its_block() -> None:
    """What is written through one name of a handle is read through another."""
    arena = HandleArena(256)
    handle = Handle()
    arena.bind(_allocated(arena, 100, 1), handle)
    same = handle
    with same.pin() as view:
        view[0] = 2
    with handle.pin() as view:
        assert view[0] == 2
        assert bytes(view[1:]) == b"\x01" * 99


def test_handle_is_unique() -> None:
    """Copying, deep-copying or pickling a handle raises, bound or not, alone or inside a list."""
    arena = HandleArena(256)
    bound = Handle()
    arena.bind(_allocated(arena, 8, 0), bound)
    for handle in (Handle(), bound):
        for act in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="handle"):
                act(handle)
        with pytest.raises(TypeError, match="unique"):
            copy.deepcopy([handle])


@pytest.mark.parametrize(
    "memory", [bytearray(256), memoryview(bytearray(256)), np.zeros(256, np.uint8)], ids=["bytearray", "memoryview", "array"]
)  # fmt: skip
def test_blocks_lie_in_the_callers_bytes(memory: bytearray) -> None:
    """A caller's buffer is used as it is, not copied."""
    arena = HandleArena(memory, alignment=1)
    handle = Handle()
    arena.bind(_allocated(arena, 3, 0), handle)
    with handle.pin() as view:
        view[:] = b"abc"
    assert bytes(memory[:3]) == b"abc"
