"""The interface of every tensor, wherever its bytes are."""

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from kibi.dtypes import Array, DType
from kibi.eager.context import Context, current_context
from kibi.eager.events import EventType
from kibi.eager.memory import Handle, Kind
from kibi.eager.memory.blocks import whole_number
from kibi.eager.memory.lent import NotBytesError, lent_bytes
from kibi.eager.notes import recorders
from kibi.eager.shapes import TensorShape
from kibi.eager.tensors.events import DirectAccessRefused, InvalidMemoryAccess, ReadOnlyTensor, TensorFreed
from kibi.eager.tensors.layouts import (
    TensorLayout,
    encode_quantization,
    encode_struct,
    encode_type,
    quantization_bytes,
)
from kibi.eager.values import IntegralValue, encode, ordered
from kibi.errors import InputError
from kibi.ir import Quantization, TensorType


class FastOperator(Protocol):
    """An operator that may be marked fast, and then reaches bytes directly."""

    @property
    def is_fast(self) -> bool:
        """True if the operator is marked fast."""


class TensorInterface(ABC):
    """A tensor: its type, and a way to its bytes. After uTensor's `TensorInterface` (`src/uTensor/core/tensorBase.hpp`).

    Everybody reads and writes elements (`t[y, x] = numpy.int8(3)`) and rows (`t.row(y)`, `t.write_row(y, values)`). Operators
    that are marked fast may ask for the bytes themselves, of tensors that have them in one piece, or those of one row.

    A tensor gives its metadata back with its last reference, with `free()`, or at the end of a with-block.

    To derive one, give `_load`, and `_store` where it can be written; `layout` where its descriptor holds more than the
    pointers to its functions and type; `_held` if its bytes are in one piece, `_held_row` if those of a row are. Neither may
    keep an array of pinned bytes after its `yield`: `del` it there, or the arena reports `PinOutlived`.

    Args:
        tensor_type: shape, element type, quantization. Of more than four dimensions the leading ones are joined.
        name: for messages.
        context: the context of the descriptor; None: the current one.
        constant_type: True if the type is known ahead of time, and so is stored in flash; else it takes metadata.

    Raises:
        InputError: the shape cannot be stored.
        EventError: the metadata arena has no room.
    """

    layout: ClassVar[type[ctypes.Structure]] = TensorLayout
    """The descriptor's struct on the device."""
    is_writable: bool = True
    """True if the tensor can be written."""
    is_fast: ClassVar[bool] = False
    """True if the bytes are in one piece, and operators that are marked fast can access them."""
    has_fast_rows: ClassVar[bool] = False
    """True if the bytes of each row are in one piece, and operators that are marked fast can access them."""

    def __init__(
        self, tensor_type: TensorType, *, name: str = "", context: Context | None = None, constant_type: bool = False
    ) -> None:
        self._type = tensor_type
        self._shape = TensorShape.folded(tensor_type.shape)
        self._name = name or type(self).__name__
        self._context = current_context() if context is None else context
        self._element = ordered(tensor_type.dtype, self._context.byteorder)
        self._is_freed = False
        self._metadata = self._describe(constant_type=constant_type)
        self._context.register(self)

    @property
    def type(self) -> TensorType:
        """Shape, element type, quantization."""
        return self._type

    @property
    def shape(self) -> TensorShape:
        """The shape as it is stored."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._type.dtype

    @property
    def quantization(self) -> Quantization | None:
        """The meaning of stored integers; None if they are not quantized."""
        return self._type.quantization

    @property
    def name(self) -> str:
        """The name that messages use."""
        return self._name

    @property
    def context(self) -> Context:
        """The context that the tensor belongs to."""
        return self._context

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return self._type.size_bytes

    @property
    def rows(self) -> int:
        """The number of rows; `kibi.ir.TensorType` defines a row."""
        return self._type.rows

    @property
    def metadata_bytes(self) -> int:
        """Bytes of descriptor, type and quantization in the metadata arena, without the arena's own headers."""
        return sum(handle.size_bytes for handle in self._metadata)

    @property
    def is_freed(self) -> bool:
        """True if it was freed, so that it can no longer be read or written."""
        return self._is_freed

    def free(self) -> None:
        """Frees what the tensor holds; a second call does nothing."""
        if not self._is_freed:
            self._is_freed = True
            self._context.unregister(self)
            for handle in self._metadata:
                self._context.release_metadata(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.free()

    def __getitem__(self, index: int | tuple[int, ...]) -> IntegralValue:
        """A reference to one element, to be read and written at any width.

        Args:
            index: one for each dimension; those left out at the end are 0. A single one is a linear index.

        Raises:
            EventError: it is out of range.
        """
        return IntegralValue(self, self._offset(index), self._type.dtype, self._context.byteorder)

    def __setitem__(self, index: int | tuple[int, ...], value: object) -> None:
        """Writes an element, or as many bytes as an explicit cast has: `t[0, 0] = numpy.uint16(0xADDE)`.

        Raises:
            InputError: the value does not fit the type and is not cast.
            EventError: the index is out of range, or the tensor cannot be written.
        """
        offset = self._offset(index)
        self.write_bytes(offset, encode(value, self._type.dtype, self._context.byteorder))

    def row(self, y: int) -> Array:
        """A copy of a row, of the shape `type.row_shape`, in this machine's byte order.

        Raises:
            EventError: there is no such row, or it is not there (any more).
        """
        size_bytes = self._type.row_bytes
        data = self.read_bytes(self._row_offset(y), size_bytes)
        return np.frombuffer(data, self._element).astype(self._type.dtype.numpy).reshape(self._type.row_shape)

    def write_row(self, y: int, values: ArrayLike) -> None:
        """Writes a row.

        Args:
            y: which.
            values: the elements of a row, of the tensor's element type.

        Raises:
            InputError: they are of another type or number.
            EventError: there is no such row, or the tensor cannot be written.
        """
        self.write_bytes(self._row_offset(y), self._encoded(values, self._type.row_elements, f"row {y}"))

    def to_array(self) -> Array:
        """A copy of all elements, of the tensor's shape, read row by row.

        Raises:
            EventError: a row is not there (any more).
        """
        return np.stack([self.row(y) for y in range(self.rows)]).reshape(self._type.shape)

    def assign(self, values: ArrayLike) -> None:
        """Writes all elements, row by row.

        Raises:
            InputError: they are of another type or number.
            EventError: the tensor cannot be written.
        """
        data = self._encoded(values, self._type.elements, "all rows")
        size_bytes = self._type.row_bytes
        for y in range(self.rows):
            self.write_bytes(y * size_bytes, data[y * size_bytes : (y + 1) * size_bytes])

    def read_bytes(self, offset: int, size_bytes: int) -> bytes:
        """A copy of bytes.

        Args:
            offset: from the first element on, in bytes, as if all rows were stored one after another.
            size_bytes: how many.

        Raises:
            EventError: they are not all the tensor's, or are not there (any more).
        """
        offset = whole_number(offset, "the offset", least=-(1 << 63))
        size_bytes = whole_number(size_bytes, "the number of bytes", least=0)
        self._check(offset, size_bytes)
        return self._load(offset, size_bytes)

    def write_bytes(self, offset: int, data: bytes) -> None:
        """Replaces bytes; see `read_bytes`.

        Raises:
            EventError: they are not all the tensor's, or it cannot be written.
        """
        try:
            given = data if type(data) is bytes else lent_bytes(data).tobytes()
        except NotBytesError as error:
            raise InputError(f"{self._name}: what is to be written is no block of bytes ({error}).") from None
        if not self.is_writable:
            self._fail(ReadOnlyTensor, offset=offset, size_bytes=len(given))
        offset = whole_number(offset, "the offset", least=-(1 << 63))
        self._check(offset, len(given))
        self._store(offset, given)
        for each in recorders():
            each.written(self, offset, given)

    @contextmanager
    def direct(self, operator: FastOperator) -> Iterator[Array]:
        """The tensor's own bytes as an array of its shape, in the device's byte order, for the length of a with-block.

        An arena cannot move the bytes while an array of them is left: `del` yours before the block ends.

        Args:
            operator: the operator that asks; it must be marked fast.

        Raises:
            EventError: it is not, or the tensor's bytes are not in one piece.
        """
        self._check_fast(operator, is_possible=self.is_fast, what="its bytes")
        self._check(0, self.size_bytes)
        with self._held() as held:
            memory = held.view(self._element).reshape(self._type.shape)
            del held
            yield memory
            del memory

    @contextmanager
    def direct_row(self, y: int, operator: FastOperator, *, writing: bool = False) -> Iterator[Array]:
        """A row's own bytes as an array of the shape `type.row_shape`, in the device's byte order, for a with-block; see `direct`.

        Args:
            y: which.
            operator: the operator that asks; it must be marked fast.
            writing: True if all of the row will be written; False: the array is read-only.

        Raises:
            EventError: the operator is not marked fast, the row's bytes are not in one piece, or it cannot be read or
                written.
        """
        self._check_fast(operator, is_possible=self.is_fast or self.has_fast_rows, what="a row's bytes")
        if writing and not self.is_writable:
            self._fail(ReadOnlyTensor, row=y)
        self._check(self._row_offset(y), self._type.row_bytes)
        with self._held_row(y, writing=writing) as held:
            row = held.view(self._element).reshape(self._type.row_shape)
            row.flags.writeable = writing
            del held
            yield row
            del row

    @abstractmethod
    def _load(self, offset: int, size_bytes: int) -> bytes:
        """A copy of bytes that are known to be the tensor's."""

    def _store(self, offset: int, data: bytes) -> None:
        """Replaces bytes that are known to be the tensor's."""
        raise NotImplementedError(f"{type(self).__name__} is writable, and so must say how, in _store")

    def _held(self) -> Any:
        """A context manager that gives all bytes, `[size_bytes]` of uint8, held in place; of fast tensors."""
        raise NotImplementedError(f"{type(self).__name__} is fast, and so must give its bytes, in _held")

    @contextmanager
    def _held_row(self, y: int, *, writing: bool) -> Iterator[Any]:
        """The bytes of a row, `[row_bytes]` of uint8, held in place."""
        del writing
        row_bytes = self._type.row_bytes
        with self._held() as held:
            row = held[y * row_bytes : (y + 1) * row_bytes]
            del held  # the pin ends when the block of `_held` does, so that no array may be left here by then
            yield row
            del row

    def _fail(self, kind: EventType, **facts: object) -> NoReturn:
        """Reports an error of this tensor, and raises it."""
        self._context.fail(kind(tensor=self._name, **facts))

    def _check(self, offset: int, size_bytes: int) -> None:
        if self._is_freed:
            self._fail(TensorFreed)
        if not 0 <= offset <= offset + size_bytes <= self.size_bytes:
            self._fail(InvalidMemoryAccess, offset=offset, size_bytes=size_bytes, of_bytes=self.size_bytes)

    def _check_fast(self, operator: FastOperator, *, is_possible: bool, what: str) -> None:
        if not is_possible or not operator.is_fast:
            reason = "the operator is not marked fast" if is_possible else f"{what} are not in one piece"
            self._fail(DirectAccessRefused, operator=type(operator).__name__, reason=reason)

    def _offset(self, index: int | tuple[int, ...]) -> int:
        try:
            linear = self._shape.linear_index(*(index if isinstance(index, tuple) else (index,)))
        except InputError as error:
            self._fail(InvalidMemoryAccess, reason=str(error).rstrip("."))
        return linear * self._type.dtype.size_bytes

    def _row_offset(self, y: int) -> int:
        number = whole_number(y, "the row's number", least=-(1 << 63))
        if not 0 <= number < self.rows:
            self._fail(InvalidMemoryAccess, row=number, of_rows=self.rows)
        return number * self._type.row_bytes

    def _encoded(self, values: ArrayLike, elements: int, what: str) -> bytes:
        """Values as the device has them; Python's numbers must be in range, arrays of the tensor's own type."""
        try:
            array = np.asarray(values)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"{self._name}: {what} cannot be made of these values: {error}.") from None
        dtype = self._type.dtype
        if not isinstance(values, np.ndarray | np.generic) and _fits(array, dtype):
            array = array.astype(dtype.numpy)
        if array.dtype.newbyteorder("<") != dtype.numpy or array.size != elements:
            raise InputError(
                f"{self._name}: {what} has {elements} elements of {dtype}, given are {array.size} of {array.dtype}. "
                "Cast or reshape them."
            )
        return array.astype(self._element).tobytes()

    def _describe(self, *, constant_type: bool) -> tuple[Handle, ...]:
        """The descriptor in metadata. If they are not constant, its type follows it, and quantization has a block of its own."""
        context, handles, address = self._context, [], 0
        if not constant_type and self._type.quantization is not None:
            handles.append(context.claim_metadata(quantization_bytes(self._type), Kind.QUANTIZATION))
            _fill(handles[0], encode_quantization(self._type, context.byteorder))
            address = handles[0].address or 0
        described = b"" if constant_type else encode_type(self._type, address, context.byteorder)
        descriptor = encode_struct(self.layout, {}, context.byteorder)
        handles.insert(0, context.claim_metadata(len(descriptor) + len(described)))
        _fill(handles[0], descriptor + described)
        return tuple(handles)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r} {self._type}>"

    def __copy__(self) -> NoReturn:
        raise TypeError("a tensor is unique and cannot be copied. Copy its elements: other.assign(tensor.to_array())")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a tensor names bytes of this process and cannot be pickled. Pickle tensor.to_array() instead")


def _fits(array: Array, dtype: DType) -> bool:
    """True if Python's numbers are elements of that type."""
    if dtype is DType.F32:
        return array.dtype.kind in "if"
    if not dtype.is_integer or array.dtype.kind != "i" or not array.size:
        return False
    low, high = dtype.limits
    return low <= int(array.min()) and int(array.max()) <= high


def _fill(handle: Handle, data: bytes) -> None:
    with handle.pin() as view:
        view[: len(data)] = data
