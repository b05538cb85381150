"""Blocks, the gaps between them, and their bytes."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibi.eager.memory.lent import NotBytesError, lent_bytes
from kibi.errors import ArenaError, InputError

if TYPE_CHECKING:
    from weakref import ref

    from kibi.eager.memory.handle import Handle

WritableBuffer = bytearray | memoryview | NDArray[Any]
"""The types that a caller may provide as an allocator's bytes."""


@dataclass(frozen=True, slots=True, order=True)
class ByteRange:
    """Neighbouring bytes.

    Attributes:
        offset: bytes from the start of the arena.
        size_bytes: how many.
    """

    offset: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.offset + self.size_bytes


@dataclass(slots=True, eq=False)
class Block:
    """An allocated block of bytes.

    Attributes:
        address: where it starts, in bytes from the start of the arena.
        size_bytes: as was asked for.
        handle: whom it belongs to, if anyone; the reference is weak.
        pins: with-blocks that hold it in place.
        views: what arrays hang on that were made from a pinned view and may outlive the pin.
    """

    address: int
    size_bytes: int
    handle: "ref[Handle] | None" = None
    pins: int = 0
    views: "list[ref[NDArray[np.uint8]]]" = field(default_factory=list)

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.address + self.size_bytes

    @property
    def owner(self) -> "Handle | None":
        """The handle that it is bound to, while that lives."""
        return None if self.handle is None else self.handle()

    def is_pinned(self) -> bool:
        """True if a pin, or an array made inside one, still shows its bytes."""
        if self.views:
            self.views = [view for view in self.views if view() is not None]
        return self.pins > 0 or bool(self.views)


@dataclass(frozen=True, slots=True)
class BlockState:
    """The state of a block at one moment.

    Attributes:
        address: where it starts, in bytes from the start of the arena.
        size_bytes: as was asked for.
        is_bound: True if it has a handle.
        is_pinned: True if it cannot move.
    """

    address: int
    size_bytes: int
    is_bound: bool
    is_pinned: bool


def align_up(value: int, alignment: int) -> int:
    """The next multiple at or above a value."""
    return -(-value // alignment) * alignment


def align_down(value: int, alignment: int) -> int:
    """The next multiple at or below a value."""
    return value // alignment * alignment


def gaps(taken: Iterable[tuple[int, int]], capacity_bytes: int) -> list[ByteRange]:
    """The gaps between half-open ranges (start, end), ascending; the ranges may overlap and come in any order."""
    free, cursor = [], 0
    for start, end in sorted(taken):
        if start > cursor:
            free.append(ByteRange(cursor, min(start, capacity_bytes) - cursor))
        cursor = max(cursor, end)
        if cursor >= capacity_bytes:
            return free
    return [*free, ByteRange(cursor, capacity_bytes - cursor)]


def first_fit(free: Iterable[ByteRange], size_bytes: int, alignment: int) -> int | None:
    """The lowest aligned address from which so many bytes are free, or None."""
    for region in free:
        address = align_up(region.offset, alignment)
        if address + size_bytes <= region.end:
            return address
    return None


def whole_number(value: object, name: str, least: int = 1) -> int:
    """Returns an argument that counts something, as an int.

    Raises:
        InputError: it is no whole number, or too small.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)  # type: ignore[arg-type]  # it is asked
    except TypeError:
        number = None
    if number is None or number < least:
        raise InputError(f"{name} is {value!r}. Give a whole number of at least {least}.")
    return number


def writable_bytes(memory: "int | WritableBuffer", alignment: int) -> NDArray[np.uint8]:
    """Returns a caller's bytes as an array, or new bytes that start at a multiple of `alignment`.

    Args:
        memory: a writable buffer whose bytes are in one piece, or how many bytes to make.
        alignment: in bytes, a power of two.

    Raises:
        InputError: it is no such buffer, read-only, empty, or the alignment is no power of two.
        ArenaError: the buffer does not start at a multiple of the alignment.
    """
    if whole_number(alignment, "alignment") & (alignment - 1):
        raise InputError(f"alignment is {alignment}. Give a power of two, in bytes.")
    if isinstance(memory, int | np.integer):
        size_bytes = whole_number(memory, "the arena's size in bytes")
        try:
            room = np.zeros(size_bytes + alignment, np.uint8)
        except (MemoryError, ValueError):
            raise InputError(f"this machine has no {size_bytes} bytes for an arena. Ask for fewer.") from None
        skip = -room.ctypes.data % alignment
        return room[skip : skip + size_bytes]
    try:
        array = lent_bytes(memory)
    except NotBytesError as error:
        raise InputError(
            f"the arena's memory is no block of bytes ({error}). Give a bytearray or a uint8 array."
        ) from None
    if not array.size:
        raise InputError("the arena's memory is empty. Give a bytearray or a uint8 array.")
    if not array.flags.writeable:
        raise InputError(f"the arena's {len(array)} bytes are read-only. Give a bytearray or a writable uint8 array.")
    missing = -array.ctypes.data % alignment
    if missing:
        what = f"the arena's memory does not start at a multiple of {alignment} bytes, but {missing} before one"
        raise ArenaError(what, len(array) + missing, len(array))
    return array
