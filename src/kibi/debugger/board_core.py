"""A core on a board, through a GDB server: what the toolchain linked is loaded, functions are called, stack and cycles measured.

It has the methods of the emulated core, so that what runs a model on one runs it on the other. A silicon core guards nothing and
counts no instructions: a call's cycles are those of its cycle counter, and a label is counted where a breakpoint tells it apart.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kibi.debugger.packets import NoAnswerError
from kibi.debugger.processor import Counter, set_call
from kibi.debugger.processors import processor_of
from kibi.debugger.session import Session
from kibi.emulator import Call, Spent
from kibi.errors import BoardError, EmulationError
from kibi.targets import Board, Target
from kibi.toolchain import Image, MemoryLayout, MemoryRange

_PREPARE, _STORE, _LANDING, _FAULT = (f"kibi_board_{name}" for name in ("prepare", "store", "landing", "fault"))
ENTRIES = (_PREPARE, _STORE, _LANDING, _FAULT)
"""The functions of the C file that a program for a board has besides its own."""
PLACES = ("flash", "ram")
"""Where a program can be loaded."""
START_BYTES = 512
"""More flash than this file's code and vectors take."""
_VECTOR_ALIGNMENT = 512
_PAINT = 0xC5
_FILL = 0xA5
_WORD = 1 << 32
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BoardMemory:
    """Where a program is on a board.

    Attributes:
        board: the board's name.
        layout: what it is linked for.
        stack: below its variables, so that a stack that is too small reaches what is no RAM.
        ram_bytes: of the range of RAM that all of that is in.
    """

    board: str
    layout: MemoryLayout
    stack: MemoryRange
    ram_bytes: int


def board_memory(board: Board, place: str, flash_bytes: int, stack_bytes: int) -> BoardMemory:
    """Returns where a program is on a board: all that is written in its largest range of RAM.

    Args:
        board: the board.
        place: `flash`; or `ram`, for code and constants, too, so that nothing in flash changes.
        flash_bytes: of code and constants.
        stack_bytes: that its calls need.

    Raises:
        BoardError: it has no Cortex-M core, its addresses are not known, or it has too little memory.
    """
    processor = processor_of(board.core, board.name)
    ranges = [each for each in board.ram if each.address is not None]
    if not ranges or (place == "flash" and board.flash_address is None):
        raise BoardError(
            f"the addresses of {board.name}'s {'flash' if ranges else 'RAM'} are not known. Describe the board in a file "
            "NAME.toml, with flash_address and an address for each range of RAM, and give it to --board."
        )
    ram = max(ranges, key=lambda each: each.size_bytes)
    start = _round_up(ram.address or 0, _VECTOR_ALIGNMENT)
    end = (ram.address or 0) + ram.size_bytes
    stack_size = _round_up(stack_bytes + processor.frame_bytes, _VECTOR_ALIGNMENT)
    code_size = _round_up(flash_bytes + START_BYTES, _VECTOR_ALIGNMENT)
    used = stack_size + (code_size if place == "ram" else 0)
    if start + used >= end:
        what = "code, constants and stack take" if place == "ram" else "the stack takes"
        raise BoardError(
            f"{board.name} has too little RAM: {what} {used:,} of the {ram.size_bytes:,} bytes of {ram.name}. "
            "Nothing was loaded."
        )
    if place == "ram":
        flash = MemoryRange(start + stack_size, code_size)
    else:
        flash = MemoryRange(board.flash_address or 0, board.flash_bytes)
        if code_size > board.flash_bytes:
            raise BoardError(
                f"{board.name} has too little flash: {code_size:,} bytes are needed, {board.flash_bytes:,} are there. "
                "Nothing was loaded."
            )
    layout = MemoryLayout(flash, MemoryRange(start + used, end - start - used))
    return BoardMemory(board.name, layout, MemoryRange(start, stack_size), ram.size_bytes)


