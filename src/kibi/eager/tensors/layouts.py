"""The layout, and so the size, of descriptors on the device: C structs for a 32-bit processor.

Two parts describe a tensor. Its *type* (`kibi_tensor_type`, and a `kibi_channel` or more where it is quantized) never changes: of a
tensor that a model knows it is constant data in flash and costs no RAM; of one that a program makes up it takes metadata. Its
*descriptor*, one struct for each class of tensors, says how its bytes are reached. All begin with a pointer to constant
functions (`access`) and one to the type, which is null if the type is stored directly after the descriptor, so that both can be
moved together. Pointers into an arena are handles there: it keeps them true when it moves what they point to.
"""

import ctypes
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from kibi.dtypes import DType
from kibi.eager.shapes import STORED_DIMENSIONS, TensorShape
from kibi.eager.values import ByteOrder
from kibi.ir import TensorType


class Pointer(ctypes.c_uint32):
    """An address on the device."""


class TensorTypeLayout(ctypes.Structure):
    """Shape and element type.

    `dtype` counts through `kibi.dtypes.DType`. `quantization` is null if the tensor has none; else `is_per_channel` says
    whether it points to one `ChannelLayout`, or to one for each part along the quantized axis.
    """

    _fields_ = (
        ("dimensions", ctypes.c_uint32 * STORED_DIMENSIONS),
        ("quantization", Pointer),
        ("rank", ctypes.c_uint8),
        ("dtype", ctypes.c_uint8),
        ("quantized_axis", ctypes.c_uint8),
        ("is_per_channel", ctypes.c_uint8),
    )


class ChannelLayout(ctypes.Structure):
    """Affine quantization of one channel, or of a whole tensor."""

    _fields_ = (("scale", ctypes.c_float), ("zero_point", ctypes.c_int32))


class TensorLayout(ctypes.Structure):
    """The fields with which every descriptor begins; the simplest one has no others."""

    _fields_ = (("access", Pointer), ("type", Pointer))


class DataTensorLayout(ctypes.Structure):
    """Bytes in one piece that do not move: in ROM, or in the caller's buffer."""

    _fields_ = (("access", Pointer), ("type", Pointer), ("data", Pointer))


class RamTensorLayout(ctypes.Structure):
    """Bytes in the RAM arena, and their handle: the arena keeps `data` true when it moves them, which it does not while `pins`."""

    _fields_ = (("access", Pointer), ("type", Pointer), ("data", Pointer), ("pins", ctypes.c_uint32))


class RowTensorLayout(ctypes.Structure):
    """Rows in `data`: at `offsets`, a constant table, or where that is null in a ring of `slots`. `next` row to be written."""

    _fields_ = (
        ("access", Pointer),
        ("type", Pointer),
        ("data", Pointer),
        ("offsets", Pointer),
        ("slots", ctypes.c_uint32),
        ("next", ctypes.c_uint32),
    )


class CameraTensorLayout(ctypes.Structure):
    """Rows from the function `source`, called with `state`; the last `slots` of them in `data`. `next` row to come."""

    _fields_ = (
        ("access", Pointer),
        ("type", Pointer),
        ("source", Pointer),
        ("state", Pointer),
        ("data", Pointer),
        ("slots", ctypes.c_uint32),
        ("next", ctypes.c_uint32),
    )


class FileTensorLayout(ctypes.Structure):
    """Bytes on another chip: from `offset` on in `device`."""

    _fields_ = (("access", Pointer), ("type", Pointer), ("device", Pointer), ("offset", ctypes.c_uint32))


STRUCTS: Mapping[str, type[ctypes.Structure]] = {
    "kibi_tensor_type": TensorTypeLayout,
    "kibi_channel": ChannelLayout,
    "kibi_tensor": TensorLayout,
    "kibi_rom_tensor": DataTensorLayout,
    "kibi_buffer_tensor": DataTensorLayout,
    "kibi_ram_tensor": RamTensorLayout,
    "kibi_row_tensor": RowTensorLayout,
    "kibi_camera_tensor": CameraTensorLayout,
    "kibi_file_tensor": FileTensorLayout,
}
"""All layouts by their names in C."""

