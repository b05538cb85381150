"""A device for tests: it speaks the measuring program's protocol, or what a test makes of it."""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress

from kibi.serial_line.frames import MARK, Frame

MEMORY, MEMORY_BYTES, STACK_BYTES, CONTENT_BYTES = 0x2000_0000, 4096, 512, 320
M3 = 0x412F_C231
HELLO, READ, WRITE, CALL, OPERATORS, STARTED, REFUSED = 1, 2, 3, 4, 5, 0xF0, 0xFF
Answer = Callable[["Device", Frame], bytes | None]
"""The bytes that answer a request; None cuts the connection."""


class SocketPort:
    """One end of a pair of sockets, as pyserial's ports are."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self.timeout: float | None = None
        self.write_timeout: float | None = None

    def read(self, size: int, /) -> bytes:
        """Bytes, or none after the time."""
        self._stream.settimeout(self.timeout)
        try:
            data = self._stream.recv(size)
        except TimeoutError:
            return b""
        if not data:
            raise OSError("device disconnected")
        return data

    def write(self, data: bytes, /) -> None:
        """Sends all."""
        self._stream.settimeout(self.write_timeout)
        self._stream.sendall(data)

    def close(self) -> None:
        """Closes this end."""
        self._stream.close()


class Device:
    """A program that answers as it should: its functions return where the memory begins, and compute nothing.

    Args:
        digest: of its library, as text.
        functions: how many it has.
        answer: what it says; None: what `proper` says.
        core: the number of its core.

    Attributes:
        port: the computer's end.
        requests: how many it has had.
    """

    def __init__(self, digest: str, functions: int, answer: Answer | None = None, core: int = M3) -> None:
        self.digest, self.functions, self.core = bytes.fromhex(digest), functions, core
        self._answer = answer or Device.proper
        self.memory = bytearray(MEMORY_BYTES)
        self.requests = 0
        near, self._far = socket.socketpair()
        self.port = SocketPort(near)
        threading.Thread(target=self._serve, daemon=True).start()

    def greeting(self, **changed: int) -> bytes:
        """What it says of itself, with other numbers where a test wants them."""
        told = {
            "version": 1, "counts": 1, "pointer": 4, "content": CONTENT_BYTES, "functions": self.functions, "operators": 4,
            "core": self.core, "memory": MEMORY, "memory_bytes": MEMORY_BYTES, "stack": STACK_BYTES,
        }  # fmt: skip
        return struct.pack("<HBBHHIIQII", *{**told, **changed}.values()) + self.digest + b"test"

    def proper(self, request: Frame) -> bytes:
        """The right answer to a request."""
        at = struct.unpack_from("<Q", request.content)[0] - MEMORY if request.kind in (READ, WRITE) else 0
        content = b""
        if request.kind == HELLO:
            content = self.greeting()
        elif request.kind == READ:
            content = bytes(self.memory[at : at + struct.unpack_from("<H", request.content, 8)[0]])
        elif request.kind == WRITE:
            self.memory[at : at + len(request.content) - 8] = request.content[8:]
        elif request.kind == CALL:
            is_pointer = struct.unpack_from("<H", request.content)[0] % self.functions in (1, 2)
            content = struct.pack("<QII", MEMORY if is_pointer else 0, 1000, 100)
        elif request.kind == OPERATORS:
            content = struct.pack("<4I", 1, 2, 3, 4)
        return Frame(request.kind | 0x80, request.number, content).wire

    def _serve(self) -> None:
        with self._far, suppress(OSError):
            while (told := self._request()) is not None:
                self.requests += 1
                answer = self._answer(self, told)
                if answer is None:
                    return
                self._far.sendall(answer)

    def _request(self) -> Frame | None:
        data = b""
        while not data.endswith(MARK):
            if not (byte := self._far.recv(1)):
                return None
            data += byte
        kind, number, size = struct.unpack("<BBH", self._exactly(4))
        content = self._exactly(size)
        self._exactly(4)
        return Frame(kind, number, content)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += self._far.recv(size - len(data))
        return data
