"""NumPy's files, `.npy` and `.npz`, read with bounds.

A header may claim any shape, and an archive may hold terabytes in a few kilobytes. So the header is read first, whoever wants the
array judges its shape and type, and only then are its bytes read: exactly as many as the header says, and memory
grows with what arrives. Arrays of many inputs are read in blocks. Objects, which could run code, are refused.
"""

import io
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from kibi.dtypes import Array
from kibi.files import take

_MOST_HEADER_BYTES = 16 << 10
_MOST_DIRECTORY_BYTES = 4 << 20
_MOST_PIPE_BYTES = 256 << 20
"""An archive that comes through a pipe is kept in memory, since it begins at its end."""
_BLOCK_BYTES = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_SUFFIX = ".npy"
_NO_HEADER = (
    ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError, tokenize.TokenError
)  # fmt: skip


class ArrayFileError(Exception):
    """A problem of a file of arrays, without its name; a clause without a full stop."""


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The contents of an array's header."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize


Judge = Callable[[ArrayType], None]
"""A check of an array's header; it raises any error to refuse the array."""


def read_array(stream: BinaryIO, judge: Judge) -> Array:
    """Reads the array of a `.npy` file.

    Args:
        stream: the file, at its start.
        judge: a function that gets the header before anything else is read.

    Returns:
        The array, read-only.

    Raises:
        ArrayFileError: it is no such file, or shorter than its header says.
    """
    head = take(stream, _MOST_HEADER_BYTES)
    kind, is_fortran, start = _header(head)
    judge(kind)
    first = head[start : start + kind.size_bytes]
    data = first + take(stream, kind.size_bytes - len(first))
    if len(data) < kind.size_bytes:
        raise ArrayFileError(f"its header says {kind.size_bytes:,} bytes, and {len(data):,} follow")
    array: Array = np.frombuffer(data, kind.dtype)
    return array.reshape(kind.shape, order="F" if is_fortran else "C")


