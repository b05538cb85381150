"""Checked access to a flatbuffer under the schema's generated code.

The generated classes of the package `tflite` read through one object, their `_tab`, and trust every number in the file.
`enter` puts a `CheckedTable` there: it looks at each position, its sign and its range before it is read, and it counts
what is read, so that a file whose tables overlap (each of a thousand references may point to the same megabyte) ends in
an error instead of taking time and memory out of proportion to its size.

Source of the format: https://flatbuffers.dev/internals/.
"""

# ruff: noqa: N802 - the methods are named as those of `flatbuffers.table.Table`, which the generated code calls
# ruff: noqa: SLF001 - `_tab` is where the generated code keeps its table; it has no public name

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from flatbuffers.table import Table

from kibi.dtypes import Array

_Object = TypeVar("_Object")
# A sound file is read about once; writers that share equal strings, vectors and tables make it a few times.
_READS_PER_BYTE = 8
_FREE_BYTES = 1 << 16
# What a table counts for, whatever its size: the work of entering it.
_TABLE_BYTES = 64
# The smallest table there is: a list of no fields (its own size, the table's size), and the distance back to it.
_EMPTY_TABLE = struct.pack("<HHi", 4, 4, 4)


class CorruptError(Exception):
    """The bytes are no valid flatbuffer; the importer converts this error into a located problem."""


class OverlapError(Exception):
    """Tables, vectors or strings overlap many times over; the whole file is refused, whatever was read of it."""


class Budget:
    """The number of bytes that may still be read from one file."""

    __slots__ = ("_left_bytes",)

    def __init__(self, file_bytes: int) -> None:
        self._left_bytes = _READS_PER_BYTE * file_bytes + _FREE_BYTES

    def spend(self, count: int) -> None:
        """Counts bytes as read.

        Raises:
            OverlapError: more was read than any sound file of that size holds.
        """
        self._left_bytes -= count
        if self._left_bytes < 0:
            raise OverlapError("its tables, vectors or strings overlap many times over")


def _inside(data: bytes, position: int, count: int, what: str) -> int:
    """The position itself, where `count` bytes from there on are inside the file."""
    if not 0 <= position <= len(data) - count:
        raise CorruptError(f"{what} of {count} bytes at byte {position} is outside the file of {len(data)} bytes")
    return position


