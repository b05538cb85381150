"""What a core on a board needs to know of its processor: registers of a call, what is set up first, why the core stopped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kibi.debugger.descriptions import Register
from kibi.debugger.session import Session
from kibi.targets import InstructionSet, Target

Store = Callable[[int, int], None]
"""Lets the core write a word to an address."""
_WORD = 1 << 32


@dataclass(frozen=True, slots=True)
class CallRegisters:
    """The registers of a call, by the names that servers give them.

    Attributes:
        arguments: of the first ones, in order; the first one has the result, too.
        link: the address to which a function returns.
        needed: all that a call reads or sets.
        by_number: these and what is between them, as servers without a description number them.
        return_bit: what is set in that address besides: 1 in Thumb state.
        stack_alignment: of the stack pointer where a function is called, in bytes.
        stack_unit: what the stack pointer is a multiple of everywhere: the least of it may have been written.
    """

    arguments: tuple[str, ...]
    link: str
    needed: tuple[str, ...]
    by_number: Mapping[str, Register]
    return_bit: int
    stack_alignment: int
    stack_unit: int

    def stacked(self, arguments: Sequence[int], end: int) -> tuple[int, bytes]:
        """Returns the stack pointer of a call, and the bytes from there on: the arguments for which there is no register.

        Args:
            arguments: all of them, as integers of 32 bits.
            end: the first address after the stack.
        """
        data = b"".join((each % _WORD).to_bytes(4, "little") for each in arguments[len(self.arguments) :])
        return (end - len(data)) & -self.stack_alignment, data


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a core is in no function.

    Attributes:
        name: of the fault, as the core numbers it.
        place: the address of the instruction; None where it cannot be read.
        why: what the core's registers say; may be empty.
        unknown: where it happened, if there is no place.
    """

    name: str
    place: int | None
    why: str
    unknown: str = ""


class Counter(Protocol):
    """A counter of the core's cycles, modulo 2^32.

    Attributes:
        missing: why the core has no cycle counter; empty if it has one.
    """

    missing: str

    def read(self) -> int:
        """Returns the count."""


class Processor(Protocol):
    """One family of cores.

    Attributes:
        instruction_set: of all these cores.
        targets: those whose code its cores run on boards.
        start: the C file that a program has besides its own, with the functions that `BoardCore` calls.
        registers: of a call.
        frame_bytes: what a fault puts on the stack.
    """

    instruction_set: InstructionSet
    targets: tuple[str, ...]
    start: Path
    registers: CallRegisters
    frame_bytes: int

    def named(self, number: int, target: Target) -> tuple[str, bool]:
        """Names a core.

        Args:
            number: by which it says what it is: CPUID, or misa.
            target: whose code it is to run.

        Returns:
            Its name, and whether it runs that code.
        """

    def check(self, session: Session, target: Target) -> str:
        """Returns the name of the core that answers.

        Raises:
            BoardError: it does not run the target's code, or is in a state from which nothing can be called.
        """

    def begin(self, session: Session) -> None:
        """Sets what a call needs besides its registers."""

    def set_up(self, session: Session, target: Target, vectors: int, store: Store) -> None:
        """Prepares the core, after the program's own preparation.

        Args:
            session: with the core halted.
            target: whose code it is.
            vectors: where the program's vectors are: at the beginning of its flash.
            store: lets the core write a word.

        Raises:
            BoardError: the core lacks what the target has.
        """

    def counter(self, session: Session, store: Store) -> Counter:
        """Starts the core's counter of cycles, if it has one."""

    def fault(
        self, session: Session, target: Target, *, is_handler: bool, in_ram: Callable[[int], bool]
    ) -> Fault | None:
        """Says which fault the core is in.

        Args:
            session: with the core halted.
            target: whose code it is.
            is_handler: True if it stopped where faults end.
            in_ram: whether what a fault puts on a stack at this address can be read.

        Returns:
            The fault; None for a core that stopped without one.
        """


def set_call(
    session: Session, processor: Processor, function: int, arguments: Sequence[int], stack: int, link: int
) -> None:
    """Sets the registers of a call.

    Args:
        session: with the core halted.
        processor: the core's family.
        function: its address.
        arguments: all of them; those that `CallRegisters.stacked` gives are in memory already.
        stack: the stack pointer.
        link: where the function returns to.

    Raises:
        BoardError: the server cannot write a register.
    """
    registers = processor.registers
    for name, argument in zip(registers.arguments, arguments, strict=False):
        session.set_register(name, argument % _WORD)
    session.set_register("sp", stack)
    session.set_register(registers.link, link | registers.return_bit)
    session.set_register("pc", function)
    processor.begin(session)