_C_TYPES: Mapping[type, tuple[str, str]] = {
    Pointer: ("void *", "I"),
    ctypes.c_float: ("float ", "f"),
    ctypes.c_uint8: ("uint8_t ", "B"),
    ctypes.c_uint32: ("uint32_t ", "I"),
    ctypes.c_int32: ("int32_t ", "i"),
}
"""The types in C, and in Python's `struct`."""
_DTYPE_NUMBERS = tuple(DType)


def layout_fields(layout: type[ctypes.Structure]) -> Iterator[tuple[str, Any, int]]:
    """Yields each field's name, its type in ctypes, and its length if it is an array, else 0."""
    for field in layout._fields_:
        kind: Any = field[1]
        yield (field[0], kind._type_, kind._length_) if issubclass(kind, ctypes.Array) else (field[0], kind, 0)


def c_declaration(name: str, layout: type[ctypes.Structure]) -> str:
    """The layout as a C99 struct."""
    lines = [
        f"    {_C_TYPES[kind][0]}{field}{f'[{length}]' if length else ''};"
        for field, kind, length in layout_fields(layout)
    ]
    return "\n".join([f"typedef struct {name} {{", *lines, f"}} {name};"]) + "\n"


def quantization_bytes(tensor_type: TensorType) -> int:
    """Bytes of the type's quantization as metadata; 0 without quantization."""
    if tensor_type.quantization is None:
        return 0
    return len(tensor_type.quantization.scales) * ctypes.sizeof(ChannelLayout)


def encode_type(tensor_type: TensorType, channels: int, byteorder: ByteOrder) -> bytes:
    """The type as the device has it.

    Args:
        tensor_type: of more than four dimensions the leading ones are joined.
        channels: the present address of its quantization, as a handle of the metadata arena; 0 without quantization.
        byteorder: the byte order of the device.

    Raises:
        InputError: a dimension cannot be stored.
    """
    shape = TensorShape.folded(tensor_type.shape)
    quantization = tensor_type.quantization
    axis = 0 if quantization is None else quantization.axis
    fields: dict[str, float | tuple[int, ...]] = {
        "dimensions": (*shape.dimensions, *(0,) * (STORED_DIMENSIONS - shape.rank)),
        "quantization": channels,
        "rank": shape.rank,
        "dtype": _DTYPE_NUMBERS.index(tensor_type.dtype),
        "quantized_axis": max(0, axis - (len(tensor_type.shape) - shape.rank)),
        "is_per_channel": quantization is not None and len(quantization.scales) > 1,
    }
    return encode_struct(TensorTypeLayout, fields, byteorder)


def encode_quantization(tensor_type: TensorType, byteorder: ByteOrder) -> bytes:
    """The type's quantization as on the device; no bytes without quantization."""
    quantization = tensor_type.quantization
    if quantization is None:
        return b""
    channels = zip(quantization.scales, quantization.zero_points, strict=True)
    return b"".join(
        encode_struct(ChannelLayout, {"scale": scale, "zero_point": zero_point}, byteorder)
        for scale, zero_point in channels
    )


def encode_struct(
    layout: type[ctypes.Structure], values: Mapping[str, float | tuple[int, ...]], byteorder: ByteOrder
) -> bytes:
    """A struct's bytes.

    Args:
        layout: the struct.
        values: the values by field; missing ones and gaps are 0.
        byteorder: the byte order of the device.
    """
    data = bytearray(ctypes.sizeof(layout))
    order = "<" if byteorder == "little" else ">"
    for name, kind, length in layout_fields(layout):
        if name in values:
            value = values[name]
            parts = value if isinstance(value, tuple) else (value,)
            code = f"{order}{length or 1}{_C_TYPES[kind][1]}"
            struct.pack_into(code, data, getattr(layout, name).offset, *parts)
    return bytes(data)
