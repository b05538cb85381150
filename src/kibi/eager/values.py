"""Elements of tensors by reference, read and written with the type that the caller asks for.

After uTensor's `IntegralValue` (`src/uTensor/core/types.hpp`): the type is the reader's business. Of the bytes `de ad be ef`
read at the first element, one byte is 0xde; two are 0xadde on a little-endian device and 0xdead on a big-endian one.
"""

import math
import struct
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import DTypeLike

from kibi.dtypes import DType
from kibi.errors import InputError

ByteOrder = Literal["little", "big"]
_NUMPY_ORDER: dict[str, Literal["<", ">"]] = {"little": "<", "big": ">"}


class Place(Protocol):
    """A place of bytes."""

    def read_bytes(self, offset: int, size_bytes: int) -> bytes:
        """The bytes from an offset on.

        Raises:
            KibiError: the tensor does not have them.
        """

    def write_bytes(self, offset: int, data: bytes) -> None:
        """Puts bytes there from an offset on.

        Raises:
            KibiError: there is no room, or nobody may write.
        """


def ordered(kind: DType | DTypeLike, byteorder: ByteOrder) -> np.dtype[np.generic]:
    """The NumPy type with a byte order.

    Raises:
        InputError: it is none of booleans, integers and floats of at most 8 bytes.
    """
    try:
        given = kind.numpy if isinstance(kind, DType) else np.dtype(kind)
    except (TypeError, ValueError, SyntaxError, OverflowError) as error:
        raise InputError(
            f"{kind!r} is no type of elements: {error}. Use one of NumPy's, or of `kibi.dtypes`."
        ) from None
    if given.kind not in "biuf" or given.itemsize > 8:
        raise InputError(f"elements cannot be read or written as {given}. Use an integer or float of at most 8 bytes.")
    return given.newbyteorder(_NUMPY_ORDER[byteorder])


def encode(value: object, dtype: DType, byteorder: ByteOrder = "little") -> bytes:
    """Converts a value to bytes.

    Args:
        value: a Python number becomes an element of the tensor's type, and must be in its range; NumPy's scalars (but for
            float64, which is a Python float) are explicit casts, and keep their own width. An `IntegralValue` must be of the
            tensor's own type.
        dtype: the tensor's element type.
        byteorder: the byte order of the device.

    Raises:
        InputError: the value does not fit, or is no number.
    """
    if isinstance(value, IntegralValue):
        if value.dtype is not dtype:
            raise InputError(f"an element of {value.dtype} is not one of {dtype}. Cast it: value.read(numpy.uint8).")
        return encode(value.read(), dtype, byteorder)
    if isinstance(value, np.generic) and not isinstance(value, float):
        return np.array(value, ordered(value.dtype, byteorder)).tobytes()
    if isinstance(value, bool | int) and dtype.is_integer:
        low, high = dtype.limits
        if not low <= value <= high:
            raise InputError(f"{value} is no {dtype}, which is {low} to {high}. Cast it: numpy.uint8({value & 0xFF}).")
        return np.array(value, ordered(dtype, byteorder)).tobytes()
    if isinstance(value, bool) and dtype is DType.BOOL:
        return bytes([value])
    if isinstance(value, float | int) and dtype is DType.F32:
        try:
            return struct.pack(_NUMPY_ORDER[byteorder] + "f", value)
        except (OverflowError, struct.error):
            raise InputError(f"{value!r:.40} is beyond the largest f32.") from None
    raise InputError(f"{value!r} cannot be written to an element of {dtype}. Cast it, such as numpy.int8(…).")


def _as(kind: str) -> property:
    """A property that reads and writes an integer of its own width."""

    def read(value: "IntegralValue") -> int | float:
        scalar: int | float = value.read(kind).item()
        return scalar

    def write(value: "IntegralValue", number: object) -> None:
        value.write(number, kind)

    return property(read, write, doc=f"The bytes from here on as NumPy's {kind}.")


class IntegralValue:
    """A reference to one place of a tensor: it sees later writes, and writes through.

    `int(value)`, `float(value)` and `==` take it as an element of the tensor's type. `value.u16` and the like read as many
    bytes from its place on, whatever the tensor's type, and can be assigned to.

    Args:
        place: the place of the bytes.
        offset: the offset of the element, in bytes.
        dtype: the element's type.
        byteorder: the byte order of the device.
    """

    __slots__ = ("_byteorder", "_dtype", "_offset", "_place")
    u8, s8, u16, s16, u32, s32, f32 = map(_as, ("u1", "i1", "u2", "i2", "u4", "i4", "f4"))
    __hash__: ClassVar[None]  # type: ignore[assignment]  # the bytes there change

    def __init__(self, place: Place, offset: int, dtype: DType, byteorder: ByteOrder = "little") -> None:
        self._place = place
        self._offset = offset
        self._dtype = dtype
        self._byteorder: ByteOrder = byteorder

    @property
    def dtype(self) -> DType:
        """The element's type."""
        return self._dtype

    def read(self, kind: DType | DTypeLike | None = None) -> np.generic:
        """Returns the element as a NumPy scalar.

        Args:
            kind: read as many bytes as it has, from this place on; None: the element's type.

        Raises:
            KibiError: not all of those bytes belong to the tensor.
        """
        wanted = ordered(self._dtype if kind is None else kind, self._byteorder)
        data = self._place.read_bytes(self._offset, wanted.itemsize)
        scalar: np.generic = np.frombuffer(data, wanted)[0]
        return scalar  # which is in this machine's order: NumPy's scalars have no other

    def write(self, value: object, kind: DType | DTypeLike | None = None) -> None:
        """Writes to this place.

        Args:
            value: a number; see `encode`.
            kind: casts a Python number to that type, in whose range it must be; None: the element's.

        Raises:
            KibiError: the value does not fit, not all of the bytes belong to the tensor, or nobody may write.
        """
        order = self._byteorder
        data = encode(value, self._dtype, order) if kind is None else _cast(value, ordered(kind, order))
        self._place.write_bytes(self._offset, data)

    def __int__(self) -> int:
        return int(self.read())

    def __index__(self) -> int:
        if not self._dtype.is_integer:
            raise TypeError(f"an element of {self._dtype} is no index")
        return int(self)

    def __float__(self) -> float:
        return float(self.read())

    def __bool__(self) -> bool:
        return bool(self.read())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, IntegralValue):
            return bool(self.read() == other.read())
        return bool(self.read() == other) if isinstance(other, int | float | np.generic) else NotImplemented

    def __repr__(self) -> str:
        return f"<{self._dtype} at byte {self._offset}: {self.read()}>"


def _cast(value: object, kind: np.dtype[np.generic]) -> bytes:
    """A number's bytes as that type; integers must be in its range.

    Raises:
        InputError: they do not, or it is no number.
    """
    plain = value.read().item() if isinstance(value, IntegralValue) else value
    plain = plain.item() if isinstance(plain, np.generic) else plain
    if not isinstance(plain, int | float) or (kind.kind in "iub" and not isinstance(plain, int)):
        raise InputError(f"{value!r} cannot be written as {kind.name}. Round it first.")
    if kind.kind in "iu":
        bits = 8 * kind.itemsize - (kind.kind == "i")
        low, high = (-(1 << bits) if kind.kind == "i" else 0), (1 << bits) - 1
        if not low <= plain <= high:
            raise InputError(f"{plain} is no {kind.name}, which is {low} to {high}.")
    with np.errstate(over="ignore"):
        cast = np.array(plain, kind)
    if np.isinf(cast) and not math.isinf(plain):
        raise InputError(f"{plain} is beyond the largest {kind.name}.")
    return cast.tobytes()
