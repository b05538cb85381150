"""The arenas in C do what those in Python do: the same places, the same events, the same bytes."""

import ctypes
import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from kibi.eager.events import Event
from kibi.eager.memory import Handle, HandleArena, LinearArena, PageAllocator, WorkspaceArena
from kibi.eager.memory.block_arena import BlockArena
from tests.eager_c.library import BLOCKS, CArena, CHandle, library
from tests.support.amount import amount

_STEPS = amount(400, 2000)
_SEEDS = range(amount(8, 30))


class _Watch:
    """Names of the events since the last call of `new`."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def notify(self, event: Event) -> None:
        """One more."""
        self._names.append(event.type.name)

    def new(self) -> list[str]:
        """The names, and forgets them."""
        names, self._names = self._names, []
        return names


class _Pair:
    """An arena in Python and one in C, to which the same is done.

    Attributes:
        handles: the same handle in both, and the pins that hold it in Python.
        known: addresses that were given at some time.
    """

    def __init__(self, ours: BlockArena, theirs: CArena, watch: _Watch, die: random.Random) -> None:
        self.ours, self.theirs, self.watch, self.die = ours, theirs, watch, die
        self.handles: list[tuple[Handle, CHandle, list[ExitStack]]] = []
        self.known: list[int] = [0]
        self.compare()

    def compare(self) -> None:
        """Both have reported the same, and have the same blocks with the same bytes."""
        assert self.theirs.history.new() == self.watch.new()
        assert self.theirs.call("available") == self.ours.available()
        for state in self.ours.blocks():
            assert self.theirs.call("contains", state.address)
            end = state.address + state.size_bytes
            if state.is_bound:
                assert (self.theirs.bytes[state.address : end] == self.ours.memory[state.address : end]).all()
        for handle, other, _ in self.handles:
            assert self.theirs.address(other) == (-1 if handle.address is None else handle.address)
        self.theirs.check_canaries()

    def allocate(self, allocate: Callable[[int], int | None], name: str) -> None:
        """A new block."""
        size_bytes = self.die.choice((1, 7, 8, 40, 100, self.die.randrange(1, self.ours.capacity_bytes + 9)))
        address = allocate(size_bytes)
        assert self.theirs.call(name, size_bytes) == (-1 if address is None else address)
        if address is not None:
            self.known.append(address)

    def any_block(self) -> None:
        """A block of the arena's usual kind."""
        self.allocate(self.ours.allocate, "allocate")

    def an_address(self) -> int:
        """One that was given, or that means nothing."""
        wild = (self.die.randrange(-3, self.ours.capacity_bytes + 3), self.die.choice(self.known))
        live = [state.address for state in self.ours.blocks()]
        return self.die.choice((*wild, self.die.choice(live or [0]), self.die.choice(live or [0])))

    def bind(self) -> None:
        """A handle, new or not, for an address; its bytes are then of chance."""
        address = self.an_address()
        if not self.handles or self.die.random() < 0.8:
            self.handles.append((Handle(), CHandle(), []))
        handle, other, _ = self.handles[-1] if self.die.random() < 0.8 else self.die.choice(self.handles)
        was = handle.address
        self.ours.bind(address, handle)
        status = self.theirs.call("bind", address, ctypes.byref(other))
        assert (status == 0) == (was is None and handle.address == address)
        if status == 0:
            data = np.frombuffer(self.die.randbytes(handle.size_bytes), np.uint8)
            for memory in (self.ours.memory, self.theirs.bytes):
                memory[address : address + handle.size_bytes] = data

    def unbind(self) -> None:
        """Unbinds, often rightly."""
        address = self.an_address()
        if self.handles:
            handle, other, _ = self.die.choice(self.handles)
            if handle.address is not None and self.die.random() < 0.7:
                address = handle.address
            self.ours.unbind(address, handle)
            self.theirs.call("unbind", address, ctypes.byref(other))

    def deallocate(self) -> None:
        """Frees, often rightly."""
        address = self.an_address()
        if address != -1:  # no address in C
            self.ours.deallocate(address)
            self.theirs.call("deallocate", address)

    def is_bound(self) -> None:
        """Asks."""
        address = self.an_address()
        assert bool(self.theirs.call("is_bound", address, None)) == self.ours.is_bound(address)

    def pin(self) -> None:
        """Pins a bound block."""
        bound = [each for each in self.handles if each[0].is_bound]
        if bound and sum(len(each[2]) for each in self.handles) < 4:
            handle, other, pins = self.die.choice(bound)
            pins.append(ExitStack())
            pins[-1].enter_context(handle.pin())
            assert self.theirs.library.kibi_pin(self.theirs.memory, ctypes.byref(other)) == other.data

    def unpin(self) -> None:
        """Ends a pin."""
        pinned = [each for each in self.handles if each[2]]
        if pinned:
            _, other, pins = self.die.choice(pinned)
            pins.pop().close()
            assert self.theirs.call("unpin", ctypes.byref(other)) == 0


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


def _run(pair: _Pair, acts: list[Callable[[], None]]) -> None:
    for _ in range(_STEPS):
        if len(pair.ours.blocks()) < BLOCKS:
            pair.die.choice(acts)()
            pair.compare()


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("seed", _SEEDS)
def test_handle_arena_is_pythons(loaded: ctypes.CDLL, seed: int) -> None:
    """Blocks are placed, moved and lost alike, and every wrong call has the same events."""
    die, watch = random.Random(seed), _Watch()
    size_bytes, alignment = die.choice(((256, 8), (1000, 4), (4096, 16), (61, 1)))
    theirs = CArena(loaded, "handle_arena", size_bytes, alignment)
    ours = HandleArena(size_bytes, alignment=alignment, handler=watch)
    pair = _Pair(ours, theirs, watch, die)

    def rebalance() -> None:
        assert ours.rebalance() == bool(theirs.call("rebalance"))

    acts = [pair.any_block] * 8 + [pair.bind] * 6 + [pair.deallocate] * 4
    _run(pair, [*acts, pair.unbind, pair.is_bound, pair.pin, pair.unpin, pair.unpin, rebalance])


