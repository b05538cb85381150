"""Records: fields of fixed sizes one after another, as files have them. The C structs and the documents are made from them.

Numbers are little-endian, and each begins at a multiple of its size.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kibi.errors import InternalError

_FORMATS = {"u8": "B", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "u8[32]": "32s"}
_C_TYPES = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "i16": "int16_t",
    "u32": "uint32_t",
    "i32": "int32_t",
    "f32": "float",
    "u8[32]": "uint8_t",
}
_BYTES = {"u8[32]": 32}
"""Types of several bytes that are no number: how many."""


@dataclass(frozen=True, slots=True)
class RecordField:
    """A field of a record.

    Attributes:
        name: in C and in Python.
        type: `u8`, `u16`, `i16`, `u32`, `i32`, `f32`, or `u8[32]`: 32 bytes.
        meaning: what it says, with unit and range.
    """

    name: str
    type: str
    meaning: str

    @property
    def size_bytes(self) -> int:
        """Its size."""
        return struct.calcsize(_FORMATS[self.type])

    @property
    def alignment(self) -> int:
        """It begins at a multiple of so many bytes: of its size, if it is a number."""
        return 1 if self.type in _BYTES else self.size_bytes

    @property
    def c_type(self) -> str:
        """Its type in C, or that of its elements."""
        return _C_TYPES[self.type]

    @property
    def elements(self) -> int | None:
        """How many elements it has in C; None for a number."""
        return _BYTES.get(self.type)


@dataclass(frozen=True, slots=True)
class Record:
    """A record: fields one after another, without gaps.

    Attributes:
        name: in C, with `kibi_file_` before it.
        about: what it describes.
        fields: in order.
    """

    name: str
    about: str
    fields: tuple[RecordField, ...]

    def __post_init__(self) -> None:
        """Checks that no compiler leaves a gap.

        Raises:
            InternalError: a field does not begin at a multiple of its size.
        """
        end = 0
        for each in self.fields:
            if end % each.alignment:
                raise InternalError(f"{self.name}.{each.name} begins at {end}, no multiple of its size")
            end += each.size_bytes
        if end % max(each.alignment for each in self.fields):
            raise InternalError(f"{self.name} has {end} bytes, no multiple of its alignment")

    @property
    def offsets(self) -> Mapping[str, int]:
        """The offset of each field, in bytes from the record's start."""
        places, end = {}, 0
        for each in self.fields:
            places[each.name] = end
            end += each.size_bytes
        return places

    @property
    def size_bytes(self) -> int:
        """Bytes of the record."""
        return sum(each.size_bytes for each in self.fields)

    def packed(self, **values: float | bytes) -> bytes:
        """Returns the bytes of a record with these values.

        Raises:
            InternalError: a field has no value or an unknown name, or a number does not fit.
        """
        names = [each.name for each in self.fields]
        if values.keys() != set(names):
            raise InternalError(f"{self.name} has other fields: {', '.join(sorted(values.keys() ^ set(names)))}")
        try:
            return struct.pack("<" + "".join(_FORMATS[each.type] for each in self.fields), *map(values.get, names))
        except struct.error as error:
            raise InternalError(f"{self.name}: {error}") from None

    def read(self, data: bytes | memoryview, offset: int) -> dict[str, Any]:
        """Returns the values of the record at an offset; the caller has checked that it is inside the data."""
        values = struct.unpack_from("<" + "".join(_FORMATS[each.type] for each in self.fields), data, offset)
        return dict(zip((each.name for each in self.fields), values, strict=True))


def fields(*rows: tuple[str, str, str]) -> tuple[RecordField, ...]:
    """Returns fields by their names, types and meanings."""
    return tuple(RecordField(*row) for row in rows)
