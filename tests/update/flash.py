"""NOR flash that is simulated, and loses its power at a program or an erase; `flash.c` does the same, bit for bit."""

from dataclasses import dataclass, field

NEVER = 0xFFFFFFFF
_ERASED = 0xFF


@dataclass(slots=True)
class Flash:
    """Bytes of which programs clear bits, unit by unit, and erases set all, sector by sector.

    Attributes:
        size: in bytes: a multiple of `sector_bytes`.
        sector_bytes: are erased at once.
        unit_bytes: are programmed at once.
        has_ecc: True: a unit whose program was cut cannot be read until it is erased.
        random: the state of the generator for what a cut leaves.
        left: programs of a unit and erases until the power is cut in the middle of one; `NEVER`: it is not.
        operations: programs of a unit and erases that began.
        faults: out of bounds, off a unit or a sector, or programs of what is not erased.
        is_off: True: the power was cut, and nothing works.
        data: its bytes.
        torn: the units whose program was cut.
        wear: how often each sector was erased.
    """

    size: int
    sector_bytes: int
    unit_bytes: int
    has_ecc: bool = False
    random: int = 1
    left: int = NEVER
    operations: int = 0
    faults: int = 0
    is_off: bool = False
    data: bytearray = field(init=False)
    torn: set[int] = field(default_factory=set)
    wear: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Makes flash that is erased, and was never worn."""
        self.data = bytearray([_ERASED]) * self.size
        self.wear = [0] * (self.size // self.sector_bytes)

    def _drawn(self) -> int:
        self.random = (self.random * 1664525 + 1013904223) & 0xFFFFFFFF
        return self.random >> 24

    def _is_cut(self) -> bool:
        """Counts an operation: True if the power is cut in it."""
        self.operations += 1
        if self.left == NEVER:
            return False
        self.is_off = self.left == 0
        self.left -= self.left != 0
        return self.is_off

    def _is_inside(self, address: int, count: int, multiple: int) -> bool:
        is_right = address + count <= self.size and address % multiple == 0 and count % multiple == 0
        self.faults += not is_right
        return is_right

    def read(self, address: int, count: int) -> bytes | None:
        """Returns bytes; None if they cannot be read."""
        if self.is_off or not self._is_inside(address, count, 1):
            return None
        units = range(address // self.unit_bytes, -(-(address + count) // self.unit_bytes)) if count else range(0)
        if self.has_ecc and not self.torn.isdisjoint(units):
            return None
        return bytes(self.data[address : address + count])

    def program(self, address: int, data: bytes) -> bool:
        """Programs whole units that are erased; True if it was done."""
        if self.is_off or not self._is_inside(address, len(data), self.unit_bytes):
            return False
        for first in range(0, len(data), self.unit_bytes):
            cut, place = self._is_cut(), address + first
            self.faults += any(each != _ERASED for each in self.data[place : place + self.unit_bytes])
            for at in range(first, first + self.unit_bytes):
                self.data[address + at] &= data[at] | (self._drawn() if cut else 0)
            if cut:
                self.torn.add(place // self.unit_bytes)
                return False
        return True

    def erase(self, address: int) -> bool:
        """Erases a sector; True if it was done."""
        if self.is_off or not self._is_inside(address, self.sector_bytes, self.sector_bytes):
            return False
        self.wear[address // self.sector_bytes] += 1
        if self._is_cut():
            for at in range(address, address + self.sector_bytes):
                kind = self._drawn() & 3
                self.data[at] = self.data[at] if kind == 0 else _ERASED if kind == 1 else self._drawn()
            return False
        self.data[address : address + self.sector_bytes] = bytes([_ERASED]) * self.sector_bytes
        first = address // self.unit_bytes
        self.torn -= set(range(first, first + self.sector_bytes // self.unit_bytes))
        return True
