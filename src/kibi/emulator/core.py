"""The emulated core: an image in flash, blocks in RAM, functions called, everything counted and guarded.

Instruction counts are exact: one for each instruction that the core fetches and passes. One that is skipped, because an
IT's condition fails, counts as one and takes one cycle, as it does on silicon and in the counts of QEMU's plugins. The
guard is exact to the byte: an access is checked before it happens.
"""

import ctypes
import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from unicorn import arm_const, unicorn_const

from kibi.emulator.code import code_table
from kibi.emulator.engine import Engine
from kibi.emulator.hook import RANGE, Flag, State, Verdict, hook_library
from kibi.emulator.waits import Spent, Stalls, Waits
from kibi.errors import EmulationError
from kibi.targets import Memory, Target
from kibi.toolchain import FLASH_ADDRESS, RAM_ADDRESS, Image

_PAGE_BYTES = 4096
_RAM_BYTES = 128 * 1024 * 1024
_GAP_BYTES = 64  # between two blocks, so that no access reaches from one into the next unseen
_LANDING = 0x1FFF_FFE0  # where a called function returns to; nothing is there
_MAX_BLOCKS = 250
_RETURN_REFILL_CYCLES = 1  # of the final return, whose target is not executed
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of memory that the program may access."""

    name: str
    address: int
    size_bytes: int
    writable: bool

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.size_bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes in flash after the image, which the program is given by address and may only read.

    Attributes:
        name: for error texts.
        data: the bytes.
        alignment: their address is a multiple of it; a power of two.
    """

    name: str
    data: bytes
    alignment: int


