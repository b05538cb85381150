"""What a core on a board needs to know of its processor: registers of a call, what is set up first, why the core stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kibi.debugger.descriptions import Register
from kibi.debugger.session import Session
from kibi.targets import Target

Store = Callable[[int, int], None]
"""Lets the core write a word to an address."""


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
        targets: those whose code its cores run.
        start: the C file that a program has besides its own, with the functions that `BoardCore` calls.
        registers: of a call.
        frame_bytes: what a fault puts on the stack.
    """

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
            vectors: where the program's flash begins.
            store: lets the core write a word.

        Raises:
            BoardError: the core lacks what the target has.
        """

    def counter(self, session: Session, store: Store) -> Counter:
        """Starts the core's counter of cycles, if it has one."""

    def fault(
        self, session: Session, target: Target, *, is_handler: bool, in_ram: Callable[[int], bool]
    ) -> "Fault | None":
        """Says which fault the core is in.

        Args:
            session: with the core halted.
            target: whose code it is.
            is_handler: True if it stopped where faults end.
            in_ram: whether what a fault puts on a stack at this address can be read.

        Returns:
            The fault; None for a core that stopped without one.
        """


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
