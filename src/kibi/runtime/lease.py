"""Leases of caller-owned bytes: interpreters that share an arena notice that another one has used it in between."""

from threading import Lock
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

_LOCK = Lock()


class Lease:
    """The right of one interpreter to the bytes of its arena, until another one begins an inference in them.

    Args:
        memory: the bytes.
        holder: the name of what runs in them, for errors.
    """

    def __init__(self, memory: NDArray[np.uint8], holder: str) -> None:
        self.holder = holder
        self.taken_by: str | None = None
        self._places = range(int(memory.ctypes.data), int(memory.ctypes.data) + len(memory))
        with _LOCK:
            _LEASES.add(self)

    def shares(self, places: range) -> bool:
        """True if some of its bytes are at these addresses."""
        return self._places.start < places.stop and places.start < self._places.stop

    def take(self) -> None:
        """Takes the bytes; every other lease of some of them is lost."""
        with _LOCK:
            for other in _LEASES:
                if other is not self and other.shares(self._places):
                    other.taken_by = self.holder
            self.taken_by = None


_LEASES: WeakSet[Lease] = WeakSet()
"""All leases of interpreters that exist."""
