"""The emulated core: an image in flash, blocks in RAM, functions called, everything counted and guarded.

Instruction counts are exact: one for each instruction that the core fetches and passes. One that is skipped, because an
IT's condition fails, counts as one and takes one cycle, as it does on silicon and in the counts of QEMU's plugins. The
guard is exact to the byte: an access is checked before it happens. What differs between instruction sets is in `Architecture`.
"""

import ctypes
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from unicorn import unicorn_const

from kibi.emulator.architectures import architecture_of
from kibi.emulator.blocks import PAGE_BYTES, RAM_BYTES, Block, Blocks, Stored, count_text, round_up
from kibi.emulator.call import Call
from kibi.emulator.code import code_table
from kibi.emulator.engine import Engine
from kibi.emulator.hook import Flag, State, Verdict, hook_library
from kibi.emulator.waits import Waits
from kibi.errors import EmulationError
from kibi.targets import Memory, Target
from kibi.toolchain import FLASH_ADDRESS, RAM_ADDRESS, Image

_LANDING = 0x1FFF_FFE0  # where a called function returns to; nothing is there that a program may execute or access
_RETURN_REFILL_CYCLES = 1  # of the final return, whose target is not executed
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _LabelledCode:
    """The code table for calls that count operators.

    Attributes:
        operators: function name to operator label.
        labels: each label once; the first one is "".
        code: the table, whose functions know their labels' numbers; calls change nothing in it that later ones rely on.
    """

    operators: Mapping[str, str]
    labels: tuple[str, ...]
    code: np.ndarray[tuple[int], np.dtype[np.void]]


