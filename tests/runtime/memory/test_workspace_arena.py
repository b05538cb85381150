"""The arena with a counter, and its scopes."""

import pytest

from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import Handle, WorkspaceArena
from kibi.eager.memory.allocator import BlockPinned, OutOfMemory, ScopeNotInnermost
from kibi.errors import EventError


def test_all_is_free_when_the_count_returns_to_zero() -> None:
    """Freeing only counts, in any order; the last one frees all in one step."""
    arena = WorkspaceArena(256)
    first, second = arena.allocate(10), arena.allocate(20)
    assert (first, second) == (0, 16)
    arena.deallocate(second)
    assert arena.count == 1
    assert arena.used_bytes == 36
    assert arena.available() == 256 - 40
    assert arena.allocate(8) == 40
    arena.deallocate(first)
    arena.deallocate(40)
    assert arena.count == arena.used_bytes == 0
    assert arena.available() == 256
    assert arena.high_water_bytes == 48
    assert arena.allocate(256) == 0


def test_scope_gives_back_what_was_allocated_inside() -> None:
    """Scopes nest; each takes the stack back to where it was."""
    arena = WorkspaceArena(256)
    outside = arena.allocate(8)
    with arena.scope():
        outer = arena.allocate(8)
        with arena.scope():
            inner = arena.allocate(8)
            assert arena.depth == 2
            assert inner == 16
        assert not arena.contains(inner)
        assert arena.used_bytes == 16
        assert arena.allocate(8) == inner
        assert arena.contains(outer)
    assert [arena.contains(address) for address in (outside, outer, inner)] == [True, False, False]
    assert (arena.used_bytes, arena.count, arena.depth) == (8, 1, 0)


def _fill(arena: WorkspaceArena) -> None:
    """Allocate until there is an error."""
    while True:
        arena.allocate(8)


def test_scope_gives_back_after_an_exception() -> None:
    """However a scope ends."""
    arena = WorkspaceArena(64)
    arena.allocate(8)
    with pytest.raises(EventError), arena.scope():
        _fill(arena)
    assert arena.count == 1
    assert arena.used_bytes == 8


def test_stack_that_begins_anew_inside_a_scope_stays_true() -> None:
    """The count returns to zero inside a scope that began higher: nothing is lost, nothing leaks."""
    arena = WorkspaceArena(128)
    below = arena.allocate(32)
    with arena.scope():
        arena.deallocate(below)
        assert arena.allocate(16) == 0
        with arena.scope():
            assert arena.allocate(16) == 16
        assert arena.used_bytes == 16
    assert arena.used_bytes == arena.count == 0


def test_block_freed_inside_its_scope_is_freed_once() -> None:
    """A scope frees what is left."""
    arena = WorkspaceArena(128)
    with arena.scope():
        arena.deallocate(arena.allocate(8))
        kept = arena.allocate(8)
    assert kept == 0
    assert arena.count == 0


def test_pinned_block_outlives_its_scope() -> None:
    """A scope whose block is in use reports it, and leaves its blocks."""
    errors: list[str] = []
    arena = WorkspaceArena(64, handler=ErrorHandler(on_error=lambda event: errors.append(event.type.name)))
    handle = Handle()
    scope = arena.scope()
    with scope:
        arena.bind(arena.allocate(8) or 0, handle)
        pin = handle.pin()
        pin.__enter__()
    assert errors == [BlockPinned.name]
    assert handle.address == 0
    pin.__exit__(None, None, None)
    handle.free()
    assert arena.count == 0


def test_scopes_that_cross_are_refused() -> None:
    """The outer scope cannot end before the inner one."""
    arena = WorkspaceArena(64)
    outer, inner = arena.scope(), arena.scope()
    outer.__enter__()
    inner.__enter__()
    arena.allocate(8)
    with pytest.raises(EventError, match=ScopeNotInnermost.meaning):
        outer.__exit__(None, None, None)
    inner.__exit__(None, None, None)
    assert (arena.count, arena.depth) == (0, 0)


def test_full_stack_is_out_of_memory() -> None:
    """The error says how much there is."""
    arena = WorkspaceArena(64)
    arena.allocate(50)
    with pytest.raises(EventError, match=f"{OutOfMemory.name} .*size_bytes 9, available 8, count 1"):
        arena.allocate(9)
    assert arena.allocate(8) == 56
