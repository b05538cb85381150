"""What calls functions on a machine of QEMU: the few instructions beside the program, and the registers of a call.

They are in RAM that no program has: an endless loop that faults lead to, one that functions return to, and a few instructions that
write registers of the core which QEMU does not write for a debugger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kibi.debugger import Session
from kibi.debugger.cortex_m import exception, fault_place, fault_words
from kibi.errors import BoardError
from kibi.targets import InstructionSet, Target
from kibi.toolchain import MemoryRange

_VECTORS, _FAULT, _SET, _LANDING = 0, 256, 264, 296
"""Where the parts are."""
_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a core stopped where it should not.

    Attributes:
        where: the address of the instruction, or 0 if it is not known.
        what: in words.
    """

    where: int
    what: str


class Harness(Protocol):
    """The harness of an instruction set."""

    arguments: Sequence[str]
    """The registers of a function's first arguments; the first one has its result, too."""
    stack_alignment: int
    landing: int
    """Where functions return to."""

    def install(self, session: Session) -> None:
        """Writes the instructions, sets their breakpoints, and brings the core to where functions can be called."""

    def begin(self, session: Session, function: int, stack: int) -> None:
        """Sets the registers of a call besides its arguments."""

    def fault(self, session: Session, signal: int) -> Fault:
        """Says why the core is not where a function returns to."""

    def recover(self, session: Session) -> None:
        """Brings the core back to where functions can be called."""


def harness_for(target: Target, place: MemoryRange, stack: MemoryRange) -> Harness:
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


class _CortexM:
    """That of Arm's M profile: `str r1, [r0]`, barriers, and loops."""

    arguments: Sequence[str] = ("r0", "r1", "r2", "r3")
    stack_alignment = 8
    _vtor, _cpacr, _fpu_access = 0xE000_ED08, 0xE000_ED88, 0xF << 20
    _thumb_state = 1 << 24
    _loop = _halves(0xE7FE)
    _store = _halves(0x6001, 0xF3BF, 0x8F4F, 0xF3BF, 0x8F6F)

    def __init__(self, target: Target, base: int, stack: MemoryRange) -> None:
        self._target, self._base, self._stack = target, base, stack
        self.landing = base + _LANDING

    def install(self, session: Session) -> None:
        session.write(self._base + _VECTORS, _words(self._stack.end, *[self._base + _FAULT | 1] * 15))
        for place, code in ((_FAULT, self._loop), (_SET, self._store + self._loop), (_LANDING, self._loop)):
            session.write(self._base + place, code)
            session.set_breakpoint(self._base + place + len(code) - len(self._loop))
        self._prepare(session)

    def begin(self, session: Session, function: int, stack: int) -> None:
        self._set(session, {"sp": stack, "lr": self.landing | 1, "pc": function, "xpsr": self._thumb_state})

    def fault(self, session: Session, signal: int) -> Fault:
        number, frame = exception(session), session.register("sp")
        if not number:
            return Fault(session.register("pc"), f"the core stopped with signal {signal}")
        where = fault_place(session, frame) if self._stack.holds(frame) else 0
        words = fault_words(session, self._target)
        return Fault(where, f"the core faulted{': ' if words else ''}{words}")

    def recover(self, session: Session) -> None:
        if exception(session):
            session.monitor("system_reset")
            self._prepare(session)

    def _prepare(self, session: Session) -> None:
        self._store_word(session, self._vtor, self._base + _VECTORS)
        if self._target.has_fpu:
            self._store_word(session, self._cpacr, self._fpu_access)

    def _store_word(self, session: Session, address: int, value: int) -> None:
        self._set(session, {"r0": address, "r1": value})
        self.begin(session, self._base + _SET, self._stack.end)
        session.run(_SECONDS)

    @staticmethod
    def _set(session: Session, values: Mapping[str, int]) -> None:
        for name, value in values.items():
            session.set_register(name, value)


class _Riscv:
    """That of RISC-V with 32 bits, in machine mode: `csrw mtvec, a0`, `csrw mstatus, a1`, and loops."""

    arguments: Sequence[str] = tuple(f"a{number}" for number in range(8))
    stack_alignment = 16
    _floats_on = 3 << 13
    _loop = _words(0x0000_006F)
    _write = _words(0x3055_1073, 0x3005_9073)
    _causes: Mapping[int, str] = {
        0: "a misaligned address of an instruction", 1: "an instruction was fetched where none may be",
        2: "an undefined instruction", 3: "a breakpoint", 4: "a misaligned read", 5: "a bus error for a read",
        6: "a misaligned write", 7: "a bus error for a write", 8: "a call of the system", 11: "a call of the system",
    }  # fmt: skip

    def __init__(self, target: Target, base: int, stack: MemoryRange) -> None:
        self._target, self._base, self._stack = target, base, stack
        self.landing = base + _LANDING

    def install(self, session: Session) -> None:
        for place, code in ((_FAULT, self._loop), (_SET, self._write + self._loop), (_LANDING, self._loop)):
            session.write(self._base + place, code)
            session.set_breakpoint(self._base + place + len(code) - len(self._loop))
        session.set_register("a0", self._base + _FAULT)
        session.set_register("a1", self._floats_on if self._target.has_fpu else 0)
        self.begin(session, self._base + _SET, self._stack.end)
        session.run(_SECONDS)

    def begin(self, session: Session, function: int, stack: int) -> None:
        for name, value in (("sp", stack), ("ra", self.landing), ("pc", function)):
            session.set_register(name, value)

    def fault(self, session: Session, signal: int) -> Fault:
        stopped = session.register("pc")
        if stopped != self._base + _FAULT:
            return Fault(stopped, f"the core stopped with signal {signal}")
        try:
            cause, where = session.register("mcause"), session.register("mepc")
        except BoardError:
            return Fault(0, "the core faulted")
        return Fault(where, f"the core faulted: {self._causes.get(cause, f'cause {cause:#x}')}")

    def recover(self, session: Session) -> None:
        """Nothing is to do: a trap leaves the core in the mode in which functions are called."""
        del session