@dataclass(frozen=True, slots=True)
class Call:
    """The result of one call.

    Attributes:
        value: the function's result, register r0, 0 to 2^32 - 1.
        instructions: instructions from the function's first to its return, with those that an IT's condition skips.
        by_operator: those instructions by operator label; the label "" is what ran outside all operators. Their sum is
            `instructions`.
        stack_bytes: the most that the stack held, without arguments passed on it.
        cycles_estimate: cycles by Arm's published tables, see `kibi.emulator.cycles`, and those that the core waits for its
            memory; None where no table exists.
        spent: these cycles by operator label; None where no table exists.
    """

    value: int
    instructions: int
    by_operator: Mapping[str, int]
    stack_bytes: int
    cycles_estimate: int | None
    spent: Mapping[str, Spent] | None

    @property
    def cycles_by_operator(self) -> Mapping[str, int]:
        """The cycles by operator label, whose sum they are; empty where no table exists."""
        return {label: each.cycles for label, each in (self.spent or {}).items()}

    @property
    def stalls(self) -> Stalls | None:
        """The cycles that the core waits for its memory; None where no timing table exists."""
        return None if self.spent is None else sum((each.stalls for each in self.spent.values()), Stalls())

    def then(self, other: "Call") -> "Call":
        """This call and the next one as one call: counts are added, and the deeper stack counts."""
        estimates = (self.cycles_estimate, other.cycles_estimate)
        spent = None
        if self.spent is not None and other.spent is not None:
            labels = {**self.spent, **other.spent}
            spent = {each: self.spent.get(each, Spent()) + other.spent.get(each, Spent()) for each in labels}
        return Call(
            value=other.value,
            instructions=self.instructions + other.instructions,
            by_operator=_added(self.by_operator, other.by_operator),
            stack_bytes=max(self.stack_bytes, other.stack_bytes),
            cycles_estimate=None if None in estimates else sum(each or 0 for each in estimates),
            spent=spent,
        )

    @property
    def signed_value(self) -> int:
        """The function's result as a signed number, for status codes."""
        return self.value - (1 << 32) if self.value >= 1 << 31 else self.value


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
    """

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
        if not target.emulated_cpu:
            raise EmulationError(f"the target {target.name} is not emulated. Choose one of the Cortex-M cores")
        self._image, self._target, self._fill = image, target, fill
        self._engine = Engine(target.emulated_cpu)
        self._blocks: list[Block] = []
        self._ranges = np.zeros(0, dtype=RANGE)
        self.stored_addresses = self._load(stored)
        self._code_first, self._code = code_table(image, target)
        self._labelled = self._labelled_code({})
        self._stack = self._add_block("stack", stack_bytes, 8, writable=True)
        self._engine.write(self._stack.address, bytes([fill]) * self._stack.size_bytes)
        self._waits = self._made_waits(memory, code_in_ram=code_in_ram)
        self._state = State()
        self._install_hooks(audit=audit)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks that the program may access, by address: the image's sections, the stack, and allocated memory."""
        return tuple(self._blocks)

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
        block = self._add_block(name, size_bytes, alignment, writable=writable, is_exact=is_exact)
        self._engine.write(block.address, bytes([self._fill if fill is None else fill]) * size_bytes)
        return block.address

    def write(self, address: int, data: bytes) -> None:
        """Writes into one block or variable from outside, whether or not the program may.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        self._require_inside(address, len(data), "write")
        self._engine.write(address, bytes(data))

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads from one block, variable or constant.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        self._require_inside(address, size_bytes, "read")
        return self._engine.read(address, size_bytes)

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 10_000_000_000,
    ) -> Call:
        """Calls a function by the Arm procedure call standard.

        An operator is counted from the first instruction of its function to its return, with all that it calls, even if
        that is another operator's function.

        Args:
            function: its name.
            arguments: 32-bit integers or addresses; the fifth and following go on the stack.
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
            value=self._engine.register(arm_const.UC_ARM_REG_R0),
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
        end = max(block.end for block in self._blocks if block.address < RAM_ADDRESS)
        code_end = max((each.address + each.size_bytes for each in segments if each.executable), default=FLASH_ADDRESS)
        return Waits(memory, self._target.clock_hz, min(code_end, end) if code_in_ram else FLASH_ADDRESS, end)

    def _load(self, stored: Sequence[Stored]) -> tuple[int, ...]:
        """Maps flash and RAM, writes the image and what is stored after it, and returns the addresses of the latter."""
        flash_end, addresses = FLASH_ADDRESS, []
        for segment in self._image.segments:
            self._blocks.append(Block(segment.name, segment.address, segment.size_bytes, segment.writable))
            flash_end = flash_end if segment.writable else max(flash_end, segment.address + segment.size_bytes)
        for each in stored:
            addresses.append(_round_up(flash_end + _GAP_BYTES, each.alignment))
            flash_end = addresses[-1] + len(each.data)
            if flash_end > RAM_ADDRESS - _PAGE_BYTES:
                raise EmulationError(f"no room for {each.name!r}: {len(each.data)} bytes in flash, after the image")
            self._blocks.append(Block(each.name, addresses[-1], len(each.data), writable=False))
        flash_bytes = max(_round_up(flash_end - FLASH_ADDRESS, _PAGE_BYTES), _PAGE_BYTES)
        self._engine.map(FLASH_ADDRESS, flash_bytes, writable=False, executable=True)
        self._engine.map(RAM_ADDRESS, _RAM_BYTES, writable=True, executable=False)
        for segment in self._image.segments:
            self._engine.write(segment.address, segment.data or bytes(segment.size_bytes))
        for address, each in zip(addresses, stored, strict=True):
            self._engine.write(address, each.data)
        if self._target.has_fpu:
            full_access = 0xF << 20  # coprocessors 10 and 11
            self._engine.set_register(arm_const.UC_ARM_REG_C1_C0_2, full_access)
            self._engine.set_register(arm_const.UC_ARM_REG_FPEXC, 1 << 30)
        return tuple(addresses)

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

    def _add_block(
        self, name: str, size_bytes: int, alignment: int, *, writable: bool, is_exact: bool = False
    ) -> Block:
        used = max((block.end for block in self._blocks if block.address >= RAM_ADDRESS), default=RAM_ADDRESS)
        address = (
            _round_up(used + _GAP_BYTES, 2 * alignment) + alignment
            if is_exact
            else _round_up(used + _GAP_BYTES, alignment)
        )
        if address + size_bytes + _GAP_BYTES > RAM_ADDRESS + _RAM_BYTES or len(self._blocks) >= _MAX_BLOCKS:
            raise EmulationError(
                f"no room for {name!r}: {size_bytes} bytes in {_RAM_BYTES} of RAM, block {len(self._blocks) + 1} "
                f"of at most {_MAX_BLOCKS}",
                address=address,
            )
        block = Block(name, address, size_bytes, writable)
        self._blocks.append(block)
        self._blocks.sort(key=lambda entry: entry.address)
        entries = [(entry.address, entry.end, int(entry.writable)) for entry in self._blocks]
        self._ranges = np.array(entries, dtype=RANGE)
        return block

    def _require_inside(self, address: int, size_bytes: int, access: str) -> None:
        if not any(block.address <= address and address + size_bytes <= block.end for block in self._blocks):
            raise EmulationError(
                f"{access} of {size_bytes} bytes from outside, {self._position(address, size_bytes)}", address=address
            )

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
        stacked = b"".join((argument & 0xFFFF_FFFF).to_bytes(4, "little") for argument in arguments[4:])
        stack = (self._stack.end - len(stacked)) & ~7
        if stacked:
            self._engine.write(stack, stacked)
        for number, argument in enumerate(arguments[:4]):
            self._engine.set_register(arm_const.UC_ARM_REG_R0 + number, argument & 0xFFFF_FFFF)
        self._engine.set_register(arm_const.UC_ARM_REG_SP, stack)
        self._engine.set_register(arm_const.UC_ARM_REG_LR, _LANDING | 1)
        return stack

    def _reset_state(
        self, code: np.ndarray[tuple[int], np.dtype[np.void]], counts: np.ndarray[tuple[int], np.dtype[np.uint64]],
        entry: int, stack: int, limit: int,
    ) -> State:  # fmt: skip
        state = self._state
        state.instructions = state.cycles = state.waited = state.label_start = state.label = state.pending = 0
        state.verdict = int(Verdict.RUNNING)
        state.return_address = state.return_stack = 0
        state.limit, state.next, state.lowest_stack = limit, entry, stack
        state.by_label = counts.ctypes.data
        state.code, state.ranges = code.ctypes.data, self._ranges.ctypes.data
        state.code_first, state.code_count, state.range_count = self._code_first, len(code), len(self._ranges)
        return state

    def _run(self, entry: int) -> int:
        """Runs the core in a thread of its own, so that Ctrl-C stops it, and returns unicorn's error code."""
        codes: list[int] = []
        done = threading.Event()  # an interrupted Thread.join would take the thread for ended

        def run() -> None:
            codes.append(self._engine.run(entry | 1, _LANDING))
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
        pc = self._engine.register(arm_const.UC_ARM_REG_PC)
        if verdict is Verdict.RUNNING and not error and pc & ~1 == _LANDING:
            return
        last = state.next - 2  # inside the last instruction that was executed
        where, address = state.fault_pc, state.fault_address
        position = f"{self._position(address, state.fault_size)}, instruction {where:#010x}"
        match verdict:
            case Verdict.BAD_READ:
                what = f"forbidden read of {_count(state.fault_size)}, {position},"
            case Verdict.BAD_WRITE:
                what = f"forbidden write of {_count(state.fault_size)}, {position},"
            case Verdict.MISALIGNED:
                what = f"misaligned access of {_count(state.fault_size)}, {position},"
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
        return self._engine.read(address, 2)[::-1].hex()

    def _position(self, address: int, size_bytes: int) -> str:
        """Describes in words where an access is, relative to the nearest block."""
        blocks = self._blocks
        before = bisect_right(blocks, address, key=lambda block: block.address) - 1
        if before >= 0 and address < blocks[before].end:
            block = blocks[before]
            beyond = address + size_bytes - block.end
            return (
                f"reaching {_count(beyond)} past the end of {block.name}"
                if beyond > 0
                else f"inside {block.name}" + ("" if block.writable else ", which is read-only")
            )
        past = address - blocks[before].end if before >= 0 else None
        ahead = blocks[before + 1].address - address if before + 1 < len(blocks) else None
        if past is not None and (ahead is None or past < ahead):
            return f"{_count(past + 1)} past the end of {blocks[before].name}"
        return f"{_count(ahead or 0)} before the start of {blocks[before + 1].name}"


def _by_label(labels: tuple[str, ...], counts: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Mapping[str, int]:
    return MappingProxyType({label: int(count) for label, count in zip(labels, counts, strict=True)})


def _added(first: Mapping[str, int], second: Mapping[str, int]) -> Mapping[str, int]:
    """The sums by label."""
    return MappingProxyType({each: first.get(each, 0) + second.get(each, 0) for each in {**first, **second}})


def _count(size_bytes: int) -> str:
    return "1 byte" if size_bytes == 1 else f"{size_bytes} bytes"


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
