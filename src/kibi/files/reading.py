"""Bounded reading of foreign files.

A path may name a device that never ends, a pipe that nobody writes into, a folder, or a file of any size. Each reader states
how many bytes it takes at most. What holds more ends in an error, and no more than one byte beyond the limit is read.
"""

import codecs
import errno
import io
import os
import select
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from kibi.errors import KibiError
from kibi.files.system import open_flags

KIB, MIB = 1 << 10, 1 << 20
_PIECE_BYTES = MIB
_WRITER_SECONDS = 10.0
"""The seconds that a read of a named pipe waits for a writer. Once there is a writer, there is no limit."""
_ASK_SECONDS = 0.02


def read_bytes(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Reads a file, a pipe or a device to its end.

    Args:
        path: a regular file, or anything else that can be read.
        most_bytes: the most bytes that it may have.

    Raises:
        OSError: it cannot be read, is a folder, or has more bytes; `strerror` says which.
    """
    with open_binary(path) as stream:
        size = os.fstat(stream.fileno()).st_size  # 0 where the size is not known
        data = take(stream, most_bytes + 1) if size <= most_bytes else b""
    if max(size, len(data)) > most_bytes:
        what = f"it has {size:,} bytes" if size > most_bytes else f"it has more than {most_bytes:,} bytes"
        raise OSError(errno.EFBIG, f"{what}, at most {most_bytes:,} are read", os.fspath(path))
    return data


def read_file(path: str | os.PathLike[str], most_bytes: int, error: type[KibiError], remedy: str) -> bytes:
    """Reads a file as `read_bytes` does, with an error of the caller's family.

    Args:
        path: a regular file, or anything else that can be read.
        most_bytes: the most bytes that it may have.
        error: the kind of error; it takes one text.
        remedy: what the user can do, one sentence.

    Raises:
        KibiError: of the kind `error`, with path, reason and remedy.
    """
    try:
        return read_bytes(path, most_bytes)
    except OSError as failure:
        raise error(f"{os.fspath(path)}: {failure.strerror}. {remedy}") from None


def read_text(path: str | os.PathLike[str], most_bytes: int, error: type[KibiError], remedy: str) -> str:
    """Reads text in UTF-8, with or without a byte order mark; each line ends in a line feed.

    Raises:
        KibiError: of the kind `error`: as `read_file`, or it is no text.
    """
    data = read_file(path, most_bytes, error, remedy)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise error(f"{os.fspath(path)}: it is written in UTF-16. Save it as UTF-8.")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise error(f"{os.fspath(path)}: it is no text file in UTF-8. {remedy}") from None


@contextmanager
def open_binary(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens the file or device at a path for reading, unbuffered.

    Raises:
        OSError: it cannot be opened, is a folder, or is a named pipe that nobody writes into.
    """
    location = os.fspath(path)
    if not location:
        raise OSError(errno.ENOENT, "the path is empty", location)
    try:
        # Not to wait in `open`, where a named pipe without a writer would hold us for ever.
        handle = os.open(location, open_flags(os.O_RDONLY, "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY"))
    except PermissionError:  # what Windows says of a folder
        if not os.path.isdir(location):  # noqa: PTH112 - the same path as above
            raise
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location) from None
    except ValueError as error:  # the path holds a null character
        raise OSError(errno.EINVAL, str(error), location) from None
    with os.fdopen(handle, "rb", buffering=0) as raw:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), location)
        first = _await_writer(handle, location) if stat.S_ISFIFO(mode) else b""
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(handle, True)
        yield cast("BinaryIO", _Continued(raw, first))  # it has what readers use of one


def take(stream: BinaryIO, size_bytes: int) -> bytes:
    """Reads that many bytes, or fewer if the stream ends; memory grows with the bytes that arrive, not with the request."""
    taken = bytearray()
    while len(taken) < size_bytes:
        piece = stream.read(min(size_bytes - len(taken), _PIECE_BYTES))
        if not piece:
            break
        taken += piece
    return bytes(taken)


class _Continued(io.RawIOBase):
    """A stream whose first bytes have been read already."""

    def __init__(self, raw: io.FileIO | BinaryIO, first: bytes) -> None:
        self._raw = raw
        self._first = first

    def fileno(self) -> int:
        return self._raw.fileno()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._raw.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        if self._first:
            count = min(len(buffer), len(self._first))
            buffer[:count], self._first = self._first[:count], self._first[count:]
            return count
        piece = self._raw.read(len(buffer)) or b""
        buffer[: len(piece)] = piece
        return len(piece)


def _await_writer(handle: int, location: str) -> bytes:
    """Waits until somebody has opened a pipe for writing, and returns the byte that may have been read on the way.

    Raises:
        OSError: nobody has.
    """
    asked = select.poll()
    asked.register(handle, select.POLLIN | select.POLLHUP)
    end = time.monotonic() + _WRITER_SECONDS
    while True:
        if asked.poll(0):
            return b""
        try:
            first = os.read(handle, 1)
        except BlockingIOError:  # somebody has, and has written nothing yet
            return b""
        if first:
            return first
        if time.monotonic() > end:
            what = f"it is a pipe that nobody wrote into within {_WRITER_SECONDS:g} s"
            raise OSError(errno.ETIMEDOUT, what, location)
        time.sleep(_ASK_SECONDS)
