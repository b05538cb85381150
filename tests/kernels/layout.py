"""Parameter structs as a 32-bit core lays them out."""

from collections.abc import Mapping, Sequence

from kibi.kernels import Field

_SIZES = {"int8_t": 1, "int16_t": 2, "int32_t": 4}


def struct_bytes(fields: Sequence[Field], values: Mapping[str, int]) -> bytes:
    """The bytes of a struct of pointers and integers: each field aligned to its size, and the whole to four."""
    data = b""
    for field in fields:
        size = 4 if field.is_pointer else _SIZES[field.type]
        data += bytes(-len(data) % size)
        data += (values[field.name] & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return data + bytes(-len(data) % 4)
