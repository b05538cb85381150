"""Two slots for checkpoints, in Python."""

import ctypes
from dataclasses import dataclass, field
from typing import Protocol

CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32
)


class _Callable(Protocol):
    def call(self, function: str, *arguments: object) -> int: ...


class Functions(ctypes.Structure):
    """`kibi_slots`."""

    _fields_ = (("context", ctypes.c_void_p), ("write", CALLBACK), ("read", CALLBACK))


@dataclass
class Slots:
    """Two slots in Python.

    Attributes:
        size_bytes: of each.
        fails_after: a write or a read fails when so many bytes of them have gone through.
        reads_left: so many reads do not fail.
        data: their bytes.
    """

    size_bytes: int
    fails_after: int = 1 << 30
    reads_left: int = 1 << 30
    data: list[bytearray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = self.data or [bytearray(b"\xff" * self.size_bytes) for _ in range(2)]
        self.functions = Functions(None, CALLBACK(self._write), CALLBACK(self._read))

    def _write(self, _context: int, slot: int, offset: int, data: int, size: int) -> int:
        some = min(size, self.fails_after)
        self.fails_after -= some
        assert offset + size <= self.size_bytes
        self.data[slot][offset : offset + some] = ctypes.string_at(data, some)
        return int(some < size)

    def _read(self, _context: int, slot: int, offset: int, data: int, size: int) -> int:
        self.reads_left -= 1
        if self.reads_left < 0 or offset + size > self.size_bytes or self.fails_after < size:
            return 1
        ctypes.memmove(data, bytes(self.data[slot][offset : offset + size]), size)
        return 0

    def call(self, engine: _Callable, function: str) -> int:
        """The status of a function that takes slots."""
        return engine.call(function, ctypes.byref(self.functions))

    def copy(self) -> "Slots":
        """Slots with the same bytes."""
        return Slots(self.size_bytes, data=[bytearray(each) for each in self.data])
