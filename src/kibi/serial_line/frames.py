"""Frames of a serial line: what goes over the wire, with check sums and bounds.

What answers may be anything: a terminal, a boot loader, a program that was cut off. So a frame has a greatest length, what comes
between frames has one, too, and each wait has an end.
"""

import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kibi.errors import BoardError
from kibi.serial_line.ports import Port

MARK = b"\xc5\x4b"
"""The bytes with which a frame begins."""
MOST_CONTENT = 4096
"""The longest content of a frame that is taken."""
MOST_SKIPPED = 1 << 13
"""The most bytes that are skipped before a frame."""
_FILLER = b"\0"
"""Follows each request, and is skipped: the console that QEMU has for semihosting keeps the last byte until another one comes."""
_HEAD = struct.Struct("<BBH")
_SUM = struct.Struct("<I")
_ADVICE = "The line is bad: take a lower baud rate or a shorter cable, and see that nothing else writes to the port."


class SilenceError(BoardError):
    """Nothing came in the time that was given."""


class BrokenFrameError(BoardError):
    """What came is no whole frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A request, or an answer.

    Attributes:
        kind: what it is.
        number: of the request; its answer has the same.
        content: the rest.
    """

    kind: int
    number: int
    content: bytes = b""

    @property
    def wire(self) -> bytes:
        """The bytes that go over the line."""
        body = _HEAD.pack(self.kind, self.number, len(self.content)) + self.content
        return MARK + body + _SUM.pack(zlib.crc32(body))


class Line:
    """A port, frame by frame.

    Args:
        port: open; the line owns it from now on.
        name: the port's, for errors.
        errors: what the port raises where it fails.
    """

    def __init__(self, port: Port, name: str, errors: tuple[type[Exception], ...] = (OSError,)) -> None:
        self._port, self.name, self._errors = port, name, errors

    def close(self) -> None:
        """Closes the port."""
        self._port.close()

    def send(self, frame: Frame, until: float) -> None:
        """Sends a frame.

        Args:
            frame: the frame.
            until: the time, of `time.monotonic`, at which to stop.

        Raises:
            BoardError: the port takes no bytes.
        """
        with self._checked():
            self._port.write_timeout = self._left(until)
            self._port.write(frame.wire + _FILLER)

    def receive(self, until: float) -> Frame:
        """Returns the next frame; what comes before it is skipped.

        Args:
            until: the time, of `time.monotonic`, at which to stop.

        Raises:
            SilenceError: no frame was there in time.
            BrokenFrameError: it is too long, or its check sum is wrong.
            BoardError: the port failed, or other bytes come without an end.
        """
        self._skip_to_mark(until)
        head = self._read(_HEAD.size, until)
        kind, number, size = _HEAD.unpack(head)
        if size > MOST_CONTENT:
            raise BrokenFrameError(
                f"{self.name} sent a frame of {size:,} bytes; {MOST_CONTENT:,} are the most. {_ADVICE}"
            )
        content = self._read(size, until)
        if _SUM.unpack(self._read(_SUM.size, until))[0] != zlib.crc32(head + content):
            raise BrokenFrameError(f"{self.name} sent a frame of {size:,} bytes with a wrong check sum. {_ADVICE}")
        return Frame(kind, number, content)

    def _skip_to_mark(self, until: float) -> None:
        last, skipped = b"", 0
        while (last := last[-1:] + self._read(1, until)) != MARK:
            skipped += 1
            if skipped > MOST_SKIPPED:
                raise BoardError(
                    f"{self.name} sends other bytes than the measuring program: more than {MOST_SKIPPED:,} without a frame. "
                    "Give its port and baud rate."
                )

    def _read(self, size: int, until: float) -> bytes:
        """Exactly so many bytes."""
        data = b""
        with self._checked():
            while len(data) < size:
                self._port.timeout = self._left(until)
                data += self._port.read(size - len(data))[: size - len(data)]
        return data

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Gives the port's own errors words."""
        try:
            yield
        except self._errors as error:
            raise BoardError(
                f"the serial port {self.name} failed: {error}. See whether the board is still connected."
            ) from None

    def _left(self, until: float) -> float:
        left = until - time.monotonic()
        if left <= 0:
            raise SilenceError(f"{self.name} does not answer in time")
        return left
