"""Tensors whose bytes are in one piece and have an address: in ROM, in a caller's buffer, in the RAM arena."""

import ctypes
from contextlib import AbstractContextManager
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibi.eager.context import Context
from kibi.eager.memory import Handle, Kind
from kibi.eager.tensors.events import TensorFreed
from kibi.eager.tensors.interface import TensorInterface
from kibi.eager.tensors.layouts import DataTensorLayout, RamTensorLayout
from kibi.eager.tensors.storage import ArenaBlock, ByteSource, StillBytes, Storage, borrowed_bytes
from kibi.eager.values import ordered
from kibi.errors import InputError
from kibi.ir import TensorType


class _PlainTensor(TensorInterface):
    """Bytes in one piece."""

    layout: ClassVar[type[ctypes.Structure]] = DataTensorLayout
    is_fast: ClassVar[bool] = True
    _storage: Storage

    def _load(self, offset: int, size_bytes: int) -> bytes:
        return self._storage.read(offset, size_bytes)

    def _store(self, offset: int, data: bytes) -> None:
        self._storage.write(offset, data)

    def _held(self) -> AbstractContextManager[NDArray[np.uint8]]:
        held: AbstractContextManager[NDArray[np.uint8]] = self._storage.held()
        return held


class RomTensor(_PlainTensor):
    """Constant data, such as weights in flash. Writing raises.

    Args:
        tensor_type: shape, element type, quantization.
        data: an array of the tensor's elements, whose values count; or bytes as on the device. Neither is copied but
            where an array must be swapped or put in order.
        name, context, constant_type: see `TensorInterface`.

    Raises:
        InputError: the data is too short, or an array of another type or size.
    """

    is_writable = False

    def __init__(
        self,
        tensor_type: TensorType,
        data: ByteSource,
        *,
        name: str = "",
        context: Context | None = None,
        constant_type: bool = False,
    ) -> None:
        super().__init__(tensor_type, name=name, context=context, constant_type=constant_type)
        if isinstance(data, np.ndarray):
            if data.dtype.newbyteorder("<") != tensor_type.dtype.numpy or data.size != tensor_type.elements:
                raise InputError(
                    f"{self._name} is {tensor_type}, given are {data.size} elements of {data.dtype}. Cast them, or give bytes."
                )
            data = np.ascontiguousarray(data, ordered(tensor_type.dtype, self._context.byteorder)).reshape(-1)
        self._storage = StillBytes(borrowed_bytes(data, self.size_bytes, writable=False))


class BufferTensor(_PlainTensor):
    """Data in a buffer that the caller owns, and may change at any time: a sensor's, a display's.

    Args:
        tensor_type: shape, element type, quantization.
        buffer: writable, with at least as many bytes as the tensor; their order is that of the device.
        name, context, constant_type: see `TensorInterface`.

    Raises:
        InputError: the buffer is too small, read-only or in pieces.
    """

    def __init__(
        self,
        tensor_type: TensorType,
        buffer: ByteSource,
        *,
        name: str = "",
        context: Context | None = None,
        constant_type: bool = False,
    ) -> None:
        super().__init__(tensor_type, name=name, context=context, constant_type=constant_type)
        self._storage = StillBytes(borrowed_bytes(buffer, self.size_bytes, writable=True))


class RamTensor(_PlainTensor):
    """Data in the RAM arena, which may move it; freed with the tensor, with `free()`, or at the end of a with-block.

    The last reference frees it where the arena's blocks live as long as their handles, as those of `HandleArena` do.

    Args:
        tensor_type: shape, element type, quantization.
        values: what it holds at first; None: the bytes that are there.
        kind: how a `Recording` counts it.
        name, context, constant_type: see `TensorInterface`.

    Raises:
        InputError: the values do not fit.
        EventError: there is no room.
    """

    layout: ClassVar[type[ctypes.Structure]] = RamTensorLayout

    def __init__(
        self,
        tensor_type: TensorType,
        values: ArrayLike | None = None,
        *,
        kind: Kind = Kind.PLANNED,
        name: str = "",
        context: Context | None = None,
        constant_type: bool = False,
    ) -> None:
        super().__init__(tensor_type, name=name, context=context, constant_type=constant_type)
        self._handle = self._context.claim_ram(self.size_bytes, kind)
        self._storage = ArenaBlock(self._handle)
        if values is not None:
            self.assign(values)

    @property
    def handle(self) -> Handle:
        """The block's only handle; do not bind it to another block."""
        return self._handle

    def free(self) -> None:
        """Frees the bytes, and those of the descriptor; a second call does nothing.

        Raises:
            EventError: they are pinned, or the arena frees nothing one by one.
        """
        self._handle.free()
        if not self._handle.is_bound:  # else a callback took the error, and the bytes are still there
            super().free()

    def _check(self, offset: int, size_bytes: int) -> None:
        if not self._handle.is_bound:
            self._fail(TensorFreed)
        super()._check(offset, size_bytes)
