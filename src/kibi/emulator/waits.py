"""What a core waits for its flash: the structures of `waits.c`, made from the description of a memory."""

import ctypes
from dataclasses import dataclass

from kibi.emulator.hook import hook_library
from kibi.targets import Cache, Memory

_NO_READ = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Stalls:
    """Cycles that a core waits for its flash, by cause.

    Attributes:
        fetch: for instructions.
        literal: for constants that code loads by its own address.
        data: for all other loads: weights and tables.
    """

    fetch: int = 0
    literal: int = 0
    data: int = 0

    @property
    def cycles(self) -> int:
        """All of them."""
        return self.fetch + self.literal + self.data

    def __add__(self, other: "Stalls") -> "Stalls":
        return Stalls(self.fetch + other.fetch, self.literal + other.literal, self.data + other.data)


@dataclass(frozen=True, slots=True)
class Spent:
    """Cycles, and those of them that the core waited."""

    cycles: int = 0
    stalls: Stalls = Stalls()

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.cycles + other.cycles, self.stalls + other.stalls)


class _Line(ctypes.Structure):
    _fields_ = (("tag", ctypes.c_uint32), ("valid", ctypes.c_uint32))


class _Cache(ctypes.Structure):
    """`kibi_cache` of `waits.h`."""

    _fields_ = (
        ("lines", ctypes.c_void_p),
        *((name, ctypes.c_uint32) for name in ("sets", "ways", "reads_shift", "in_turn")),
    )


class _Spent(ctypes.Structure):
    """`kibi_spent` of `waits.h`."""

    _fields_ = (("cycles", ctypes.c_uint64), ("stalls", ctypes.c_uint64 * 3))


class _Waits(ctypes.Structure):
    """`kibi_waits` of `waits.h`."""

    _fields_ = (
        ("port_free", ctypes.c_uint64), ("next_ready", ctypes.c_uint64), ("stalls", ctypes.c_uint64 * 3), ("given", _Spent),
        ("by_label", ctypes.c_void_p), ("instructions", _Cache), ("data", _Cache),
        *(
            (name, ctypes.c_uint32)
            for name in (
                "first", "end", "read_shift", "read_cycles", "miss_cycles", "has_prefetch", "is_unified", "fetched", "next",
            )
        ),
    )  # fmt: skip


class Waits:
    """A memory interface while a program runs. Its caches keep what they hold from call to call.

    Args:
        memory: the description; None for a flash without wait states.
        clock_hz: the core's clock, which the wait states depend on.
        first, end: the range of addresses that is in flash.
    """

    def __init__(self, memory: Memory | None = None, clock_hz: int = 0, first: int = 0, end: int = 0) -> None:
        self._state = state = _Waits()
        self._lines: list[ctypes.Array[_Line]] = []
        self._spent = (_Spent * 0)()
        self.is_active = memory is not None and memory.wait_states(clock_hz) > 0
        state.fetched = state.next = _NO_READ
        if memory is not None:
            reads = memory.read_bytes
            state.first, state.end, state.read_shift = first, end, reads.bit_length() - 1
            state.read_cycles = memory.wait_states(clock_hz) + 1
            state.miss_cycles, state.has_prefetch = memory.miss_cycles, memory.has_prefetch
            state.is_unified = memory.unified_cache is not None
            state.instructions = self._cache(memory.unified_cache or memory.instruction_cache, reads)
            state.data = self._cache(memory.data_cache, reads)

    @property
    def address(self) -> int:
        """Of the structure, for the hook."""
        return ctypes.addressof(self._state)

    def begin(self, labels: int) -> None:
        """Begins a call at cycle 0, with nothing spent by any of so many labels."""
        self._spent = (_Spent * labels)()
        self._state.by_label = ctypes.addressof(self._spent)
        self._state.port_free = self._state.next_ready = 0
        self._state.stalls, self._state.given = (ctypes.c_uint64 * 3)(), _Spent()

    def end(self, label: int, cycles: int) -> tuple[Spent, ...]:
        """Gives the last label what is left of the core's cycles, without waiting, and returns what each spent."""
        hook_library().kibi_give_to_label(ctypes.byref(self._state), ctypes.c_uint32(label), ctypes.c_uint64(cycles))
        return tuple(Spent(each.cycles, Stalls(*each.stalls)) for each in self._spent)

    def fetch(self, address: int, size: int, now: int) -> int:
        """Cycles that the core waits for an instruction that it executes at a cycle."""
        return int(
            hook_library().kibi_wait_fetch(
                ctypes.byref(self._state), ctypes.c_uint32(address), ctypes.c_uint32(size), ctypes.c_uint64(now)
            )
        )

    def load(self, address: int, size: int, now: int) -> int:
        """Cycles that it waits for a load at a cycle."""
        data = ctypes.c_uint32(2)
        return int(
            hook_library().kibi_wait_load(
                ctypes.byref(self._state), ctypes.c_uint32(address), ctypes.c_uint32(size), data, ctypes.c_uint64(now)
            )
        )

    def _cache(self, cache: Cache | None, read_bytes: int) -> _Cache:
        if cache is None:
            return _Cache()
        lines = (_Line * cache.lines)()
        self._lines.append(lines)
        shift = (cache.line_bytes // read_bytes).bit_length() - 1
        return _Cache(ctypes.addressof(lines), cache.sets, cache.ways, shift, cache.in_turn)
