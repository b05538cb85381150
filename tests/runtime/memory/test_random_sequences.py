"""Random sequences against a simple model: a dictionary of bytes for what must survive."""

import random
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import pytest

from kibi.eager.events import Event
from kibi.eager.handlers import NullHandler
from kibi.eager.memory import Handle, HandleArena, PageAllocator
from kibi.eager.memory.allocator import ArenaRebalancing, OutOfMemory

STEPS = 6000
"""For each of the arenas below: 24,000 in all."""


@dataclass
class Watch:
    """Notes what the arena reports."""

    types: list[str] = field(default_factory=list)

    def notify(self, event: Event) -> None:
        """One more."""
        self.types.append(event.type.name)


class Sequence:
    """A program that does what a die says, and knows what must be true.

    Attributes:
        bound: what every bound block must hold.
        loose: unbound blocks: what they hold if they live.
    """

    def __init__(self, seed: int, size_bytes: int, alignment: int) -> None:
        self.die = random.Random(seed)
        self.watch = Watch()
        self.memory = bytearray(size_bytes + 2 * 16)
        room = np.frombuffer(self.memory, np.uint8)
        skip = -room.ctypes.data % 16
        self.outside = np.ones(len(room), bool)
        self.outside[skip : skip + size_bytes] = False
        room[self.outside] = 0xA5
        self.room = room
        self.arena = HandleArena(room[skip : skip + size_bytes], alignment=alignment, handler=self.watch)
        self.bound: dict[Handle, bytes] = {}
        self.loose: dict[int, bytes] = {}
        self.pins: dict[Handle, tuple[ExitStack, memoryview, int]] = {}
        self.arrays: dict[Handle, np.ndarray[tuple[int], np.dtype[np.uint8]]] = {}
        self.rebalances = 0

    def step(self) -> None:
        """One act of chance, and what must be true after it."""
        seen = len(self.watch.types)
        acts = [self.allocate] * 8 + [self.bind] * 4 + [self.free] * 2 + [self.write] * 2
        acts += [self.pin, self.unpin, self.unpin, self.unbind, self.let_die, self.rebalance]
        self.die.choice(acts)()
        moved = ArenaRebalancing.name in self.watch.types[seen:]
        self.rebalances += moved
        if moved:
            # Where a loose block was lost, a bound one may have moved to its address.
            there = {state.address for state in self.arena.blocks() if not state.is_bound}
            self.loose = {address: data for address, data in self.loose.items() if address in there}
            self.check_contents()

    def allocate(self) -> None:
        """A new block, with bytes of chance; refused only where even a rebalance would not help."""
        size_bytes = self.die.choice((1, 7, 8, 40, 100, self.die.randrange(1, self.arena.capacity_bytes + 9)))
        address = self.arena.allocate(size_bytes)
        if address is None:
            assert self.watch.types[-1] == OutOfMemory.name
            held = sum(-(-len(data) // self.arena.alignment) * self.arena.alignment for data in self.bound.values())
            assert self.pins or self.arrays or held + size_bytes > self.arena.capacity_bytes
            return
        assert address % self.arena.alignment == 0
        data = self.die.randbytes(size_bytes)
        self.arena.memory[address : address + size_bytes] = np.frombuffer(data, np.uint8)
        self.loose = {other: old for other, old in self.loose.items() if other != address}
        self.loose[address] = data

    def bind(self) -> None:
        """A loose block gets a handle, if it was not lost."""
        if self.loose:
            address = self.die.choice(list(self.loose))
            data = self.loose.pop(address)
            assert self.arena.contains(address)
            handle = Handle()
            self.arena.bind(address, handle)
            assert self.arena.is_bound(address, handle)
            self.bound[handle] = data

    def unbind(self) -> None:
        """A bound block is loose again."""
        handle = self.any_bound()
        if handle is not None and handle.address is not None:
            address = handle.address
            self.arena.unbind(address, handle)
            self.loose[address] = self.bound.pop(handle)

    def free(self) -> None:
        """A block ends, loose or bound."""
        handle = self.any_bound()
        if self.loose and (handle is None or self.die.random() < 0.5):
            address = self.die.choice(list(self.loose))
            del self.loose[address]
            self.arena.deallocate(address)
            assert not self.arena.contains(address)
        elif handle is not None:
            address = handle.address or 0
            self.arena.deallocate(address)
            del self.bound[handle]
            assert not self.arena.contains(address)
            assert not handle.is_bound

    def let_die(self) -> None:
        """A handle that nobody holds frees its block."""
        handle = self.any_bound()
        if handle is not None:
            before = self.arena.available()
            size_bytes = len(self.bound.pop(handle))
            del handle
            assert self.arena.available() == before + size_bytes

    def write(self) -> None:
        """Bytes of chance go into a bound block, pinned or not."""
        if self.bound:
            handle = self.die.choice(list(self.bound))
            data = self.die.randbytes(len(self.bound[handle]))
            with handle.pin() as view:
                view[:] = data
            self.bound[handle] = data

    def pin(self) -> None:
        """A bound block is held for a while; sometimes an array outlives the pin."""
        handle = self.any_bound()
        if handle is None or len(self.pins) > 2:
            return
        stack = ExitStack()
        view = stack.enter_context(handle.pin())
        if self.die.random() < 0.5:
            self.arrays[handle] = np.frombuffer(view, np.uint8)
            stack.close()
        else:
            assert handle.address is not None
            self.pins[handle] = (stack, view, handle.address)

    def unpin(self) -> None:
        """Pins end, and arrays go."""
        for handle in list(self.pins)[:1]:
            stack, view, address = self.pins.pop(handle)
            assert handle.address == address
            assert bytes(view) == self.bound[handle]
            stack.close()
        for handle in list(self.arrays)[:1]:
            assert self.arrays.pop(handle).tobytes() == self.bound[handle]

    def rebalance(self) -> None:
        """The program itself asks for room, now and then."""
        if self.die.random() < 0.2:
            self.arena.rebalance()

    def any_bound(self) -> Handle | None:
        """A bound block that no pin holds."""
        free = [handle for handle in self.bound if handle not in self.pins and handle not in self.arrays]
        return self.die.choice(free) if free else None

    def check_contents(self) -> None:
        """Every block holds what it should; they do not overlap; nothing outside of the arena was touched."""
        memory = self.arena.memory
        spans = []
        for handle, data in self.bound.items():
            assert handle.address is not None
            assert handle.size_bytes == len(data)
            spans.append((handle.address, data))
        spans += list(self.loose.items())
        for address, data in spans:
            assert memory[address : address + len(data)].tobytes() == data
        assert len(self.arena.blocks()) == len(spans)
        cursor = 0
        for address, data in sorted(spans):
            assert address >= cursor
            cursor = address + len(data)
        assert self.arena.available() == self.arena.capacity_bytes - sum(len(data) for _, data in spans)
        assert (self.room[self.outside] == 0xA5).all()


@pytest.mark.parametrize(("seed", "size_bytes", "alignment"), [(1, 256, 8), (2, 1000, 4), (3, 700, 1), (4, 2048, 16)])
def test_random_sequence_keeps_every_promise(seed: int, size_bytes: int, alignment: int) -> None:
    """Allocate, bind, write, pin, free, unbind, let die, rebalance: contents checked after every rebalance."""
    sequence = Sequence(seed, size_bytes, alignment)
    for number in range(STEPS):
        sequence.step()
        if number % 16 == 0:
            sequence.check_contents()
    assert sequence.rebalances > STEPS // 50


def test_random_pages_keep_every_promise() -> None:
    """vmalloc, vrealloc and vfree against a dictionary: contents stay, pages are counted exactly."""
    die = random.Random(5)
    pages = PageAllocator(64 * 32, page_bytes=32, handler=NullHandler())
    model: dict[int, bytes] = {}
    for _ in range(4000):
        act, size_bytes = die.random(), die.choice((1, 31, 32, 33, die.randrange(1, 700)))
        longest = max((run.size_bytes for run in pages.free_list()), default=0)
        if act < 0.4 or not model:
            address = pages.vmalloc(size_bytes)
            assert (address is None) == (size_bytes > longest)
            data = b""
        else:
            address = die.choice(list(model))
            data = model.pop(address)
            if act < 0.7:
                pages.vfree(address)
                continue
            new = pages.vrealloc(address, size_bytes)
            if new is None:
                model[address] = data
            address = new
        if address is not None:
            kept = data[:size_bytes]
            assert pages.memory[address : address + len(kept)].tobytes() == kept
            model[address] = kept + die.randbytes(size_bytes - len(kept))
            pages.memory[address : address + size_bytes] = np.frombuffer(model[address], np.uint8)
        for place, held in model.items():
            assert pages.memory[place : place + len(held)].tobytes() == held
        used = sum(-(-len(held) // 32) for held in model.values())
        assert pages.available() == (64 - used) * 32
        assert all(run.size_bytes % 32 == 0 for run in pages.free_list())
