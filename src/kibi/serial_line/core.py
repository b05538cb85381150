"""A core over a serial line: a measuring program's memory is given out, its functions are called, stack and cycles told.

It has the methods of the emulated core, so that what runs a model on one runs it on the other.
"""

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kibi.debugger import counted_cycles, placed, processor_of
from kibi.emulator import Call
from kibi.errors import BoardError, EmulationError
from kibi.serial_line.session import SerialSession
from kibi.targets import Target

_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})


class SerialCore:
    """The core that a measuring program runs on.

    Args:
        session: with the program.
        functions: those of a model, in the order of the program's lists.
        target: whose code it is.
        board: the board's name.
        seconds: how long a call may take.
        first: the number of the first one of them in the program.

    Attributes:
        core_name: the name of the core that answered.
        uncounted: why calls have no cycles, or empty.
        reports: True if calls are those of the functions that report the cycles of operators.
        counted: what `instructions` of a call are: empty, because nothing counts them.

    Raises:
        BoardError: the core does not run the target's code.
    """

    counted = ""

    def __init__(
        self,
        session: SerialSession,
        functions: Sequence[str],
        target: Target,
        board: str,
        *,
        seconds: float,
        first: int = 0,
    ) -> None:
        self._session, self._functions, self._target = session, tuple(functions), target
        self._seconds, self._end, self._first = seconds, session.greeting.memory, first
        processor = processor_of(target.name, board)
        self._stack_unit = processor.registers.stack_unit
        self.core_name, is_right = processor.named(session.greeting.core, target)
        if not is_right:
            raise BoardError(
                f"{session.name} has {self.core_name}, but the program is for {target.name}. Name the board that is there."
            )
        self.uncounted = (
            ""
            if session.greeting.counts
            else "the core has no cycle counter that counts; a function of yours can give one, see KIBI_SERIAL_TICKS"
        )
        self.reports = False

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of the model's memory after all others; the program has filled it with 0xA5.

        Args:
            name: for error texts.
            size_bytes: its size.
            alignment: its address is a multiple of it; a power of two.
            is_exact: True for an address that is no multiple of twice the alignment.
            writable: as of the emulated core; the board does not guard it.
            fill: the byte that it is filled with; None: it stays.

        Returns:
            Its address.

        Raises:
            BoardError: there is no room left.
        """
        del writable
        greeting = self._session.greeting
        address = placed(self._end, alignment, is_exact=is_exact)
        if address + size_bytes > greeting.memory + greeting.memory_bytes:
            raise BoardError(
                f"the measuring program at {self._session.name} has {greeting.memory_bytes:,} bytes for the model, and {name} "
                "ends after them. Write it again by --serial-program, and build it."
            )
        self._end = address + size_bytes
        if fill is not None:
            self.write(address, bytes([fill]) * size_bytes)
        return address

    def write(self, address: int, data: bytes) -> None:
        """Writes into the model's memory.

        Raises:
            BoardError: the program does not answer, or the bytes are outside of it.
        """
        self._session.write(address, data)

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads from the model's memory.

        Raises:
            BoardError: the program does not answer, or the bytes are outside of it.
        """
        return self._session.read(address, size_bytes)

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 0,
    ) -> Call:
        """Calls a function.

        Args:
            function: its name.
            arguments: integers or addresses, at most four.
            operators: as of the emulated core; the program counts operators by functions of their own.
            instruction_limit: as of the emulated core; a call may take its seconds.

        Returns:
            What it took: no instructions, and cycles where the core counts them.

        Raises:
            EmulationError: no such function.
            BoardError: no answer came in time, or the stack is too small.
        """
        del operators, instruction_limit
        if function not in self._functions:
            raise EmulationError(f"the measuring program has no function {function!r}")
        number = self._first + self._functions.index(function) + (len(self._functions) if self.reports else 0)
        began = time.monotonic()
        called = self._session.call(number, arguments, self._seconds)
        seconds = time.monotonic() - began
        room = self._session.greeting.stack_bytes
        if called.stack_bytes >= room:
            raise BoardError(
                f"the stack of {room:,} bytes that the measuring program at {self._session.name} has is too small, so that "
                f"{function}() may have gone wrong. Build it with a larger one: -DKIBI_SERIAL_STACK_BYTES={2 * room}."
            )
        cycles = None if self.uncounted else counted_cycles(called.cycles, seconds, self._target)
        unit = self._stack_unit
        return Call(
            value=called.value,
            instructions=0,
            by_operator=MappingProxyType({}),
            stack_bytes=-(-called.stack_bytes // unit) * unit,
            cycles_estimate=cycles,
            spent=None,
        )
