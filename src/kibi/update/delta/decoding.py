"""Makes the new file from the older one and a payload, as `kibi_delta.c` does on a device."""

from dataclasses import dataclass, field
from typing import NoReturn

from kibi.errors import PackageError
from kibi.update.delta.form import (
    MOST_LENGTH_BYTES,
    MOST_MOVE_BYTES,
    MOST_PERIOD,
    MOVES,
    UNLIMITED,
    Class,
    Command,
    unfolded,
)

_WORD = 1 << 32
"""Places and differences are numbers of 32 bits."""
_MOST_RUN = 1 << 31


def decode(payload: bytes, old: bytes, new_bytes: int, block_bytes: int = 4096) -> bytes:
    """Returns the new file.

    Args:
        payload: what `encode` made.
        old: the older file.
        new_bytes: size of the new file.
        block_bytes: of the new file that each block of the payload makes.

    Raises:
        PackageError: the payload was cut or changed, has bytes after its end, or asks for bytes that the older file lacks.
    """
    decoder = _Decoder(payload, old)
    while len(decoder.made) < new_bytes:
        decoder.block(min(block_bytes, new_bytes - len(decoder.made)))
    if decoder.at != len(payload):
        _refuse(f"{len(payload) - decoder.at} bytes follow its end")
    return bytes(decoder.made)


def _refuse(why: str) -> NoReturn:
    raise PackageError(f"the delta is damaged: {why}. Get it again, or make it again with `kibi update`.")


@dataclass
class _Decoder:
    """The state of a decoder.

    Attributes:
        payload, old: the inputs.
        at: bytes of the payload that are used.
        bit: bits of the next byte of the payload that are used.
        place: the byte of the older file that comes next.
        made: the new file so far.
    """

    payload: bytes
    old: bytes
    at: int = 0
    bit: int = 0
    place: int = 0
    made: bytearray = field(default_factory=bytearray)

    def block(self, size: int) -> None:
        """Makes a block."""
        end = len(self.made) + size
        self.place = len(self.made)
        while len(self.made) < end:
            head = self._number(MOST_LENGTH_BYTES)
            count, kind = head >> 3, Command(head & 3)
            if head & MOVES:
                self._move(unfolded(self._number(MOST_MOVE_BYTES) % _WORD))
            if not 0 < count <= end - len(self.made):
                _refuse("a command leaves its block")
            if kind is Command.RAW:
                self.made += self._bytes(count)
                self._move(count)
                continue
            if not 0 <= self.place <= len(self.old) - count:
                _refuse("it needs bytes that the older file does not have")
            if kind is Command.COPY:
                self.made += self.old[self.place : self.place + count]
                self.place += count
            else:
                self._change(count, kind)

    def _move(self, distance: int) -> None:
        self.place = (self.place + distance) % _WORD

    def _change(self, count: int, kind: Command) -> None:
        """Makes bytes by differences."""
        period, mask = 1, 0
        if kind is Command.PATTERN:
            period = self._bytes(1)[0]
            if not 0 < period <= MOST_PERIOD:
                _refuse("a pattern has no length")
            mask = int.from_bytes(self._bytes(-(-period // 8)), "little")
        classes = [Class.parse(self._bytes) for _ in range(1 + (kind is Command.PATTERN))]
        if count % (4 if kind is Command.PATTERN else classes[0].width):
            _refuse("a command ends within an element")
        runs, done = [-1, -1], 0
        while done < count:
            which = mask >> done // 4 % period & 1
            its = classes[which]
            if runs[which] < 0:
                runs[which] = self._code(its.run, UNLIMITED) % _MOST_RUN
            change = self._difference(its) if runs[which] == 0 else 0
            runs[which] -= 1
            before = int.from_bytes(self.old[self.place : self.place + its.width], "little")
            after = (before + change) % (1 << 8 * its.width)
            self.made += after.to_bytes(its.width, "little")
            self.place += its.width
            done += its.width
        if self.bit:
            self.at, self.bit = self.at + 1, 0

    def _difference(self, its: Class) -> int:
        """Reads a difference that is not 0."""
        number = self._code(its.value, its.limit)
        if not its.unit:
            return (-(number // 2 + 1) if number % 2 else number // 2 + 1) << its.shift
        return (unfolded(number) << its.shift) + its.unit * unfolded(self._code(its.rest, UNLIMITED))

    def _code(self, k: int, limit: int) -> int:
        """Reads a Rice code; it has 32 bits."""
        quotient = 0
        while (limit == UNLIMITED or quotient < limit) and self._bit():
            quotient += 1
        number = quotient
        for _ in range(k):
            number = number << 1 | self._bit()
        return number % _WORD

    def _bit(self) -> int:
        if self.at >= len(self.payload):
            _refuse("it was cut")
        found = self.payload[self.at] >> 7 - self.bit & 1
        self.bit += 1
        if self.bit == 8:
            self.at, self.bit = self.at + 1, 0
        return found

    def _number(self, most_bytes: int) -> int:
        number = 0
        for place in range(most_bytes):
            (byte,) = self._bytes(1)
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return number
        _refuse("a number is too long")

    def _bytes(self, count: int) -> bytes:
        part = self.payload[self.at : self.at + count]
        if len(part) < count:
            _refuse("it was cut")
        self.at += count
        return part