class CheckedTable(Table):  # type: ignore[misc] # flatbuffers has no type annotations
    """One table of a flatbuffer; stands in for `flatbuffers.table.Table` under an object of the generated code."""

    __slots__ = ("_budget", "_fields", "_fields_bytes")

    def __init__(self, data: bytes, position: int, budget: Budget) -> None:
        """Checks the table's list of fields (its vtable).

        Args:
            data: the contents of the file.
            position: the table's first byte.
            budget: the bytes that may still be read.

        Raises:
            CorruptError: the table or its list of fields is not wholly inside the file.
            OverlapError: the budget is spent; so in all that read.
        """
        super().__init__(data, _inside(data, position, 4, "a table"))
        self._budget = budget
        budget.spend(_TABLE_BYTES)
        (distance,) = struct.unpack_from("<i", data, position)
        self._fields: int = position - distance
        (self._fields_bytes,) = struct.unpack_from(
            "<H", data, _inside(self.Bytes, self._fields, 4, "a table's list of fields")
        )
        if self._fields_bytes < 4 or self._fields_bytes % 2:
            raise CorruptError(f"the list of fields at byte {self._fields} has the size {self._fields_bytes}")
        _inside(self.Bytes, self._fields, self._fields_bytes, "a table's list of fields")

    def Offset(self, vtableOffset: int) -> int:  # noqa: N803 - the generated code's name
        """Returns the offset of a field from the start of the table; 0 if the file leaves it out."""
        if vtableOffset >= self._fields_bytes:
            return 0
        (offset,) = struct.unpack_from("<H", self.Bytes, self._fields + vtableOffset)
        return int(offset)

    def Get(self, flags: Any, off: int) -> Any:
        """The number at a position."""
        _inside(self.Bytes, off, flags.bytewidth, "a number")
        return flags.py_type(flags.packer_type.unpack_from(self.Bytes, off)[0])

    def Indirect(self, off: int) -> int:
        """The position that the reference at a position leads to."""
        (distance,) = struct.unpack_from("<I", self.Bytes, _inside(self.Bytes, off, 4, "a reference"))
        return _inside(self.Bytes, off + int(distance), 4, "what a reference leads to")

    def Union(self, t2: Table, off: int) -> None:
        """Enters the table of a union field as a plain table; `enter` checks it once its kind is known."""
        t2.Bytes, t2.Pos = self.Bytes, self.Indirect(self.Pos + off)

    def String(self, off: int) -> bytes:
        """The text whose reference is at a position."""
        start, count = self._vector(off, 1)
        self._budget.spend(count)
        return bytes(self.Bytes[start : start + count])

    def Vector(self, off: int) -> int:
        """Position of the first element of the vector in a field."""
        return self._vector(self.Pos + off, 1)[0]

    def VectorLen(self, off: int) -> int:
        """Number of tables in the vector in a field.

        The reader asks for the length of vectors of tables alone, four bytes for each; numbers come as arrays.
        """
        return self._vector(self.Pos + off, 4)[1]

    def GetVectorAsNumpy(self, flags: Any, off: int) -> Array:
        """The vector of numbers in a field, `[N]`: a read-only view of the file."""
        start, count = self._vector(self.Pos + off, flags.bytewidth)
        if flags.bytewidth > 1:  # bytes are the constants' data, which stay views; all else becomes Python's numbers
            self._budget.spend(count * flags.bytewidth)
        array: Array = super().GetArrayAsNumpy(flags, start, count)
        return array

    def _vector(self, reference: int, element_bytes: int) -> tuple[int, int]:
        """Position of the first element, and number of elements, of the vector whose reference is at a position."""
        position = self.Indirect(reference)
        (count,) = struct.unpack_from("<I", self.Bytes, position)
        return _inside(self.Bytes, position + 4, int(count) * element_bytes, "a vector"), int(count)

    def integer(self, slot: int, flags: Any, default: int) -> int:
        """The integer in a field by its place in the list of fields; for what the generated code gives otherwise."""
        offset = self.Offset(slot)
        return int(self.Get(flags, self.Pos + offset)) if offset else default

    def number(self, slot: int, kind: str, default: int = 0) -> int:
        """The integer in a field of a schema that has no generated code here; `kind` is `struct`'s letter for it."""
        offset = self.Offset(slot)
        if not offset:
            return default
        place = _inside(self.Bytes, self.Pos + offset, struct.calcsize(f"<{kind}"), "a number")
        return int(struct.unpack_from(f"<{kind}", self.Bytes, place)[0])

    def tables(self, slot: int) -> "Iterator[CheckedTable]":
        """The tables of the vector in such a field; none where the file leaves it out."""
        offset = self.Offset(slot)
        if offset:
            start, count = self._vector(self.Pos + offset, 4)
            for position in range(start, start + 4 * count, 4):
                yield CheckedTable(self.Bytes, self.Indirect(position), self._budget)


def enter(item: _Object, budget: Budget) -> _Object:
    """The same object of the generated code, from now on reading through a checked table.

    Raises:
        CorruptError: its table is not wholly inside the file.
    """
    table = item._tab  # type: ignore[attr-defined]
    item._tab = CheckedTable(table.Bytes, table.Pos, budget)  # type: ignore[attr-defined]
    return item


def empty(item: _Object) -> _Object:
    """The same object of the generated code on a table without fields: it gives the schema's defaults."""
    item._tab = CheckedTable(_EMPTY_TABLE, 4, Budget(0))  # type: ignore[attr-defined]
    return item


@contextmanager
def reading() -> Iterator[None]:
    """Converts any other exception of the generated code, on bytes that passed the checks here, into `CorruptError`."""
    try:
        yield
    except (struct.error, IndexError, TypeError, ValueError, OverflowError) as error:
        raise CorruptError(f"the schema's reader failed: {error}") from error
