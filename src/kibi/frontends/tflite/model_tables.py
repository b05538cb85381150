"""Checked positions of a model file's tables and vectors, for code that works on the file and not on its meaning.

Source of the slots: TensorFlow's `tensorflow/compiler/mlir/lite/schema/schema.fbs`; a field's slot is 4 and twice its
number in the table.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from flatbuffers import number_types

from kibi.errors import ModelError, Problem
from kibi.frontends.formats import describe
from kibi.frontends.tflite.flatbuffer import Budget, CheckedTable, CorruptError, OverlapError, reading
from kibi.frontends.tflite.reader import IDENTIFIER

GET_AGAIN = "Export the model again, or download it again"


class ModelSlot(IntEnum):
    """Fields of the table `Model`."""

    VERSION = 4
    OPERATOR_CODES = 6
    SUBGRAPHS = 8
    DESCRIPTION = 10
    BUFFERS = 12
    METADATA_BUFFER = 14
    METADATA = 16
    SIGNATURE_DEFS = 18
    BEHIND = 20
    """The first that the schema did not have when this was written."""


class SubgraphSlot(IntEnum):
    """Fields of the table `SubGraph`."""

    TENSORS = 4
    INPUTS = 6
    OUTPUTS = 8
    OPERATORS = 10


class TensorSlot(IntEnum):
    """Fields of the table `Tensor`."""

    SHAPE = 4
    TYPE = 6
    BUFFER = 8
    NAME = 10
    IS_VARIABLE = 14
    SHAPE_SIGNATURE = 18


class OperatorSlot(IntEnum):
    """Fields of the table `Operator`."""

    INPUTS = 6
    OUTPUTS = 8


class BufferSlot(IntEnum):
    """Fields of the table `Buffer`."""

    DATA = 4
    OFFSET = 6
    SIZE = 8


class MetadataSlot(IntEnum):
    """Fields of the table `Metadata`."""

    NAME = 4
    BUFFER = 6


class ModelTables:
    """The tables of one file. All methods raise `CorruptError` or `OverlapError` where the bytes are no sound flatbuffer."""

    def __init__(self, data: bytes) -> None:
        """Enters the root table of a file's contents."""
        self.data = data
        self._budget = Budget(len(data))
        with reading():
            self.model = CheckedTable(data, int.from_bytes(data[:4], "little"), self._budget)

    def reference(self, table: CheckedTable, slot: int) -> int | None:
        """The position that a field refers to; None where the file leaves the field out."""
        offset = table.Offset(slot)
        return int(table.Indirect(table.Pos + offset)) if offset else None

    def number(self, table: CheckedTable, slot: int, flags: type, default: int = 0) -> int:
        """The integer in a field."""
        return table.integer(slot, flags, default)

    def text(self, table: CheckedTable, slot: int) -> bytes:
        """The text in a field; empty where the file leaves it out."""
        offset = table.Offset(slot)
        return bytes(table.String(table.Pos + offset)) if offset else b""

    def entries(self, table: CheckedTable, slot: int) -> list[int]:
        """The positions of the references in a field that is a vector of tables."""
        offset = table.Offset(slot)
        if not offset:
            return []
        count = table.VectorLen(offset)
        start = table.Vector(offset)
        return [start + 4 * number for number in range(count)]

    def children(self, table: CheckedTable, slot: int) -> list[CheckedTable]:
        """The tables in a field that is a vector of tables."""
        return [CheckedTable(self.data, table.Indirect(entry), self._budget) for entry in self.entries(table, slot)]

    def integers_at(self, table: CheckedTable, slot: int) -> tuple[int, int]:
        """The position of the first of the 32-bit integers in a field, and their number; 0, 0 where the file leaves it out."""
        offset = table.Offset(slot)
        return (table.Vector(offset), table.VectorLen(offset)) if offset else (0, 0)

    def child(self, table: CheckedTable, entry: int) -> CheckedTable:
        """The table that a reference at a position leads to."""
        return CheckedTable(self.data, table.Indirect(entry), self._budget)

    def bytes_of(self, buffer: CheckedTable) -> bytes:
        """The data of a buffer; empty where it has none."""
        offset = buffer.Offset(BufferSlot.DATA)
        if not offset:
            return b""
        return buffer.GetVectorAsNumpy(number_types.Uint8Flags, offset).tobytes()


@contextmanager
def located(data: bytes, source: str) -> Iterator[None]:
    """Converts problems of a file's bytes into an error that names the file.

    Raises:
        ModelError: the file is of another format, or corrupt.
    """
    if data[4:8] != IDENTIFIER:
        raise ModelError(source, [describe(data, source)])
    try:
        with reading():
            yield
    except (CorruptError, OverlapError) as error:
        raise ModelError(source, [Problem(f"the flatbuffer is corrupt: {error}", GET_AGAIN)]) from error
