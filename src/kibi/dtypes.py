"""Element types and their tags, the same everywhere: `s8 u8 s16 s32 u32 s64 u64 f32 bool`."""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]


class DType(Enum):
    """An element type; its value is the tag that names and messages use."""

    S8 = "s8"
    U8 = "u8"
    S16 = "s16"
    S32 = "s32"
    U32 = "u32"
    S64 = "s64"
    U64 = "u64"
    F32 = "f32"
    BOOL = "bool"

    def __str__(self) -> str:
        return self.value

    @property
    def word(self) -> str:
        """The name that texts for people have: `int8`, `uint8`, `float32`, `bool`."""
        return str(self.numpy.name)

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy type of one element, little-endian as on the device."""
        return _NUMPY[self]

    @property
    def size_bytes(self) -> int:
        """Bytes of one element."""
        return self.numpy.itemsize

    @property
    def c(self) -> str:
        """The C99 type of one element."""
        return _C[self]

    @property
    def is_integer(self) -> bool:
        """True if elements are integers (`bool` is not)."""
        return self not in (DType.F32, DType.BOOL)

    @property
    def limits(self) -> tuple[int, int]:
        """The closed range `(lowest, highest)` of an integer type.

        Raises:
            ValueError: the type is not an integer one.
        """
        if not self.is_integer:
            raise ValueError(f"{self} has no integer range")
        bits = 8 * self.size_bytes
        is_signed = self.value.startswith("s")
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)

    @classmethod
    def of(cls, array: Array) -> "DType":
        """The tag of an array's element type.

        Raises:
            KeyError: the array's type has no tag.
        """
        return _BY_NUMPY[np.dtype(array.dtype).newbyteorder("<").str]


_NUMPY: dict[DType, np.dtype[np.generic]] = {
    DType.S8: np.dtype("<i1"),
    DType.U8: np.dtype("<u1"),
    DType.S16: np.dtype("<i2"),
    DType.S32: np.dtype("<i4"),
    DType.U32: np.dtype("<u4"),
    DType.S64: np.dtype("<i8"),
    DType.U64: np.dtype("<u8"),
    DType.F32: np.dtype("<f4"),
    DType.BOOL: np.dtype("?"),
}
_C = {
    DType.S8: "int8_t",
    DType.U8: "uint8_t",
    DType.S16: "int16_t",
    DType.S32: "int32_t",
    DType.U32: "uint32_t",
    DType.S64: "int64_t",
    DType.U64: "uint64_t",
    DType.F32: "float",
    DType.BOOL: "uint8_t",
}
_BY_NUMPY = {np.dtype(kind).newbyteorder("<").str: tag for tag, kind in _NUMPY.items()}