@pytest.mark.parametrize("seed", _SEEDS)
def test_linear_arena_is_pythons(loaded: ctypes.CDLL, seed: int) -> None:
    """Both ends, the planned block and the resets."""
    die, watch = random.Random(seed), _Watch()
    size_bytes, alignment = die.choice(((256, 8), (1003, 4), (4096, 16)))
    theirs = CArena(loaded, "linear_arena", size_bytes, alignment)
    ours = LinearArena(size_bytes, alignment=alignment, handler=watch)
    pair = _Pair(ours, theirs, watch, die)

    def reset_temporary() -> None:
        ours.reset_temporary()
        theirs.call("reset_temporary")

    def reset() -> None:
        ours.reset()
        theirs.call("reset_linear")

    acts = [pair.any_block, lambda: pair.allocate(ours.allocate_temporary, "allocate_temporary"), pair.bind] * 3
    acts += [lambda: pair.allocate(ours.resize_planned, "resize_planned"), pair.deallocate, pair.unbind]
    _run(pair, [*acts, pair.pin, pair.unpin, pair.unpin, reset_temporary, reset])


@pytest.mark.parametrize("seed", _SEEDS)
def test_page_allocator_is_pythons(loaded: ctypes.CDLL, seed: int) -> None:
    """The best fit, and blocks that grow and shrink."""
    die, watch = random.Random(seed), _Watch()
    size_bytes, alignment, page_bytes = die.choice(((1024, 8, 64), (1003, 4, 32), (4096, 16, 256)))
    theirs = CArena(loaded, "page_allocator", size_bytes, alignment, [page_bytes])
    ours = PageAllocator(size_bytes, page_bytes=page_bytes, alignment=alignment, handler=watch)
    pair = _Pair(ours, theirs, watch, die)

    def reallocate(size_bytes: int, address: int) -> None:
        got = ours.vrealloc(None if address == -1 else address, size_bytes)
        assert theirs.call("reallocate", address, size_bytes) == (-1 if got is None else got)

    acts = [pair.any_block] * 4 + [pair.bind] * 3 + [pair.deallocate] * 2
    acts += [lambda: reallocate(die.choice((1, 60, 64, 65, 300)), pair.an_address())] * 4
    _run(pair, [*acts, pair.unbind, pair.pin, pair.unpin, pair.unpin])


@pytest.mark.parametrize("seed", _SEEDS)
def test_workspace_is_pythons(loaded: ctypes.CDLL, seed: int) -> None:
    """The stack, its counter, and scopes that end in order and out of it."""
    die, watch = random.Random(seed), _Watch()
    size_bytes, alignment = die.choice(((256, 8), (1003, 4), (4096, 16)))
    theirs = CArena(loaded, "workspace", size_bytes, alignment)
    ours = WorkspaceArena(size_bytes, alignment=alignment, handler=watch)
    pair = _Pair(ours, theirs, watch, die)
    scopes: list[tuple[ExitStack, ctypes.Array[ctypes.c_char]]] = []

    def enter() -> None:
        if len(scopes) < 4:
            scopes.append((ExitStack(), ctypes.create_string_buffer(64)))
            scopes[-1][0].enter_context(ours.scope())
            theirs.call("enter", scopes[-1][1])

    def leave() -> None:
        if scopes:
            stack, scope = scopes.pop(-1 if die.random() < 0.8 else 0)
            stack.close()
            theirs.call("leave", scope)

    acts = [pair.any_block] * 5 + [pair.bind] * 2 + [pair.deallocate] * 3 + [enter, leave] * 2
    _run(pair, [*acts, pair.unbind, pair.pin, pair.unpin, pair.unpin])


def test_wrong_memory_is_refused(loaded: ctypes.CDLL, tmp_path: Path) -> None:
    """Each has a status, and tells the handler."""
    del tmp_path
    assert CArena(loaded, "handle_arena", 64, 8).status == 0
    for alignment in (0, 3):
        wrong = CArena(loaded, "handle_arena", 64, alignment)
        assert (wrong.status, wrong.history.new()) == (-47, ["ArgumentRefused"])
    assert CArena(loaded, "handle_arena", 70_000, 8).status == -47
    assert CArena(loaded, "page_allocator", 64, 8, [12]).status == -47
    full = CArena(loaded, "handle_arena", 64, 8, blocks=1)
    assert full.call("allocate", 8) == 0
    assert full.call("allocate", 8) == -1
    assert full.call("allocate", 0) == -1
    assert full.history.new() == ["ArenaConstructed", "OutOfMemory", "ArgumentRefused"]


def test_copied_handle_is_no_handle(loaded: ctypes.CDLL) -> None:
    """A handle is unique: a copy pins nothing, unbinds nothing and frees nothing."""
    arena, handle = CArena(loaded, "handle_arena", 64, 8), CHandle()
    assert arena.call("allocate_handle", 16, ctypes.byref(handle)) == 0
    copy = CHandle(handle.data, handle.pins)
    assert loaded.kibi_pin(arena.memory, ctypes.byref(copy)) is None
    assert arena.call("unpin", ctypes.byref(copy)) == -36
    assert arena.call("unbind", 0, ctypes.byref(copy)) == -36
    assert arena.call("free", ctypes.byref(copy)) == 0
    assert arena.call("contains", 0)
    assert arena.history.new() == ["ArenaConstructed"] + ["InvalidBoundRegionState"] * 3
