"""A session with a GDB server: memory, registers, breakpoints, flash, and a core that runs until it stops."""

import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType

from kibi.debugger.descriptions import FlashBlocks, Register, flash_of, parts_of, registers_of
from kibi.debugger.packets import Link, NoAnswerError, escaped
from kibi.errors import BoardError, InputError

_SERVER = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9_.-]{1,253})):([0-9]{1,5})", re.ASCII)
_SECONDS = 5.0
"""What a server may take for an answer."""
_FLASH_SECONDS = 60.0
_BYTES_PER_SECOND = 500
"""The slowest connection that memory is read and written through."""
_LEAST_PACKET, _MOST_PACKET = 64, 1 << 14
_PACKET = 400
"""Bytes of a packet to a server that does not say what it takes."""
_MOST_DESCRIPTION = 1 << 18
_MOST_FILES = 16
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2})*")


@dataclass(frozen=True, slots=True)
class Server:
    """Where a GDB server listens.

    Attributes:
        host: a name or an address.
        port: of TCP.
    """

    host: str
    port: int

    @staticmethod
    def named(text: str) -> "Server":
        """Reads `HOST:PORT`; an address with colons is in brackets.

        Raises:
            InputError: the text is something else.
        """
        found = _SERVER.fullmatch(text)
        if found is None or not 1 <= int(found[3]) <= 65535:
            raise InputError(f"the GDB server is {text[:80]!r}. Give HOST:PORT, as in localhost:3333.")
        return Server(found[1] or found[2], int(found[3]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Session:
    """One core, through a server. All addresses are those of its memory, all numbers little-endian.

    Args:
        link: the connection, which the session owns from now on.
        name: the server's, for errors.
        seconds: what the first answer may take, from a server that is just starting.

    Attributes:
        described: the registers that the server describes, by name.
        registers: those that are used.
        flash: the ranges that the server erases block by block.

    Raises:
        BoardError: the server does not answer as the protocol says.
    """

    def __init__(self, link: Link, name: str, seconds: float = _SECONDS) -> None:
        self._link, self.name = link, name
        self._has_binary: bool | None = None
        self._is_running = False
        self._breakpoints = set[int]()
        features = self._features(time.monotonic() + seconds)
        self._packet_bytes = _packet_bytes(features)
        if b"QStartNoAckMode+" in features and self._request(b"QStartNoAckMode") == b"OK":
            link.acknowledges = False
        self._request(b"?")  # some servers stop the core for it
        self.described: Mapping[str, Register] = self._described(features)
        self.registers = self.described
        self.flash: tuple[FlashBlocks, ...] = self._flash(features)

    def close(self) -> None:
        """Stops the core if it runs, removes what breakpoints there are, and closes the connection."""
        with suppress(BoardError):
            self.halt()
            for place in sorted(self._breakpoints):
                self.set_breakpoint(place, is_set=False)
        self._link.close()

    def monitor(self, command: str) -> None:
        """Gives the server a command of its own; what it prints, and whether it knows the command, does not matter.

        Raises:
            BoardError: the connection was cut.
        """
        until = time.monotonic() + 2 * _SECONDS
        self._link.send(b"qRcmd," + command.encode().hex().encode(), until)
        while (told := self._link.receive(until))[:1] == b"O" and told != b"OK":
            pass

    def read(self, address: int, size_bytes: int) -> bytes:
        """Returns bytes of the memory.

        Raises:
            BoardError: the server cannot read them.
        """
        data, until = b"", _deadline(size_bytes)
        most = (self._packet_bytes - 8) // 2
        while len(data) < size_bytes:
            wanted = min(size_bytes - len(data), most)
            at = address + len(data)
            found = self._hex(b"m%x,%x" % (at, wanted), f"memory at {at:#010x}", until)
            if not 0 < len(found) <= wanted:
                raise BoardError(f"{self.name} gave {len(found)} bytes instead of {wanted} at {address:#010x}.")
            data += found
        return data

    def read_word(self, address: int) -> int:
        """Returns a word of 32 bits.

        Raises:
            BoardError: the server cannot read it.
        """
        return int.from_bytes(self.read(address, 4), "little")

    def write(self, address: int, data: bytes) -> None:
        """Writes bytes into the RAM.

        Raises:
            BoardError: the server cannot write them.
        """
        if self._has_binary is None:
            self._has_binary = self._request(b"X%x,0:" % address) == b"OK"
        until = _deadline(len(data))
        for at, part, packet in self._parts(address, data, b"X%x,%x:" if self._has_binary else b"M%x,%x:"):
            content = part if self._has_binary else part.hex().encode()
            self._expect_ok(self._request(packet + content, until), f"cannot write memory at {at:#010x}")

    def write_flash(self, address: int, data: bytes, blocks: FlashBlocks) -> None:
        """Erases the blocks of flash that hold an address range, and writes data there.

        Args:
            address: of the first byte.
            data: all of them in these blocks.
            blocks: the range of flash.

        Raises:
            BoardError: the server cannot write them.
        """
        first = address - (address - blocks.address) % blocks.block_bytes
        end = address + len(data)
        end += -(end - blocks.address) % blocks.block_bytes
        what = f"cannot write the flash at {address:#010x}"
        until = _deadline(len(data)) + _FLASH_SECONDS
        self._expect_ok(self._request(b"vFlashErase:%x,%x" % (first, end - first), until), what)
        for _, part, packet in self._parts(address, data, b"vFlashWrite:%x:"):
            self._expect_ok(self._request(packet + part, until), what)
        self._expect_ok(self._request(b"vFlashDone", until + _FLASH_SECONDS), what)

    def expect(self, needed: Iterable[str], numbers: Mapping[str, Register]) -> None:
        """Says which registers a call needs.

        Args:
            needed: their names.
            numbers: how servers without a description number them. These count where one is not described with its width.
        """
        described = self.described
        is_whole = all(name in described and described[name].bits == numbers[name].bits for name in needed)
        self.registers = described if is_whole else numbers

    def register(self, name: str) -> int:
        """Returns a register.

        Raises:
            BoardError: the server cannot read it.
        """
        size = self.registers[name].bits // 8
        found = self._request(b"p%x" % self.registers[name].number)
        if not found:
            return int.from_bytes(self._all_registers()[self._place(name)], "little")
        return int.from_bytes(_bytes_of(found, size, f"register {name}", self.name), "little")

    def set_register(self, name: str, value: int) -> None:
        """Sets a register.

        Raises:
            BoardError: the server cannot write it.
        """
        data = value.to_bytes(self.registers[name].bits // 8, "little")
        found = self._request(b"P%x=%s" % (self.registers[name].number, data.hex().encode()))
        if not found:
            given = bytearray(self._all_registers())
            given[self._place(name)] = data
            found = self._request(b"G" + given.hex().encode())
        self._expect_ok(found, f"cannot write register {name}")

    def set_breakpoint(self, address: int, *, is_set: bool = True) -> None:
        """Sets or removes a breakpoint: one of the core's, or one of the server's where it has none of these.

        Raises:
            BoardError: the core has no breakpoint to spare.
        """
        sign = b"Z" if is_set else b"z"
        what = f"cannot {'set' if is_set else 'remove'} a breakpoint at {address:#010x}"
        found = self._request(b"%s1,%x,2" % (sign, address))
        self._expect_ok(found or self._request(b"%s0,%x,2" % (sign, address)), what)
        (self._breakpoints.add if is_set else self._breakpoints.discard)(address)

    def run(self, seconds: float, goes_on: Callable[[], bool] | None = None) -> int:
        """Lets the core run until it stops, and returns the signal that the server tells; 5 is that of a breakpoint.

        Args:
            seconds: how long it may run; after that it is stopped.
            goes_on: asked when that time has passed; if it says True, the core runs as long again.

        Raises:
            NoAnswerError: it did not stop by itself.
            BoardError: the connection was cut, or the server says what the core of a board cannot do.
        """
        self._link.send(b"c", time.monotonic() + _SECONDS)
        self._is_running = True
        try:
            return self._stopped(time.monotonic() + seconds) if goes_on is None else self._watched(seconds, goes_on)
        except NoAnswerError:
            self.halt()
            raise
        except KeyboardInterrupt:
            with suppress(BoardError):
                self.halt()
            raise

    def _watched(self, seconds: float, goes_on: Callable[[], bool]) -> int:
        while True:
            try:
                return self._stopped(time.monotonic() + seconds)
            except NoAnswerError:
                if not goes_on():
                    raise

    def abandon(self) -> None:
        """Closes the connection to a server that has ended."""
        self._link.close()

    def halt(self) -> None:
        """Stops the core if it runs.

        Raises:
            BoardError: it cannot be stopped.
        """
        if self._is_running:
            until = time.monotonic() + _SECONDS
            self._link.interrupt(until)
            self._stopped(until)

    def _stopped(self, until: float) -> int:
        """Waits for the message that the core stopped; what the program prints is passed over."""
        while True:
            told = self._link.receive(until)
            if told[:1] in (b"T", b"S") and _HEX.fullmatch(told[1:3]) and len(told) >= 3:
                self._is_running = False
                return int(told[1:3], 16)
            if told[:1] != b"O":
                raise BoardError(f"{self.name} says {_shown(told)} where the core should stop.")

    def _features(self, until: float) -> tuple[bytes, ...]:
        return tuple(self._request(b"qSupported:swbreak+;hwbreak+;xmlRegisters=arm", until).split(b";"))

    def _described(self, features: tuple[bytes, ...]) -> Mapping[str, Register]:
        if b"qXfer:features:read+" not in features:
            return MappingProxyType({})
        attributes: list[str] = []
        wanted, read = ["target.xml"], 0
        while wanted and read < _MOST_FILES:
            read += 1
            included = []
            for name, register in parts_of(self._description(b"features", wanted.pop(0).encode())):
                included += [name] if name else []
                attributes += [register] if register else []
            wanted = included + wanted
        return registers_of(attributes)

    def _flash(self, features: tuple[bytes, ...]) -> tuple[FlashBlocks, ...]:
        return flash_of(self._description(b"memory-map", b"")) if b"qXfer:memory-map:read+" in features else ()

    def _description(self, kind: bytes, name: bytes) -> str:
        """Reads a description, part by part."""
        text, until = b"", time.monotonic() + 4 * _SECONDS
        while True:
            size = min(self._packet_bytes - 8, 2048)
            found = self._request(b"qXfer:%s:read:%s:%x,%x" % (kind, name, len(text), size), until)
            if found[:1] not in (b"l", b"m") or found == b"m":
                raise BoardError(f"{self.name} says {_shown(found)} instead of a description of the board.")
            text += found[1:]
            if len(text) > _MOST_DESCRIPTION:
                raise BoardError(f"{self.name} describes the board in more than {_MOST_DESCRIPTION:,} bytes.")
            if found[:1] == b"l":
                return text.decode("utf-8", "replace")

    def _all_registers(self) -> bytes:
        return self._hex(b"g", "the registers")

    def _place(self, name: str) -> slice:
        """Where a register is among all of them: after those with lower numbers."""
        number = self.registers[name].number
        widths = {each.number: each.bits for each in self.registers.values()}
        before = sum(bits for other, bits in widths.items() if other < number)
        start = before // 8
        if start + self.registers[name].bits // 8 > len(self._all_registers()):
            raise BoardError(f"{self.name} has no register {name}.")
        return slice(start, start + self.registers[name].bits // 8)

    def _parts(self, address: int, data: bytes, form: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yields the address, the content and the beginning of each packet that writes data; binary content has escapes."""
        is_binary, has_size = not form.startswith(b"M"), form.count(b"%") == 2
        most = (self._packet_bytes - 32) // 2  # all bytes may need an escape
        for at in range(0, len(data), most):
            part = data[at : at + most]
            head = form % ((address + at, len(part)) if has_size else (address + at,))
            yield address + at, escaped(part) if is_binary else part, head

    def _request(self, payload: bytes, until: float | None = None) -> bytes:
        end = time.monotonic() + _SECONDS if until is None else until
        self._link.send(payload, end)
        return self._link.receive(end)

    def _hex(self, payload: bytes, what: str, until: float | None = None) -> bytes:
        found = self._request(payload, until)
        if not found or _HEX.fullmatch(found) is None:
            raise BoardError(f"{self.name} says {_shown(found)} instead of {what}.")
        return bytes.fromhex(found.decode())

    def _expect_ok(self, found: bytes, what: str) -> None:
        if found != b"OK":
            raise BoardError(f"{self.name} {what}: it says {_shown(found)}.")


@contextmanager
def connected(server: Server, seconds: float = _SECONDS) -> Iterator[Session]:
    """Gives a session with a server; after the block the core is halted, and the connection is closed.

    Args:
        server: where it listens.
        seconds: what the connection may take.

    Raises:
        BoardError: there is no server, or it does not answer as the protocol says.
    """
    try:
        stream = socket.create_connection((server.host, server.port), seconds)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise BoardError(
            f"no GDB server at {server}: {why}. Start one, and give the port on which it listens."
        ) from None
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link = Link(stream, str(server))
    try:
        session = Session(link, str(server))
    except BaseException:
        link.close()
        raise
    try:
        yield session
    finally:
        session.close()


def _deadline(size_bytes: int) -> float:
    """The time at which memory of that size is read or written, at the latest."""
    return time.monotonic() + _SECONDS + size_bytes / _BYTES_PER_SECOND


def _packet_bytes(features: tuple[bytes, ...]) -> int:
    for each in features:
        if found := re.fullmatch(rb"PacketSize=([0-9a-fA-F]{1,8})", each):
            return max(_LEAST_PACKET, min(int(found[1], 16), _MOST_PACKET))
    return _PACKET


def _bytes_of(found: bytes, size: int, what: str, name: str) -> bytes:
    if _HEX.fullmatch(found) is None or len(found) != 2 * size:
        raise BoardError(f"{name} says {_shown(found)} instead of {what}.")
    return bytes.fromhex(found.decode())


def _shown(answer: bytes) -> str:
    """What a server said, for an error."""
    return "nothing" if not answer else repr(answer[:60].decode("ascii", "replace"))
