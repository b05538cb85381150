"""One core of a machine of QEMU with an image in its memory: called, counted and checked like the emulated core of unicorn.

Instruction counts are exact, by the same rule: one for each instruction that the core fetches and passes, also where an IT's
condition skips it. What is different: an access that is not allowed is found when it happens, but the call goes on to its end,
and is refused then. There is no estimate of cycles.
"""

import ctypes
import mmap
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import IO

import numpy as np

from kibi.debugger.packets import NoAnswerError
from kibi.emulator import Block, Call, Stored
from kibi.emulator.blocks import Blocks, count_text
from kibi.emulator.hook import RANGE
from kibi.errors import BoardError, EmulationError, ToolchainError
from kibi.qemu.harness import harness_for
from kibi.qemu.places import place_table
from kibi.qemu.plugin import MOST_CALLS, PLACE, State, Verdict
from kibi.qemu.process import Process
from kibi.targets import Target
from kibi.targets.machine import HARNESS_BYTES
from kibi.toolchain import Image, MemoryRange, layout_of

_MOST_RANGES, _MOST_LABELS = 256, 4096
_WATCH_SECONDS, _STALLED_SECONDS = 0.25, 60
_STACK_ALIGNMENT = 16
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})


def harness_place(target: Target) -> MemoryRange:
    """The RAM of a target's machine that is for the harness.

    Raises:
        ToolchainError: QEMU does not run the target.
    """
    if target.qemu is None:
        raise ToolchainError(f"QEMU does not run code for {target.name}.")
    return MemoryRange(target.qemu.machine.harness, HARNESS_BYTES)


class _Watch:
    """Says whether a call may go on: below the limit of its instructions, and while further ones are executed."""

    def __init__(self, state: State, limit: int) -> None:
        self._state, self._limit, self._last = state, limit, -1
        self._until = 0.0

    def goes_on(self) -> bool:
        """True if it may."""
        if self._state.verdict:
            return False
        executed, now = self._state.instructions, time.monotonic()
        if executed != self._last:
            self._last, self._until = executed, now + _STALLED_SECONDS
        return executed <= self._limit and now < self._until


