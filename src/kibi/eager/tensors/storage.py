"""The bytes of tensors: a block that the RAM arena may move, or bytes that do not move."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.eager.memory import Handle
from kibi.eager.memory.lent import NotBytesError, lent_bytes
from kibi.errors import InputError

Bytes = NDArray[np.uint8]
ByteSource = bytes | bytearray | memoryview | NDArray[Any]
"""A caller-owned object that lends its bytes."""


class Storage(ABC):
    """Bytes in one piece."""

    @abstractmethod
    def held(self) -> Any:
        """Returns a context manager that gives the bytes, `[size_bytes]`, and holds them in place."""

    def release(self) -> None:
        """Frees the bytes, if this tensor owns them."""
        return

    def read(self, offset: int, size_bytes: int) -> bytes:
        """A copy of some of the bytes."""
        with self.held() as memory:
            data: bytes = memory[offset : offset + size_bytes].tobytes()
            del memory
        return data

    def write(self, offset: int, data: bytes) -> None:
        """Replaces some of the bytes."""
        with self.held() as memory:
            memory[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
            del memory


class StillBytes(Storage):
    """Bytes that do not move."""

    def __init__(self, memory: Bytes) -> None:
        self._memory = memory

    @contextmanager
    def held(self) -> Iterator[Bytes]:
        """The bytes themselves."""
        yield self._memory


class ArenaBlock(Storage):
    """A block of an arena, which may move.

    It is not pinned longer than an access takes, so that the arena can move it in between.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @property
    def handle(self) -> Handle:
        """The block's only name."""
        return self._handle

    @contextmanager
    def held(self) -> Iterator[Bytes]:
        """The bytes, pinned."""
        with self._handle.pin() as view:
            memory = np.frombuffer(view, np.uint8)
            yield memory
            del memory

    def release(self) -> None:
        """Frees the block.

        Raises:
            EventError: it is pinned.
        """
        self._handle.free()

    def read(self, offset: int, size_bytes: int) -> bytes:
        """A copy of some of the bytes."""
        with self._handle.pin() as view:
            return bytes(view[offset : offset + size_bytes])

    def write(self, offset: int, data: bytes) -> None:
        """Replaces some of the bytes."""
        with self._handle.pin() as view:
            view[offset : offset + len(data)] = data


def borrowed_bytes(source: ByteSource, size_bytes: int, *, writable: bool) -> Bytes:
    """The first bytes of a buffer, without a copy.

    Args:
        source: a buffer whose bytes are in one piece.
        size_bytes: how many bytes are needed.
        writable: True if they must be writable; if not, they come read-only.

    Raises:
        InputError: there are fewer, they are not in one piece, or they are read-only.
    """
    try:
        given = lent_bytes(source)
    except NotBytesError as error:
        raise InputError(
            f"the buffer cannot be used as bytes: {error}. Give one whose bytes are in one piece."
        ) from None
    if len(given) < size_bytes:
        raise InputError(f"the buffer has {len(given)} bytes, the tensor {size_bytes}. Give a larger one.")
    if writable and not given.flags.writeable:
        raise InputError("the buffer is read-only. Give a writable one, or make a RomTensor of it.")
    memory = given[:size_bytes]
    if not writable:
        memory = memory.view()
        memory.flags.writeable = False
    return memory