class BoardCore:
    """One core of a board, with an image in its memory. Nothing is loaded before the first call or read.

    Args:
        image: linked for the layout of the memory, with the processor's `start`.
        target: whose code it is.
        session: with the board's server.
        memory: where the program is.
        seconds: how long a call may take.

    Attributes:
        core_name: the name of the core that answered; empty before the image is loaded.
        uncounted: why calls have no cycles, or empty.
        counted: what `instructions` of a call are: empty, because nothing counts them.
    """

    counted = ""

    def __init__(self, image: Image, target: Target, session: Session, memory: BoardMemory, *, seconds: float) -> None:
        self._image, self._target, self._session, self._memory = image, target, session, memory
        self._processor = processor_of(target.name, memory.board)
        self._registers = self._processor.registers
        self._seconds = seconds
        self._end = max(
            (each.address + each.size_bytes for each in image.segments if each.writable),
            default=memory.layout.ram.address,
        )
        self._pending: list[tuple[int, bytes]] | None = []
        self._counter: Counter | None = None
        self._watched = ""
        self.core_name = self.uncounted = ""

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of RAM after all others.

        Args:
            name: for error texts.
            size_bytes: its size.
            alignment: its address is a multiple of it; a power of two.
            is_exact: True for an address that is no multiple of twice the alignment.
            writable: as of the emulated core; the board does not guard it.
            fill: the byte that it is filled with; by default 0xA5.

        Returns:
            Its address.

        Raises:
            BoardError: there is no room left; before the first call, nothing was loaded.
        """
        del writable
        address = placed(self._end, alignment, is_exact=is_exact)
        ram = self._memory.layout.ram
        if not ram.holds(address, size_bytes):
            needed, has = address + size_bytes - ram.end, self._memory.ram_bytes
            raise BoardError(
                f"{self._memory.board} has too little RAM: {name} ends {needed:,} bytes after the last of {has:,} bytes. "
                f"Nothing {'more ' if self._pending is None else ''}was loaded."
            )
        self._end = address + size_bytes
        self.write(address, bytes([_FILL if fill is None else fill]) * size_bytes)
        return address

    def write(self, address: int, data: bytes) -> None:
        """Writes into memory.

        Raises:
            BoardError: the server cannot write there.
        """
        if self._pending is None:
            self._session.write(address, bytes(data))
        else:
            self._pending.append((address, bytes(data)))

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads from memory.

        Raises:
            BoardError: the server cannot read there.
        """
        self._load()
        return self._session.read(address, size_bytes)

    def watch(self, label: str) -> None:
        """Counts the cycles of an operator's functions apart, in the calls that follow; an empty label: of none."""
        self._watched = label

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 0,
    ) -> Call:
        """Calls a function by the core's standard of calls.

        Args:
            function: its name.
            arguments: 32-bit integers or addresses; those for which there is no register go on the stack.
            operators: function name to operator label; the label that is watched is counted.
            instruction_limit: as of the emulated core; the board ends a call after its seconds.

        Returns:
            What it took: no instructions, cycles where the core counts them, and in `spent` those of the watched label alone.

        Raises:
            EmulationError: no such function.
            BoardError: a fault, no end in time, a stack that is too small, or the connection was cut.
        """
        del instruction_limit
        if function not in self._image.symbols:
            raise EmulationError(f"the image has no function {function!r}")
        self._load()
        watched = {
            self._image.symbols[name].address
            for name, label in operators.items()
            if label and label == self._watched and name in self._image.symbols
        }
        stack = self._set_registers(function, arguments)
        counter = None if self.uncounted else self._counter
        before = counter.read() if counter else 0
        began = time.monotonic()
        spent = self._run(function, watched, counter)
        seconds = 0.0 if watched else time.monotonic() - began
        cycles = counted_cycles((counter.read() - before) % _WORD, seconds, self._target) if counter else None
        return Call(
            value=self._session.register(self._registers.arguments[0]),
            instructions=0,
            by_operator=MappingProxyType({}),
            stack_bytes=self._stack_bytes(stack),
            cycles_estimate=cycles,
            spent=None if spent is None else MappingProxyType({self._watched: Spent(spent)}),
        )

    def _load(self) -> None:
        """Loads the image and what was written so far, after all that can be checked without a change was checked."""
        if self._pending is None:
            return
        session = self._session
        session.monitor("reset halt")
        session.expect(self._registers.needed, self._registers.by_number)
        self.core_name = self._processor.check(session, self._target)
        self._load_image()
        pending, self._pending = self._pending, None
        for address, data in pending:
            session.write(address, data)
        for name in (_LANDING, _FAULT):
            session.set_breakpoint(self._image.symbols[name].address)
        self.call(_PREPARE)
        self._processor.set_up(session, self._target, self._memory.layout.flash.address, self._store)
        self._counter = self._processor.counter(session, self._store)
        self.uncounted = self._counter.missing
        if not self.call(_PREPARE).cycles_estimate and not self.uncounted:
            self.uncounted = "the cycle counter does not count"

    def _store(self, address: int, value: int) -> None:
        self.call(_STORE, address, value)

    def _load_image(self) -> None:
        """Writes code and constants, unless they are there already, then variables; and reads back whether they arrived."""
        fixed = [each for each in self._image.segments if not each.writable]
        first = min(each.address for each in fixed)
        program = bytearray(b"\xff" * (max(each.address + each.size_bytes for each in fixed) - first))
        for each in fixed:
            program[each.address - first : each.address - first + each.size_bytes] = each.data
        if self._session.read(first, len(program)) != program:
            self._write_program(first, bytes(program))
        found = self._session.read(first, len(program))
        if found != program:
            raise BoardError(
                f"{self._session.name} did not write the {len(program):,} bytes at {first:#010x}: other bytes are there. "
                "Let the server write flash, or load into RAM."
            )
        for each in self._image.segments:
            if each.writable:
                self._session.write(each.address, each.data or bytes(each.size_bytes))

    def _write_program(self, address: int, program: bytes) -> None:
        """Writes each part as the server's memory map asks for: into blocks of flash, or as RAM."""
        at, end = address, address + len(program)
        for blocks in self._session.flash:
            first, last = max(at, blocks.address), min(end, blocks.end)
            if first < last:
                if at < first:
                    self._session.write(at, program[at - address : first - address])
                self._session.write_flash(first, program[first - address : last - address], blocks)
                at = last
        if at < end:
            self._session.write(at, program[at - address :])

    def _set_registers(self, function: str, arguments: tuple[int, ...]) -> int:
        """Paints the stack, sets the registers of a call, and returns the stack pointer."""
        stack, stacked = self._registers.stacked(arguments, self._memory.stack.end)
        room = stack - self._memory.stack.address
        self._session.write(self._memory.stack.address, bytes([_PAINT]) * room + stacked)
        address, landing = (self._image.symbols[name].address for name in (function, _LANDING))
        set_call(self._session, self._processor, address, arguments, stack, landing)
        return stack

    def _stack_bytes(self, stack: int) -> int:
        """The bytes below the stack pointer that are no longer painted, in whole units."""
        painted = self._session.read(self._memory.stack.address, stack - self._memory.stack.address)
        left = len(painted) - len(painted.lstrip(bytes([_PAINT])))
        if not left:
            raise BoardError(f"the stack of {len(painted):,} bytes is too small, so that the call may have gone wrong.")
        return _round_up(len(painted) - left, self._registers.stack_unit)

    def _run(self, function: str, watched: set[int], counter: Counter | None) -> int | None:
        """Runs a call to its end, and returns the cycles of the watched functions; None where nothing is watched, or counts."""
        until = time.monotonic() + self._seconds
        if not watched or counter is None:
            self._run_to({self._image.symbols[_LANDING].address}, function, until)
            return None
        cycles, landing = 0, self._image.symbols[_LANDING].address
        while True:
            if self._run_with_breakpoints(watched, function, until) == landing:
                return cycles
            before = counter.read()
            self._run_with_breakpoints({self._session.register(self._registers.link) & ~1}, function, until)
            cycles += (counter.read() - before) % _WORD

    def _run_with_breakpoints(self, places: set[int], function: str, until: float) -> int:
        """Runs to one of these places, or to the end, with breakpoints there meanwhile, and returns where the core stopped."""
        for place in places:
            self._session.set_breakpoint(place)
        found = self._run_to({*places, self._image.symbols[_LANDING].address}, function, until)
        for place in places:
            self._session.set_breakpoint(place, is_set=False)
        return found

    def _run_to(self, places: set[int], function: str, until: float) -> int:
        try:
            signal = self._session.run(max(until - time.monotonic(), 0.001))
        except NoAnswerError:
            where = self._where(self._session.register("pc"), function)
            raise BoardError(
                f"{function}() did not end on the board in {self._seconds:,.0f} s: {where}. The core is halted."
            ) from None
        stopped = self._session.register("pc") & ~1
        if stopped not in places:
            raise BoardError(f"{self._fault_text(stopped, signal, function)}. The core is halted.")
        return stopped

    def _fault_text(self, stopped: int, signal: int, function: str) -> str:
        """Says where and why the core stopped where it should not."""
        is_handler = stopped == self._image.symbols[_FAULT].address & ~1
        fault = self._processor.fault(self._session, self._target, is_handler=is_handler, in_ram=self._in_ram)
        if fault is None:
            return f"the core stopped with signal {signal} {self._where(stopped, function)}"
        where = fault.unknown if fault.place is None else self._where(fault.place, function)
        return f"the core faulted {where} ({fault.name}, signal {signal}){': ' + fault.why if fault.why else ''}"

    def _in_ram(self, address: int) -> bool:
        stack, ram = self._memory.stack, self._memory.layout.ram
        return stack.address <= address and address + 32 <= ram.end

    def _where(self, address: int, function: str) -> str:
        inside = self._image.function_at(address & ~1)
        named = f"in {inside}()" if inside else "outside of the program"
        return f"{named} at {address:#010x}" + ("" if inside == function else f", called by {function}()")


def placed(end: int, alignment: int, *, is_exact: bool) -> int:
    """Returns the address of a block after others.

    Args:
        end: of the others.
        alignment: the address is a multiple of it; a power of two.
        is_exact: True for an address that is no multiple of twice the alignment.
    """
    return _round_up(end, 2 * alignment) + alignment if is_exact else _round_up(end, alignment)


def counted_cycles(cycles: int, seconds: float, target: Target) -> int | None:
    """Returns what a counter of 32 bits counted; None if it may have begun anew, unseen.

    Args:
        cycles: the difference of two counts.
        seconds: between them.
        target: at the highest clock.
    """
    return cycles if seconds * target.clock_hz < _WORD else None


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
