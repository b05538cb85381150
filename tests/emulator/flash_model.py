"""The memory interface of `waits.c`, once more and as plainly as possible: dictionaries and lists, and no speed."""

from dataclasses import dataclass, field

from kibi.targets import Cache, Memory


@dataclass
class PlainCache:
    """Sets of lines, the one that was used last at the end; a line is its tag and the reads that it holds."""

    shape: Cache | None
    read_bytes: int
    sets: dict[int, list[tuple[int, set[int]]]] = field(default_factory=dict)

    def held(self, address: int) -> bool:
        """True if the bytes of a read are there."""
        return any(
            address // self.read_bytes in reads for tag, reads in self._set(address) if tag == self._tag(address)
        )

    def use(self, address: int) -> bool:
        """The same, after which they are there."""
        if self.shape is None:
            return False
        was_held = self.held(address)
        lines, tag = self._set(address), self._tag(address)
        reads = next((reads for each, reads in lines if each == tag), set[int]())
        if reads and self.shape.in_turn:
            reads.add(address // self.read_bytes)
            return was_held
        lines[:] = [line for line in lines if line[0] != tag]
        lines.append((tag, reads | {address // self.read_bytes}))
        del lines[: -self.shape.ways]
        return was_held

    def _tag(self, address: int) -> int:
        return 0 if self.shape is None else address // self.shape.line_bytes

    def _set(self, address: int) -> list[tuple[int, set[int]]]:
        return [] if self.shape is None else self.sets.setdefault(self._tag(address) % self.shape.sets, [])


class PlainFlash:
    """What a core waits for a flash with such an interface."""

    def __init__(self, memory: Memory, clock_hz: int, first: int, end: int) -> None:
        self.memory, self.first, self.end = memory, first, end
        self.read_cycles = 1 + memory.wait_states(clock_hz)
        shape = memory.unified_cache or memory.instruction_cache
        self.instructions = PlainCache(shape, memory.read_bytes)
        self.data = self.instructions if memory.unified_cache else PlainCache(memory.data_cache, memory.read_bytes)
        self.busy_until = 0
        self.current: int | None = None
        self.ahead: tuple[int, int] | None = None

    def fetch(self, address: int, size: int, now: int) -> int:
        """Cycles for an instruction."""
        reads = range(address // self.memory.read_bytes, (address + size - 1) // self.memory.read_bytes + 1)
        if list(reads) == [self.current]:
            return 0
        if not self.first <= address < self.end:
            self.current = None
            return 0
        waited = 0
        for read in reads:
            if read == self.current:
                continue
            place = read * self.memory.read_bytes
            if self.ahead is not None and self.ahead[0] == read:
                late = max(0, self.ahead[1] - 1 - now - waited)
                waited += late
                if late:
                    self.instructions.use(place)
            elif not self.instructions.use(place):
                waited += self._read(now + waited) + self.memory.miss_cycles
            self.current = read
            following = place + self.memory.read_bytes
            is_begun = self.ahead is not None and self.ahead[0] == read + 1
            if self.memory.has_prefetch and not is_begun and not self.instructions.held(following):
                self._read(now + waited)
                self.ahead = read + 1, self.busy_until
        return waited

    def load(self, address: int, size: int, now: int) -> int:
        """Cycles for a load."""
        if not self.first <= address < self.end:
            return 0
        step = self.memory.read_bytes if self.data.shape else 4
        waited = 0
        for place in range(address // step * step, address + size, step):
            if not self.data.use(place):
                words_before = max(0, place - address) // 4
                waited += self._read(now + waited + words_before) + self.memory.miss_cycles
        return waited

    def _read(self, now: int) -> int:
        """Begins a read when the flash is free; returns what an access waits beyond its own cycle."""
        self.busy_until = max(now, self.busy_until) + self.read_cycles
        return self.busy_until - now - 1
