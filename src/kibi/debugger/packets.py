"""Packets of GDB's remote protocol: what goes over the wire, with checksums, escapes, repetitions, and bounds.

A server is a program that nobody here wrote. So a packet has a greatest length, before and after its repetitions are written out;
what comes between packets has one, too; and whoever waits gives a time at which he stops.
"""

import socket
import time

from kibi.errors import BoardError

MOST_BYTES = 1 << 18
"""The longest packet that is taken, and the most bytes that are skipped between two packets."""
_RETRIES = 3
_READ_BYTES = 1 << 16
_ESCAPE = 0x7D
_REPEAT = 0x2A
_MUST_ESCAPE = frozenset(b"#$}*")
_LEAST_COUNT, _MOST_COUNT, _COUNT_BIAS = 0x20, 0x7E, 29


class NoAnswerError(BoardError):
    """Nothing came in the time that was given."""


def escaped(data: bytes) -> bytes:
    """Returns binary data as they go into a packet."""
    return b"".join(bytes([_ESCAPE, each ^ 0x20]) if each in _MUST_ESCAPE else bytes([each]) for each in data)


def checksum(body: bytes) -> int:
    """The sum of a packet's bytes, modulo 256."""
    return sum(body) & 0xFF


def framed(payload: bytes) -> bytes:
    """Returns a packet with a payload that needs no escapes, or has them."""
    return b"$" + payload + b"#%02x" % checksum(payload)


def decoded(body: bytes, most: int = MOST_BYTES) -> bytes:
    """Returns what a packet's bytes say: repetitions written out, then escapes resolved.

    Raises:
        BoardError: a repetition repeats nothing or has no count, an escape has no end, or the result is longer than `most`.
    """
    plain, at = bytearray(), 0
    while at < len(body):
        if body[at] != _REPEAT:
            plain.append(body[at])
            at += 1
        else:
            if not plain or at + 1 >= len(body) or not _LEAST_COUNT <= body[at + 1] <= _MOST_COUNT:
                raise BoardError(
                    "the server sent a packet with a repetition of nothing. It does not speak GDB's protocol."
                )
            plain += plain[-1:] * (body[at + 1] - _COUNT_BIAS)
            at += 2
        if len(plain) > most:
            raise BoardError(f"the server sent a packet of more than {most:,} bytes. It does not speak GDB's protocol.")
    parts = bytes(plain).split(bytes([_ESCAPE]))
    if any(not part for part in parts[1:]):
        raise BoardError("the server sent a packet with an escape of nothing. It does not speak GDB's protocol.")
    return parts[0] + b"".join(bytes([part[0] ^ 0x20]) + part[1:] for part in parts[1:])


class Link:
    """A connection to a server, packet by packet.

    Args:
        stream: the connected socket, which the link owns from now on.
        name: the server's, for errors.
    """

    def __init__(self, stream: socket.socket, name: str) -> None:
        self._stream = stream
        self._name = name
        self._unread = bytearray()
        self.acknowledges = True
        """False after both sides have agreed to send no acknowledgements."""

    def close(self) -> None:
        """Closes the connection."""
        self._stream.close()

    def send(self, payload: bytes, until: float) -> None:
        """Sends a packet, again where the server asks for it.

        Args:
            payload: of the packet, with escapes.
            until: the time, of `time.monotonic`, at which to stop.

        Raises:
            BoardError: the connection was cut, or the server refuses the packet.
            NoAnswerError: it was not taken in time.
        """
        for _ in range(_RETRIES):
            self._write(framed(payload), until)
            if not self.acknowledges or self._is_taken(until):
                return
        raise BoardError(f"{self._name} refused a packet {_RETRIES} times. The connection is bad.")

    def interrupt(self, until: float) -> None:
        """Asks the server to stop the core."""
        self._write(b"\x03", until)

    def receive(self, until: float) -> bytes:
        """Returns the payload of the next packet.

        Args:
            until: the time, of `time.monotonic`, at which to stop.

        Raises:
            BoardError: the connection was cut, or what came is no packet, three times.
            NoAnswerError: nothing came in time.
        """
        for _ in range(_RETRIES):
            body, told = self._next_body(until)
            is_right = told == b"%02x" % checksum(body) or told == b"%02X" % checksum(body)
            if self.acknowledges:
                self._write(b"+" if is_right else b"-", until)
            if is_right:
                return decoded(body)
            if not self.acknowledges:
                break
        raise BoardError(f"{self._name} sent a packet with a wrong checksum. The connection is bad.")

    def _is_taken(self, until: float) -> bool:
        """Waits for the acknowledgement; a packet that comes instead of it says that the last one arrived."""
        for _ in range(MOST_BYTES):
            first = self._peek(until)
            if first in b"+-$":
                if first != b"$":
                    del self._unread[:1]
                return first != b"-"
            del self._unread[:1]
        raise BoardError(f"{self._name} sends no packets. Give the port of a GDB server.")

    def _next_body(self, until: float) -> tuple[bytes, bytes]:
        """The bytes of the next packet, and the checksum that it tells; notifications are skipped."""
        skipped = 0
        while (first := self._peek(until)) != b"$":
            skipped += len(self._raw_packet(until)) if first == b"%" else 1
            del self._unread[: first != b"%"]
            if skipped > MOST_BYTES:
                raise BoardError(f"{self._name} sends no packets. Give the port of a GDB server.")
        raw = self._raw_packet(until)
        return raw[1:-3], raw[-2:]

    def _raw_packet(self, until: float) -> bytes:
        """Takes all bytes from the first one to the checksum."""
        searched = 0
        while (end := self._unread.find(b"#", searched)) < 0 or len(self._unread) < end + 3:
            searched = max(0, len(self._unread) if end < 0 else end)
            if searched > MOST_BYTES:
                raise BoardError(f"{self._name} sent a packet of more than {MOST_BYTES:,} bytes. It is no GDB server.")
            self._fill(until)
        raw = bytes(self._unread[: end + 3])
        del self._unread[: end + 3]
        return raw

    def _peek(self, until: float) -> bytes:
        while not self._unread:
            self._fill(until)
        return bytes(self._unread[:1])

    def _fill(self, until: float) -> None:
        self._stream.settimeout(self._left(until))
        try:
            data = self._stream.recv(_READ_BYTES)
        except TimeoutError:
            raise NoAnswerError(f"{self._name} does not answer. See whether it is a GDB server, and busy.") from None
        except OSError as error:
            raise self._cut(error) from None
        if not data:
            raise self._cut(None)
        self._unread += data

    def _write(self, data: bytes, until: float) -> None:
        self._stream.settimeout(self._left(until))
        try:
            self._stream.sendall(data)
        except TimeoutError:
            raise NoAnswerError(f"{self._name} takes no data. See whether it is a GDB server, and busy.") from None
        except OSError as error:
            raise self._cut(error) from None

    def _left(self, until: float) -> float:
        left = until - time.monotonic()
        if left <= 0:
            raise NoAnswerError(f"{self._name} does not answer in time. See whether it is a GDB server, and busy.")
        return left

    def _cut(self, error: OSError | None) -> BoardError:
        why = f": {error.strerror or error}" if error is not None else ""
        return BoardError(f"the connection to {self._name} was cut{why}. See what the server says.")
