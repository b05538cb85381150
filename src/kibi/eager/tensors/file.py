"""Tensors off the chip; here: in a file."""

import ctypes
import mmap
from pathlib import Path
from typing import ClassVar

from kibi.eager.context import Context
from kibi.eager.tensors.interface import TensorInterface
from kibi.eager.tensors.layouts import FileTensorLayout
from kibi.errors import InputError
from kibi.ir import TensorType


class FileTensor(TensorInterface):
    """Data in a file that is mapped into memory: an example of data on another chip.

    Nothing of it is in an arena, and no operator reaches it directly, as a processor could not.

    Args:
        tensor_type: shape, element type, quantization.
        path: the file, which must exist.
        offset: the offset of the first element, in bytes.
        writable: True if writing changes the file; else it raises.
        name, context, constant_type: see `TensorInterface`.

    Raises:
        InputError: the file cannot be mapped, or is too short.
    """

    layout: ClassVar[type[ctypes.Structure]] = FileTensorLayout

    def __init__(
        self,
        tensor_type: TensorType,
        path: Path | str,
        *,
        offset: int = 0,
        writable: bool = False,
        name: str = "",
        context: Context | None = None,
        constant_type: bool = False,
    ) -> None:
        super().__init__(tensor_type, name=name or str(path), context=context, constant_type=constant_type)
        self._start = offset
        self.is_writable = writable
        self._map = _mapped(Path(path), offset, tensor_type.size_bytes, writable=writable)

    def free(self) -> None:
        """Writes what has been changed, and closes the file; a second call does nothing."""
        super().free()
        self._map.close()  # which flushes

    def _load(self, offset: int, size_bytes: int) -> bytes:
        start = self._start + offset
        return self._map[start : start + size_bytes]

    def _store(self, offset: int, data: bytes) -> None:
        start = self._start + offset
        self._map[start : start + len(data)] = data


def _mapped(path: Path, offset: int, size_bytes: int, *, writable: bool) -> mmap.mmap:
    if not path.is_file():  # a pipe would wait for a writer, and cannot be mapped
        raise InputError(
            f"{path}: it is no file that is there. Give one that can be {'written' if writable else 'read'}."
        )
    try:
        with path.open("r+b" if writable else "rb") as file:
            there = path.stat().st_size
            if offset < 0 or there < offset + size_bytes:
                raise InputError(
                    f"{path} has {there} bytes, the tensor is at {offset} to {offset + size_bytes}. Give the right file."
                )
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            return mmap.mmap(file.fileno(), offset + size_bytes, access=access)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}. Give a file that can be {'written' if writable else 'read'}."
        ) from None