class Core:
    """One emulated processor with an image in its flash.

    Variables and blocks keep their contents from call to call, also after an error.

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
        audit: bool = False,
        memory: Memory | None = None,
        code_in_ram: bool = False,
        stored: Sequence[Stored] = (),
    ) -> None:
        """Loads the image.

        Args:
            image: the program.
            target: a target whose core is emulated.
            stack_bytes: the stack's size; more is an error when it is touched.
            fill: the byte that the stack and fresh blocks are filled with.
            audit: also check, ten times slower, that no access escapes the guard. For tests.
            memory: how the core reads its flash, at the clock of the target; None for no wait states. Cores without a timing
                table have no cycles, and wait for nothing.
            code_in_ram: True if code and its literals are in a RAM without wait states, and only constants are in flash.
            stored: what is in flash after the image; `stored_addresses` has their addresses.

        Raises:
            EmulationError: the target's core is not emulated, or the image does not fit.
            ToolchainError: the native hook cannot be compiled.
        """
        self._architecture = architecture_of(target)
        self._image, self._target, self._fill = image, target, fill
        self._engine = Engine(self._architecture, target.emulated_cpu)
        self._blocks = Blocks(image)
        self.stored_addresses = self._load(stored)
        self._code_first, self._code = code_table(image, target)
        self._labelled = self._labelled_code({})
        self._stack = self._blocks.reserve("stack", stack_bytes, self._architecture.stack_alignment, writable=True)
        self._engine.write(self._stack.address, bytes([fill]) * self._stack.size_bytes)
        self._waits = self._made_waits(memory, code_in_ram=code_in_ram)
        self._state = State()
        self._install_hooks(audit=audit)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks that the program may access, by address: the image's sections, the stack, and allocated memory."""
        return self._blocks.all

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of RAM, apart from all others; an access next to it is an error that names it.

        Args:
            name: for error texts.
            size_bytes: its size.
            alignment: its address is a multiple of it; a power of two.
            is_exact: True for an address that is no multiple of twice the alignment.
            writable: True if the program may write it.
            fill: the byte that it is filled with; by default the core's.

        Returns:
            Its address.

        Raises:
            EmulationError: there is no room left.
        """
        block = self._blocks.reserve(name, size_bytes, alignment, writable=writable, is_exact=is_exact)
        self._engine.write(block.address, bytes([self._fill if fill is None else fill]) * size_bytes)
        return block.address

    def write(self, address: int, data: bytes) -> None:
        """Writes into one block or variable from outside, whether or not the program may.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        self._blocks.require_inside(address, len(data), "write")
        self._engine.write(address, bytes(data))

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads from one block, variable or constant.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        self._blocks.require_inside(address, size_bytes, "read")
        return self._engine.read(address, size_bytes)

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 10_000_000_000,
    ) -> Call:
        """Calls a function by the procedure call standard of the core.

        An operator is counted from the first instruction of its function to its return, with all that it calls, even if
        that is another operator's function.

        Args:
            function: its name.
            arguments: 32-bit integers or addresses; those that have no register go on the stack.
            operators: function name to operator label. Several functions may have one label; a function that is not in
                the image, because the compiler inlined it, counts for its caller.
            instruction_limit: the most instructions that may be executed.

        Raises:
            EmulationError: no such function; a forbidden or misaligned access; an instruction that does not exist or
                leads outside the program; the limit was reached. The core can be called again.
        """
        if function not in self._image.symbols:
            raise EmulationError(f"the image has no function {function!r}")
        if operators != self._labelled.operators:
            self._labelled = self._labelled_code(operators)
        labels, code = self._labelled.labels, self._labelled.code
        counts = np.zeros(len(labels), dtype=np.uint64)
        stack = self._set_registers(arguments)
        entry = self._image.symbols[function].address
        state = self._reset_state(code, counts, entry, stack, instruction_limit)
        self._waits.begin(len(labels))
        error = self._run(entry)
        counts[state.label] += np.uint64(state.instructions - state.label_start)
        self._raise_if_stopped(error, labels[state.label], instruction_limit)
        spent = self._waits.end(state.label, state.cycles + _RETURN_REFILL_CYCLES)
        is_timed = self._target.timing is not None
        return Call(
            value=self._engine.register(self._architecture.arguments[0]),
            instructions=state.instructions,
            by_operator=_by_label(labels, counts),
            stack_bytes=stack - state.lowest_stack,
            cycles_estimate=sum(each.cycles for each in spent) if is_timed else None,
            spent=MappingProxyType(dict(zip(labels, spent, strict=True))) if is_timed else None,
        )

    def _made_waits(self, memory: Memory | None, *, code_in_ram: bool) -> Waits:
        segments = [each for each in self._image.segments if each.address < RAM_ADDRESS]
        if memory is None or self._target.timing is None or not segments:
            return Waits()
        end = max(block.end for block in self._blocks.all if block.address < RAM_ADDRESS)
        code_end = max((each.address + each.size_bytes for each in segments if each.executable), default=FLASH_ADDRESS)
        return Waits(memory, self._target.clock_hz, min(code_end, end) if code_in_ram else FLASH_ADDRESS, end)

    def _load(self, stored: Sequence[Stored]) -> tuple[int, ...]:
        """Maps flash and RAM, writes the image and what is stored after it, and returns the addresses of the latter."""
        addresses = tuple(map(self._blocks.store, stored))
        flash_bytes = max(round_up(self._blocks.flash_end - FLASH_ADDRESS, PAGE_BYTES), PAGE_BYTES)
        self._engine.map(FLASH_ADDRESS, flash_bytes, writable=False, executable=True)
        self._engine.map(_LANDING & -PAGE_BYTES, PAGE_BYTES, writable=False, executable=True)
        self._engine.map(RAM_ADDRESS, RAM_BYTES, writable=True, executable=False)
        for segment in self._image.segments:
            self._engine.write(segment.address, segment.data or bytes(segment.size_bytes))
        for address, each in zip(addresses, stored, strict=True):
            self._engine.write(address, each.data)
        if self._target.has_fpu:
            for register, value in self._architecture.float_settings:
                self._engine.set_register(register, value)
        return addresses

    def _install_hooks(self, *, audit: bool) -> None:
        hook, state = hook_library(), ctypes.byref(self._state)
        on_instruction = hook.kibi_on_waiting_instruction if self._waits.is_active else hook.kibi_on_instruction
        self._engine.add_hook(unicorn_const.UC_HOOK_CODE, on_instruction, state)
        if audit:
            accesses = unicorn_const.UC_HOOK_MEM_READ | unicorn_const.UC_HOOK_MEM_WRITE
            self._engine.add_hook(accesses, hook.kibi_on_access, state)
        self._state.read_register = self._engine.address_of("uc_reg_read")
        self._state.stop = self._engine.address_of("uc_emu_stop")
        self._state.waits = self._waits.address
        self._state.stack_register = self._architecture.stack
        self._state.return_register = self._architecture.return_address

    def _labelled_code(self, operators: Mapping[str, str]) -> _LabelledCode:
        labels = ("", *dict.fromkeys(label for label in operators.values() if label))
        numbers = {label: number for number, label in enumerate(labels)}
        code = self._code.copy()
        for name, label in operators.items():
            symbol = self._image.symbols.get(name)
            if label and symbol and self._image.function_at(symbol.address):
                entry = code[(symbol.address - self._code_first) // 2]
                entry["flags"] |= int(Flag.ENTERS)
                entry["label"] = numbers[label]
        return _LabelledCode(dict(operators), labels, code)

    def _set_registers(self, arguments: tuple[int, ...]) -> int:
        """Sets the registers of the arguments, and returns the stack pointer at the call."""
        registers, engine = self._architecture.arguments, self._engine
        stacked = b"".join((argument & 0xFFFF_FFFF).to_bytes(4, "little") for argument in arguments[len(registers) :])
        stack = (self._stack.end - len(stacked)) & -self._architecture.stack_alignment
        if stacked:
            engine.write(stack, stacked)
        for register, argument in zip(registers, arguments, strict=False):
            engine.set_register(register, argument & 0xFFFF_FFFF)
        engine.set_register(self._architecture.stack, stack)
        engine.set_register(self._architecture.return_address, _LANDING | self._architecture.code_bit)
        return stack

    def _reset_state(
        self, code: np.ndarray[tuple[int], np.dtype[np.void]], counts: np.ndarray[tuple[int], np.dtype[np.uint64]],
        entry: int, stack: int, limit: int,
    ) -> State:  # fmt: skip
        state = self._state
        state.instructions = state.cycles = state.waited = state.label_start = state.label = state.pending = 0
        state.verdict = int(Verdict.RUNNING)
        state.return_address = state.return_stack = state.predicted = 0
        state.limit, state.next, state.lowest_stack = limit, entry, stack
        state.by_label = counts.ctypes.data
        state.code, state.ranges = code.ctypes.data, self._blocks.ranges.ctypes.data
        state.code_first, state.code_count, state.range_count = self._code_first, len(code), len(self._blocks.ranges)
        return state

    def _run(self, entry: int) -> int:
        """Runs the core in a thread of its own, so that Ctrl-C stops it, and returns unicorn's error code."""
        codes: list[int] = []
        done = threading.Event()  # an interrupted Thread.join would take the thread for ended

        def run() -> None:
            codes.append(self._engine.run(entry | self._architecture.code_bit, _LANDING))
            done.set()

        threading.Thread(target=run).start()
        try:
            done.wait()
        finally:
            self._state.limit = 0
            done.wait()
        return codes[0]

    def _raise_if_stopped(self, error: int, operator: str, limit: int) -> None:
        state, verdict = self._state, Verdict(self._state.verdict)
        pc = self._engine.register(self._architecture.program_counter)
        if verdict is Verdict.RUNNING and not error and pc & ~1 == _LANDING:
            return
        last = state.next - 2  # inside the last instruction that was executed
        where, address = state.fault_pc, state.fault_address
        position = f"{self._blocks.position(address, state.fault_size)}, instruction {where:#010x}"
        match verdict:
            case Verdict.BAD_READ:
                what = f"forbidden read of {count_text(state.fault_size)}, {position},"
            case Verdict.BAD_WRITE:
                what = f"forbidden write of {count_text(state.fault_size)}, {position},"
            case Verdict.MISALIGNED:
                what = f"misaligned access of {count_text(state.fault_size)}, {position},"
            case Verdict.AT_LIMIT:
                what = f"no end after {limit} instructions"
            case Verdict.BAD_INSTRUCTION:
                what = f"undefined or unsupported instruction {self._opcode(where)}"
            case Verdict.OUTSIDE_CODE:
                what, where = "execution of something that is not code", last
            case Verdict.UNFORESEEN:
                what = f"access that the guard did not foresee, {position},"
            case _:
                where, address = last, pc
                what = (
                    f"the core stopped: {self._engine.describe(error)}"
                    if error
                    else "the core stopped without a reason"
                )
        raise EmulationError(what, function=self._image.function_at(where), operator=operator, address=address)

    def _opcode(self, address: int) -> str:
        """The instruction at an address as hexadecimal halfwords, the first one first."""
        entry = self._code[(address - self._code_first) // 2]
        data = self._engine.read(address, max(int(entry["width"]), 2))
        return " ".join(data[at : at + 2][::-1].hex() for at in range(0, len(data), 2))


def _by_label(labels: tuple[str, ...], counts: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Mapping[str, int]:
    return MappingProxyType({label: int(count) for label, count in zip(labels, counts, strict=True)})