def read_rows(stream: BinaryIO, judge: Judge, first: int = 0) -> Iterator[Array]:
    """Yields the array of a `.npy` file in blocks along its first axis, of at most a megabyte or of one row.

    Args:
        stream: the file, at its start.
        judge: a function that gets the header before anything else is read.
        first: the number of the first row that is yielded; those before are left out.

    Raises:
        ArrayFileError: it is no such file, shorter than its header says, without a first axis, or its first axis varies fastest.
    """
    head = take(stream, _MOST_HEADER_BYTES)
    kind, is_fortran, start = _header(head)
    judge(kind)
    if not kind.shape:
        raise ArrayFileError("it holds one number, and no list of inputs")
    if is_fortran and len(kind.shape) > 1:
        raise ArrayFileError("its first axis varies fastest. Save numpy.ascontiguousarray of it")
    rest, row_bytes = head[start:], prod(kind.shape[1:]) * kind.dtype.itemsize
    together = max(1, _BLOCK_BYTES // max(1, row_bytes))
    if first * row_bytes > len(rest):
        _skip(stream, first * row_bytes - len(rest))
        rest = b""
    rest, skipped = rest[first * row_bytes :], first
    for at in range(first, kind.shape[0], together):
        count = min(together, kind.shape[0] - at)
        needed = count * row_bytes
        data = rest[:needed] + take(stream, needed - len(rest[:needed]))
        rest = rest[needed:]
        if len(data) < needed:
            found = "fewer" if skipped else f"{at * row_bytes + len(data):,}"
            raise ArrayFileError(f"its header says {kind.size_bytes:,} bytes, and {found} follow")
        array: Array = np.frombuffer(data, kind.dtype)
        yield array.reshape(count, *kind.shape[1:])


def _skip(stream: BinaryIO, count: int) -> None:
    """Leaves out so many bytes."""
    if not isinstance(stream, zipfile.ZipExtFile):
        stream.seek(count, os.SEEK_CUR)
        return
    while count > 0 and (read := len(stream.read(min(count, _BLOCK_BYTES)))):  # its own `seek` reads more at once
        count -= read


def read_type(stream: BinaryIO) -> ArrayType:
    """The header of a `.npy` file.

    Raises:
        ArrayFileError: it is no such file.
    """
    return _header(take(stream, _MOST_HEADER_BYTES))[0]


def _header(head: bytes) -> tuple[ArrayType, bool, int]:
    """Returns the contents of a header: type and shape, true if the first axis varies fastest, and where the elements begin."""
    if head[:2] == b"PK":
        raise ArrayFileError("its contents are an archive")
    stream = io.BytesIO(head)
    try:
        version = npy.read_magic(stream)
        readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        if version not in readers:
            raise ArrayFileError(f"it is no NumPy file of version 1 or 2, but of {version[0]}.{version[1]}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that Python 2 wrote it is no harm
            shape, is_fortran, dtype = readers[version](stream)
    # A header is a Python literal, which NumPy parses, and splits into words first where it is none.
    except _NO_HEADER as error:
        raise ArrayFileError(f"it is no NumPy file: {_first_line(error)}") from None
    if dtype.hasobject or dtype.names or dtype.subdtype:
        raise ArrayFileError(f"its elements are no plain numbers, but {'objects' if dtype.hasobject else dtype}")
    if not all(size >= 0 for size in shape):
        raise ArrayFileError(f"its header says the shape {_first_line(shape)}")
    return ArrayType(tuple(shape), dtype), is_fortran, stream.tell()


class Archive:
    """An open `.npz` file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members = {info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()}

    @property
    def names(self) -> Sequence[str]:
        """The arrays' names, in the file's order."""
        return tuple(self._members)

    def read(self, name: str, judge: Judge) -> Array:
        """Reads one array, as `read_array` does.

        Raises:
            ArrayFileError: it cannot be read.
        """
        with self._open(name) as stream:
            array = read_array(stream, judge)
            stream.read(1)  # at its end the checksum is compared
            return array

    def rows(self, name: str, judge: Judge, first: int = 0) -> Iterator[Array]:
        """Yields one array in blocks, as `read_rows` does; several arrays may be read at once.

        Raises:
            ArrayFileError: it cannot be read.
        """
        with self._open(name) as stream:
            yield from read_rows(stream, judge, first)
            stream.read(1)

    def type_of(self, name: str) -> ArrayType:
        """The header of one array.

        Raises:
            ArrayFileError: it cannot be read.
        """
        with self._open(name) as stream:
            return read_type(stream)

    @contextmanager
    def _open(self, name: str) -> Iterator[BinaryIO]:
        """The file of one array.

        Raises:
            ArrayFileError: it cannot be read, also in the with-block.
        """
        member = self._members[name]
        if member.compress_type not in _METHODS or member.flag_bits & 1:
            raise ArrayFileError(f"the array {name!r} is encrypted, or compressed as NumPy does not")
        try:
            with self._archive.open(member) as stream:
                yield _plain(stream)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
            raise ArrayFileError(f"the archive is damaged: {_first_line(error)}") from None


@contextmanager
def open_archive(stream: BinaryIO) -> Iterator[Archive]:
    """Opens a `.npz` file.

    Args:
        stream: the file, at its start.

    Raises:
        ArrayFileError: it is no such file, or lists more files than anybody's archive.
    """
    if not stream.seekable():
        data = take(stream, _MOST_PIPE_BYTES + 1)
        if len(data) > _MOST_PIPE_BYTES:
            raise ArrayFileError(f"it has more than {_MOST_PIPE_BYTES:,} bytes, and comes through a pipe")
        stream = io.BytesIO(data)
    if stream.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
        raise ArrayFileError("its contents are an array")
    try:
        archive = zipfile.ZipFile(_Directory(stream))
    # Damaged directories end in any of these.
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError, IndexError, EOFError) as error:
        raise ArrayFileError(f"the archive is damaged: {_first_line(error)}") from None
    with archive:
        yield Archive(archive)


class _Directory(io.RawIOBase):
    """A file whose readers may not ask for much at once: Python reads an archive's directory by one call."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        if size > _MOST_DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"its list of files has {size:,} bytes")
        return take(self._stream, _MOST_DIRECTORY_BYTES if size < 0 else size)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        try:
            return self._stream.seek(offset, whence)
        except OSError as error:  # before the start
            raise zipfile.BadZipFile(error.strerror or "it is cut off") from None

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _plain(stream: IO[bytes]) -> BinaryIO:
    return stream  # type: ignore[return-value] # only `read` is called


def _first_line(what: object) -> str:
    text = str(what)
    return text.splitlines()[0][:200] if text else "it is damaged"
