"""What calls functions on a machine of QEMU, where the program has no code for it: a few instructions beside the program.

They are in RAM that no program has: an endless loop that faults lead to, one that functions return to, and a few instructions that
write registers of the core which QEMU does not write for a debugger.
"""

from abc import ABC, abstractmethod

from kibi.debugger import Session, family_of, set_call
from kibi.debugger.cortex_m import exception
from kibi.debugger.riscv import FLOATS_ON
from kibi.targets import InstructionSet, Target
from kibi.toolchain import MemoryRange

_VECTORS, _FAULT, _WRITE, _LANDING = 0, 256, 264, 296
"""Where the parts are."""
_VECTOR_COUNT = 16
_SECONDS = 20


def harness_for(target: Target, place: MemoryRange, stack: MemoryRange) -> "Harness":
    """Returns the harness of a target.

    Args:
        target: the processor.
        place: the RAM that is for the harness.
        stack: that of functions.
    """
    made = _Riscv if target.instruction_set is InstructionSet.RISCV else _CortexM
    return made(target, place.address, stack)


def _halves(*values: int) -> bytes:
    return b"".join(each.to_bytes(2, "little") for each in values)


def _words(*values: int) -> bytes:
    return b"".join(each.to_bytes(4, "little") for each in values)


class Harness(ABC):
    """The harness of an instruction set.

    Args:
        target: the processor.
        base: where it is.
        stack: that of functions.

    Attributes:
        registers: of a call.
        landing: where functions return to.
    """

    _loop: bytes
    _writing: bytes
    """Writes what a debugger cannot write, from the first two arguments."""

    def __init__(self, target: Target, base: int, stack: MemoryRange) -> None:
        self._target, self._base, self._stack = target, base, stack
        self._processor = family_of(target)
        self.registers = self._processor.registers
        self.landing = base + _LANDING

    def install(self, session: Session) -> None:
        """Writes the instructions, sets their breakpoints, and brings the core to where functions can be called."""
        for place, code in ((_FAULT, self._loop), (_WRITE, self._writing + self._loop), (_LANDING, self._loop)):
            session.write(self._base + place, code)
            session.set_breakpoint(self._base + place + len(code) - len(self._loop))
        self._prepare(session)

    def begin(self, session: Session, function: int, arguments: tuple[int, ...]) -> int:
        """Sets the registers of a call and the arguments on the stack, and returns the stack pointer."""
        stack, stacked = self.registers.stacked(arguments, self._stack.end)
        if stacked:
            session.write(stack, stacked)
        set_call(session, self._processor, function, arguments, stack, self.landing)
        return stack

    def fault(self, session: Session, signal: int) -> tuple[str, int]:
        """Says why the core is not where a function returns to, and the address of the instruction, or 0."""
        stopped = session.register("pc")
        is_handler = stopped == self._base + _FAULT
        fault = self._processor.fault(session, self._target, is_handler=is_handler, in_ram=self._stack.holds)
        if fault is None:
            return f"the core stopped with signal {signal}", stopped
        return f"the core faulted ({fault.name}){': ' if fault.why else ''}{fault.why}", fault.place or 0

    @abstractmethod
    def recover(self, session: Session) -> None:
        """Brings the core back to where functions can be called."""

    @abstractmethod
    def _prepare(self, session: Session) -> None:
        """Sets the core up as a program for a board does by itself."""

    def _write(self, session: Session, *arguments: int) -> None:
        self.begin(session, self._base + _WRITE, arguments)
        session.run(_SECONDS)


class _CortexM(Harness):
    """That of Arm's M profile: `str r1, [r0]`, barriers, and loops."""

    _loop = _halves(0xE7FE)
    _writing = _halves(0x6001, 0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F)

    def recover(self, session: Session) -> None:
        if exception(session):
            session.monitor("system_reset")
            self._prepare(session)

    def _prepare(self, session: Session) -> None:
        handlers = [self._base + _FAULT | 1] * (_VECTOR_COUNT - 1)
        session.write(self._base + _VECTORS, _words(self._stack.end, *handlers))
        self._processor.set_up(
            session, self._target, self._base + _VECTORS, lambda address, value: self._write(session, address, value)
        )


class _Riscv(Harness):
    """That of RISC-V with 32 bits, in machine mode: `csrw mtvec, a0`, `csrw mstatus, a1`, and loops."""

    _loop = _words(0x0000_006F)
    _writing = _words(0x3055_1073, 0x3005_9073)

    def recover(self, session: Session) -> None:
        """Nothing is to do: a trap leaves the core in the mode in which functions are called."""

    def _prepare(self, session: Session) -> None:
        self._write(session, self._base + _FAULT, FLOATS_ON if self._target.has_fpu else 0)