class QemuCore:
    """One core in QEMU with an image in its memory.

    Variables and blocks keep their contents from call to call. After an error the core can be called again, unless QEMU has ended.

    Attributes:
        counted: what `instructions` of a call are.
    """

    counted = "instructions"

    def __init__(
        self,
        image: Image,
        target: Target,
        *,
        stack_bytes: int = 64 * 1024,
        fill: int = 0xA5,
        stored: Sequence[Stored] = (),
    ) -> None:
        """Starts QEMU and loads the image.

        Args:
            image: the program, linked for the target's machine.
            target: one that QEMU runs.
            stack_bytes: the stack's size.
            fill: the byte that the stack and fresh blocks are filled with.
            stored: what is in flash after the image; `stored_addresses` has their addresses.

        Raises:
            EmulationError: the image does not fit.
            ToolchainError: QEMU is missing, too old, or does not start, or the plugin cannot be compiled.
        """
        self._image, self._target, self._fill = image, target, fill
        place = harness_place(target)
        self._blocks = Blocks(image, layout_of(target))
        self.stored_addresses = tuple(map(self._blocks.store, stored))
        self._stack = self._blocks.reserve("stack", stack_bytes, _STACK_ALIGNMENT, writable=True)
        self._harness = harness_for(target, place, MemoryRange(self._stack.address, stack_bytes))
        first, places = place_table(image, target)
        with self._shared(first, places, place) as file:
            process = Process(target, file.fileno())
        self._end = weakref.finalize(self, process.close)
        self._session, self.process_id = process.session, process.number
        self._operators: Mapping[str, str] = _NO_OPERATORS
        self._labels: tuple[str, ...] = ("",)
        for segment in image.segments:
            self._session.write(segment.address, segment.data or bytes(segment.size_bytes))
        for address, each in zip(self.stored_addresses, stored, strict=True):
            self._session.write(address, each.data)
        self._harness.install(self._session)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks that the program may access, by address."""
        return self._blocks.all

    def close(self) -> None:
        """Ends QEMU; it also ends when nothing refers to the core any more."""
        self._end()

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of RAM, and returns its address; as of the emulated core.

        Raises:
            EmulationError: there is no room left.
        """
        block = self._blocks.reserve(name, size_bytes, alignment, writable=writable, is_exact=is_exact)
        self._write(block.address, bytes([self._fill if fill is None else fill]) * size_bytes)
        return block.address

    def write(self, address: int, data: bytes) -> None:
        """Writes into one block or variable from outside.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        self._blocks.require_inside(address, len(data), "write")
        self._write(address, bytes(data))

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads from one block, variable or constant.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        self._blocks.require_inside(address, size_bytes, "read")
        try:
            return self._session.read(address, size_bytes)
        except BoardError as error:
            raise self._ended(error) from None

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 10_000_000_000,
    ) -> Call:
        """Calls a function by the procedure call standard of the core; arguments and result as of the emulated core.

        Raises:
            EmulationError: no such function; a forbidden or misaligned access; a fault; the limit was reached.
            ToolchainError: QEMU ended.
        """
        if function not in self._image.symbols:
            raise EmulationError(f"the image has no function {function!r}")
        if not self._end.alive:
            raise ToolchainError("QEMU does not run any more.")
        if operators != self._operators:
            self._set_operators(operators)
        try:
            stack = self._harness.begin(self._session, self._image.symbols[function].address, arguments)
            self._reset(stack)
            self._run(function, instruction_limit)
            value = self._session.register(self._harness.registers.arguments[0])
        except BoardError as error:
            raise self._ended(error) from None
        self._raise_if_noted()
        counts = self._counts.copy()
        counts[self._state.label] += np.uint64(self._state.instructions - self._state.label_start)
        return Call(
            value=value,
            instructions=self._state.instructions,
            by_operator=MappingProxyType({label: int(each) for label, each in zip(self._labels, counts, strict=False)}),
            stack_bytes=stack - self._state.lowest_stack,
            cycles_estimate=None,
            spent=None,
            vectors=self._state.vectors,
        )

    def _shared(self, first: int, places: np.ndarray[tuple[int], np.dtype[np.void]], harness: MemoryRange) -> IO[bytes]:
        """Makes the memory that the plugin sees, and returns it as a file without a name, which may be closed once both have it."""
        sizes = (ctypes.sizeof(State), 8 * _MOST_LABELS, RANGE.itemsize * _MOST_RANGES, places.nbytes)
        starts = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        file.truncate(starts[-1])
        shared = mmap.mmap(file.fileno(), starts[-1])
        self._state = State.from_buffer(shared)
        self._counts = np.frombuffer(shared, np.uint64, _MOST_LABELS, starts[1])
        self._ranges = np.frombuffer(shared, RANGE, _MOST_RANGES, starts[2])
        self._places = np.frombuffer(shared, PLACE, len(places), starts[3])
        self._places[:] = places
        state = self._state
        state.labels_at, state.ranges_at, state.places_at = starts[1:4]
        state.first_place, state.place_count = first, len(places)
        state.harness, state.harness_end = harness.address, harness.end
        return file

    def _set_operators(self, operators: Mapping[str, str]) -> None:
        labels = ("", *dict.fromkeys(label for label in operators.values() if label))
        if len(labels) > _MOST_LABELS:
            raise EmulationError(f"{len(labels):,} operators are too many for QEMU: {_MOST_LABELS:,} can be counted")
        numbers = {label: number for number, label in enumerate(labels)}
        self._places["label"] = 0
        for name, label in operators.items():
            symbol = self._image.symbols.get(name)
            if label and symbol and self._image.function_at(symbol.address):
                self._places["label"][(symbol.address - self._state.first_place) // 2] = numbers[label]
        self._operators, self._labels = dict(operators), labels

    def _reset(self, stack: int) -> None:
        state, ranges = self._state, self._blocks.ranges
        state.instructions = state.vectors = state.label_start = state.label = state.label_calls = state.calls = 0
        state.stack = state.lowest_stack = stack
        state.is_lost = state.verdict = state.last_range = 0
        self._counts[:] = 0
        self._ranges[: len(ranges)] = ranges
        state.range_count = len(ranges)

    def _run(self, function: str, limit: int) -> None:
        """Runs to the end of a call."""
        watch = _Watch(self._state, limit)
        try:
            signal = self._session.run(_WATCH_SECONDS, watch.goes_on)
        except NoAnswerError:
            where = self._session.register("pc")
            self._harness.recover(self._session)
            self._raise_if_noted()
            if self._state.instructions <= limit:
                raise
            self._raise(f"no end after {limit} instructions", where)
        if self._session.register("pc") & ~1 == self._harness.landing:
            if self._state.instructions > limit:
                self._raise(f"no end after {limit} instructions", self._image.symbols[function].address)
            return
        what, where = self._harness.fault(self._session, signal)
        self._harness.recover(self._session)
        self._raise_if_noted()
        self._raise(what, where)

    def _raise(self, what: str, where: int, address: int | None = None) -> None:
        raise EmulationError(
            what,
            function=self._image.function_at(where & ~1),
            operator=self._labels[self._state.label],
            address=where if address is None else address,
        )

    def _raise_if_noted(self) -> None:
        state, verdict = self._state, Verdict(self._state.verdict)
        where, address = state.fault_pc, state.fault_address
        position = f"{self._blocks.position(address, state.fault_size)}, instruction {where:#010x}"
        match verdict:
            case Verdict.RUNNING:
                return
            case Verdict.BAD_READ | Verdict.BAD_WRITE:
                kind = "read" if verdict is Verdict.BAD_READ else "write"
                self._raise(f"forbidden {kind} of {count_text(state.fault_size)}, {position},", where, address)
            case Verdict.MISALIGNED:
                self._raise(f"misaligned access of {count_text(state.fault_size)}, {position},", where, address)
            case Verdict.OUTSIDE_CODE:
                self._raise("execution of something that is not code", where)
            case Verdict.LOST_STACK:
                self._raise("the stack pointer cannot be followed, because it was set from another register,", where)
            case Verdict.TOO_DEEP:
                self._raise(f"more than {MOST_CALLS} calls inside of one another", where)

    def _write(self, address: int, data: bytes) -> None:
        try:
            self._session.write(address, data)
        except BoardError as error:
            raise self._ended(error) from None

    def _ended(self, error: BoardError) -> ToolchainError:
        """The error that QEMU has ended or does not answer; it is ended then."""
        told = self._end() or ""
        return ToolchainError(f"QEMU does not run any more: {told or error}")
