"""Programs by hand in C, driven from Python: contexts, tensors of all kinds, and calls that must report what they return."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import TensorType
from tests.eager_c.library import CArena, CHandle, CHistory


def at(array: NDArray[np.generic]) -> ctypes.c_void_p:
    """The address of an array's elements."""
    return ctypes.c_void_p(array.ctypes.data)


class Channel(ctypes.Structure):
    """`kibi_channel`."""

    _fields_ = (("scale", ctypes.c_float), ("zero_point", ctypes.c_int32))


class CType(ctypes.Structure):
    """`kibi_tensor_type`."""

    _fields_ = (
        ("dimensions", ctypes.c_uint32 * 4),
        ("quantization", ctypes.c_void_p),
        *((name, ctypes.c_uint8) for name in ("rank", "dtype", "quantized_axis", "is_per_channel")),
    )

    @staticmethod
    def of(kind: TensorType) -> "CType":
        """The type, of at most 4 axes."""
        made = CType((ctypes.c_uint32 * 4)(*kind.shape), None, len(kind.shape), tuple(DType).index(kind.dtype))
        if kind.quantization is not None:
            scales, zero_points = kind.quantization.scales, kind.quantization.zero_points
            channels = (Channel * len(scales))(*map(Channel, scales, zero_points))
            made.quantization = ctypes.addressof(channels)
            made.quantized_axis = kind.quantization.axis
            made.is_per_channel = len(scales) > 1
            made.channels = channels
        return made


class CContext(ctypes.Structure):
    """`kibi_context`."""

    _fields_ = (("metadata", ctypes.c_void_p), ("ram", ctypes.c_void_p), ("handler", ctypes.c_void_p))


class Data(ctypes.Structure):
    """`kibi_rom_tensor` and `kibi_buffer_tensor`."""

    _fields_ = (("access", ctypes.c_void_p), ("type", ctypes.c_void_p), ("data", ctypes.c_void_p))


class Ram(ctypes.Structure):
    """`kibi_ram_tensor`."""

    _fields_ = (("access", ctypes.c_void_p), ("type", ctypes.c_void_p), ("handle", CHandle))


class Row(ctypes.Structure):
    """`kibi_row_tensor`."""

    _fields_ = (*Data._fields_, ("offsets", ctypes.c_void_p), ("slots", ctypes.c_uint32), ("next", ctypes.c_uint32))


SOURCE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)


class Camera(ctypes.Structure):
    """`kibi_camera_tensor`."""

    _fields_ = (
        *Data._fields_[:2],
        ("source", SOURCE),
        ("state", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("slots", ctypes.c_uint32),
        ("next", ctypes.c_uint32),
    )


class Device(ctypes.Structure):
    """`kibi_device`."""

    _fields_ = (("read", READ), ("write", READ), ("state", ctypes.c_void_p))


class File(ctypes.Structure):
    """`kibi_file_tensor`."""

    _fields_ = (*Data._fields_[:2], ("device", ctypes.c_void_p), ("offset", ctypes.c_uint32))


class Program:
    """A context, and tensors in it."""

    def __init__(self, loaded: ctypes.CDLL, metadata_bytes: int = 256, ram_bytes: int = 256) -> None:
        self.library = loaded
        self.metadata, self.ram = (CArena(loaded, "handle_arena", size, 8) for size in (metadata_bytes, ram_bytes))
        self.history = CHistory(loaded)
        handler = ctypes.addressof(self.history.memory)
        arenas = (ctypes.addressof(each.memory) for each in (self.metadata, self.ram))
        self.context = CContext(*arenas, handler)
        self._kept: list[object] = []

    def keep(self, thing: ctypes.Structure | ctypes.Array[ctypes.c_char]) -> int:
        """The address of something that lives as long as the program."""
        self._kept.append(thing)
        return ctypes.addressof(thing)

    def access(self, kind: str) -> int:
        """The address of a kind's table of functions."""
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, f"kibi_{kind}_access"))

    def call(self, name: str, tensor: ctypes.Structure, *arguments: object) -> int:
        """The status of a function; its event agrees."""
        function = self.library[f"kibi_{name}"]
        return int(function(ctypes.byref(self.context), ctypes.byref(tensor), *arguments))

    def check(self, status: int, expected: int, *names: str) -> None:
        """A call had that status, and reported that."""
        assert status == expected
        assert tuple(self.history.new()) == names

    def keep_handle(self) -> CHandle:
        """A new handle that lives as long as the program."""
        handle = CHandle()
        self._kept.append(handle)
        return handle
