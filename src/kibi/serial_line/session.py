"""A session with a measuring program over a serial line: who it is, its memory, its functions, the cycles of its operators."""

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from kibi.errors import BoardError
from kibi.serial_line.frames import BrokenFrameError, Frame, Line, SilenceError
from kibi.serial_line.ports import PortPlace

VERSION = 1
"""Of the protocol."""
ARGUMENTS = 4
"""The most arguments of a function."""
_HELLO, _READ, _WRITE, _CALL, _OPERATORS = 1, 2, 3, 4, 5
_ANSWER, _STARTED, _REFUSED = 0x80, 0xF0, 0xFF
_ANEW = "has begun anew in the middle: see its watchdog and its power"
_REASONS = {
    1: "a frame arrived broken: the line is bad, or the firmware loses bytes; take a lower baud rate",
    2: "it does not know the request: it is of another version of Kibi; build it again",
    3: f"it {_ANEW}",
    4: "the address is outside of the memory that it has for the model: build it again",
}
_GREETING = struct.Struct("<HBBHHIIQII32s")
_CALLED = struct.Struct("<QII")
_WORD_BYTES = 4
_ADDRESS_BYTES = 8
_LEAST_CONTENT, _MOST_CONTENT = 64, 4096
_MOST_OPERATORS = 1 << 16
_SECONDS = 5.0
"""What an answer may take, without the time on the line."""
_GREETING_SECONDS, _GREETING_EVERY = 10.0, 0.7
"""A board that is reset by the opening of its port starts by way of a boot loader."""
_BITS_PER_BYTE = 10
_FRAME_BYTES = 32
"""Of two frames, without contents."""
_LONGEST_GREETING = 160
_MOST_OTHERS = 64
"""The most frames that are no answer to a request, one after another."""
_LAST_NUMBER = 0xFF


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a measuring program says of itself.

    Attributes:
        counts: True if it counts cycles.
        pointer_bytes: of its core.
        content_bytes: the most that a frame holds.
        functions: how many those of all its models are.
        operators: how many counts of operators it has.
        core: by which number the core says what it is.
        memory: the first address of the model's memory.
        memory_bytes: its size.
        stack_bytes: of the stack on which functions run.
        digest: the SHA-256 of the library, as text.
        compiler: that built it, in its own words; may be empty.
    """

    counts: bool
    pointer_bytes: int
    content_bytes: int
    functions: int
    operators: int
    core: int
    memory: int
    memory_bytes: int
    stack_bytes: int
    digest: str
    compiler: str


@dataclass(frozen=True, slots=True)
class Called:
    """What a call gave.

    Attributes:
        value: its result.
        cycles: modulo 2^32.
        stack_bytes: from the stack's end to the lowest byte that was written.
    """

    value: int
    cycles: int
    stack_bytes: int


class SerialSession:
    """A measuring program, after it was greeted.

    Args:
        line: to it, which the session owns from now on.
        baud: of the line.
        seconds: what the greeting may take, with a start of the board.

    Attributes:
        name: the port's, for errors.
        greeting: what the program says of itself.

    Raises:
        BoardError: no measuring program answers, or one of another version.
    """

    def __init__(self, line: Line, baud: int, seconds: float = _GREETING_SECONDS) -> None:
        self._line, self._baud, self.name = line, baud, line.name
        self._number = 0
        self.greeting = self._greeted(time.monotonic() + seconds)

    def close(self) -> None:
        """Closes the port."""
        self._line.close()

    def read(self, address: int, size_bytes: int) -> bytes:
        """Returns bytes of the model's memory.

        Raises:
            BoardError: they are outside of it, or the answer is none.
        """
        self._check_inside(address, size_bytes)
        data = b""
        while len(data) < size_bytes:
            wanted = min(size_bytes - len(data), self.greeting.content_bytes)
            data += self._asked(_READ, struct.pack("<QH", address + len(data), wanted), wanted)
        return data

    def write(self, address: int, data: bytes) -> None:
        """Writes bytes into the model's memory.

        Raises:
            BoardError: they are outside of it, or the answer is none.
        """
        self._check_inside(address, len(data))
        most = self.greeting.content_bytes - _ADDRESS_BYTES
        for at in range(0, len(data), most):
            self._asked(_WRITE, struct.pack("<Q", address + at) + data[at : at + most], 0)

    def call(self, number: int, arguments: tuple[int, ...], seconds: float) -> Called:
        """Calls a function.

        Args:
            number: in the lists of the program, one after the other: each model has one without reports and one with them.
            arguments: at most `ARGUMENTS`.
            seconds: how long it may take.

        Raises:
            BoardError: no answer came in time, or it is none.
        """
        given = (*arguments, *[0] * (ARGUMENTS - len(arguments)))
        answer = self._asked(_CALL, struct.pack(f"<H{ARGUMENTS}Q", number, *given), _CALLED.size, seconds)
        called = Called(*_CALLED.unpack(answer))
        if called.stack_bytes > self.greeting.stack_bytes or called.value >> 8 * self.greeting.pointer_bytes:
            raise self._nonsense("a call")
        return called

    def operators(self) -> list[int]:
        """Returns the cycles of each operator since they were asked for last, by its number in the model file.

        Raises:
            BoardError: no answer came, or it is none.
        """
        cycles: list[int] = []
        most = self.greeting.content_bytes // _WORD_BYTES
        while (left := self.greeting.operators - len(cycles)) > 0:
            count = min(left, most)
            answer = self._asked(_OPERATORS, struct.pack("<I", len(cycles)), _WORD_BYTES * count)
            cycles += struct.unpack(f"<{count}I", answer)
        return cycles

    def _greeted(self, until: float) -> Greeting:
        """Greets the program again and again: a board may be just starting, and its first bytes may be lost."""
        while (now := time.monotonic()) < until:
            number = self._sent(_HELLO, b"", until)
            soon = min(until, now + _GREETING_EVERY + self._on_line(_LONGEST_GREETING))
            with suppress(SilenceError, BrokenFrameError):
                return self._greeting(self._answer(_HELLO, number, soon, is_greeted=False))
        raise BoardError(
            f"no measuring program answers at {self.name}, at {self._baud:,} baud. Build the one that --serial-program writes into "
            "your firmware, start it, and give the port and the baud rate of its kibi_serial_get and kibi_serial_put."
        )

    def _greeting(self, answer: bytes) -> Greeting:
        if len(answer) < 2 or answer[:2] != struct.pack("<H", VERSION):
            raise BoardError(
                f"the measuring program at {self.name} is of another version of Kibi. Write it again by --serial-program, and "
                "build it."
            )
        if len(answer) < _GREETING.size:
            raise self._nonsense("the greeting")
        _, counts, pointer, content, functions, operators, core, memory, memory_bytes, stack, digest = (
            _GREETING.unpack_from(answer)
        )
        told = answer[_GREETING.size :].decode("ascii", "replace")
        compiler = "".join(each if each.isascii() and each.isprintable() else "?" for each in told)
        greeting = Greeting(
            bool(counts),
            pointer,
            content,
            functions,
            operators,
            core,
            memory,
            memory_bytes,
            stack,
            digest.hex(),
            compiler,
        )
        if not (
            _LEAST_CONTENT <= content <= _MOST_CONTENT
            and pointer in (4, 8)
            and operators <= _MOST_OPERATORS
            and memory + memory_bytes <= 1 << 8 * pointer
        ):
            raise self._nonsense("the greeting")
        return greeting

    def _check_inside(self, address: int, size_bytes: int) -> None:
        """Checks that bytes are in the model's memory: their address may be one that the program told."""
        first, end = self.greeting.memory, self.greeting.memory + self.greeting.memory_bytes
        if not first <= address <= address + size_bytes <= end:
            raise self._nonsense(f"the address {address:#010x}")

    def _asked(self, kind: int, content: bytes, size: int, seconds: float = 0.0) -> bytes:
        """Sends a request, and returns the content of its answer, which has so many bytes."""
        until = time.monotonic() + _SECONDS + seconds + self._on_line(len(content) + size)
        number = self._sent(kind, content, until)
        try:
            answer = self._answer(kind, number, until)
        except SilenceError:
            what = (
                f"a call did not end in {seconds + _SECONDS:,.0f} s" if kind == _CALL else "it does not answer any more"
            )
            raise BoardError(
                f"the measuring program at {self.name} fell silent: {what}. See whether it faulted, waits for an interrupt, "
                "or was reset; then start it again."
            ) from None
        if len(answer) != size:
            raise self._nonsense("an answer")
        return answer

    def _on_line(self, content_bytes: int) -> float:
        """Seconds that the contents of a request and its answer take on the line, twice what they should."""
        return 2 * _BITS_PER_BYTE * (content_bytes + _FRAME_BYTES) / self._baud

    def _sent(self, kind: int, content: bytes, until: float) -> int:
        self._number = self._number % _LAST_NUMBER + 1
        self._line.send(Frame(kind, self._number, content), until)
        return self._number

    def _answer(self, kind: int, number: int, until: float, *, is_greeted: bool = True) -> bytes:
        """The content of the answer to a request; answers to earlier greetings are skipped."""
        for _ in range(_MOST_OTHERS):
            frame = self._line.receive(until)
            if (frame.kind, frame.number) == (kind | _ANSWER, number):
                return frame.content
            if is_greeted and frame.kind == _STARTED:
                raise BoardError(f"the measuring program at {self.name} {_ANEW}.")
            if is_greeted and frame.kind == _REFUSED:
                reason = _REASONS.get(frame.content[0] if frame.content else 0, "for a reason that Kibi does not know")
                raise BoardError(f"the measuring program at {self.name} refused a request: {reason}.")
        raise BoardError(
            f"{self.name} sends answers that were not asked for. See whether another program uses the port, and start the "
            "board again."
        )

    def _nonsense(self, what: str) -> BoardError:
        return BoardError(
            f"the measuring program at {self.name} gave {what} that makes no sense. Write it again by --serial-program, and "
            "build it."
        )


@contextmanager
def greeted(place: PortPlace) -> Iterator[SerialSession]:
    """Opens a port, and greets the measuring program there.

    Args:
        place: the port.

    Raises:
        ToolchainError: pyserial is not installed.
        BoardError: there is no such port, or no measuring program answers.
    """
    line = Line(place.opened(), str(place), place.errors)
    try:
        yield SerialSession(line, place.baud)
    finally:
        line.close()
