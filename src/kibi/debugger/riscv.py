"""What a debugger reads and sets in a RISC-V core of 32 bits: its extensions, its cycle counter, why it trapped.

Names and numbers are those of the privileged architecture; servers give its registers under them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from kibi.debugger.descriptions import Register
from kibi.debugger.packets import NoAnswerError
from kibi.debugger.processor import CallRegisters, Fault, Store
from kibi.debugger.session import Session
from kibi.errors import BoardError
from kibi.targets import InstructionSet, Target

_NAMES = (
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
    "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6", "pc",
)  # fmt: skip
_REGISTERS = CallRegisters(
    arguments=tuple(f"a{number}" for number in range(8)),
    link="ra",
    needed=("ra", "sp", *(f"a{number}" for number in range(8)), "pc"),
    by_number=MappingProxyType({name: Register(number, 32) for number, name in enumerate(_NAMES)}),
    return_bit=0,
    stack_alignment=16,
    stack_unit=16,
)
_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {"rv32imc": "IMC", "rv32imac": "IMAC", "rv32imafc": "IMAFC", "hazard3": "IMAC"}
)
_LETTERS = 26
_BITS = 32
_CAUSES: Mapping[int, str] = MappingProxyType(
    {
        0: "an instruction at an address that is not aligned", 1: "an instruction was fetched where none may be",
        2: "an illegal instruction", 3: "a breakpoint", 4: "a load from an address that is not aligned",
        5: "a load where none may be", 6: "a store to an address that is not aligned", 7: "a store where none may be",
        8: "a call of the environment", 11: "a call of the environment", 12: "a page fault of an instruction",
        13: "a page fault of a load", 15: "a page fault of a store",
    }
)  # fmt: skip
_CAUSE = 0x7FFF_FFFF
FLOATS_ON = 3 << 13
"""The bits of `mstatus` that let code use floats, in a core that has them; `start_riscv.c` sets the same."""


class CycleCounter:
    """The low half of `mcycle`.

    Args:
        session: with the core halted.

    Attributes:
        missing: why the core has no cycle counter; empty if it has one.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.missing = "" if _control(session, "mcycle") is not None else "the server does not show mcycle"

    def read(self) -> int:
        """Returns the count, modulo 2^32."""
        return self._session.register("mcycle") & 0xFFFF_FFFF


class RiscV:
    """Cores of 32 bits in machine mode."""

    instruction_set = InstructionSet.RISCV
    targets = tuple(_EXTENSIONS)
    start = Path(__file__).with_name("start_riscv.c")
    registers = _REGISTERS
    frame_bytes = 0

    def named(self, number: int, target: Target) -> tuple[str, bool]:
        """Names the core with these extensions in `misa`; 0 if it does not tell."""
        found = "".join(chr(ord("A") + bit) for bit in range(_LETTERS) if number >> bit & 1)
        is_right = set(_EXTENSIONS[target.name]) <= set(found)
        return (f"RISC-V RV32 with {found}", is_right) if number else ("RISC-V of 32 bits", True)

    def check(self, session: Session, target: Target) -> str:
        """Reads which extensions the core has; one that does not tell is taken for what the program is for."""
        if "xpsr" in session.described or session.described.get("pc", session.registers["pc"]).bits != _BITS:
            raise BoardError(
                f"{session.name} has a core that is no RISC-V of 32 bits, but the program is for {target.name}. Nothing was "
                "loaded."
            )
        name, is_right = self.named(_control(session, "misa") or 0, target)
        if not is_right:
            found = name.rpartition(" ")[2]
            missing = sorted(set(_EXTENSIONS[target.name]) - set(found))
            raise BoardError(
                f"{session.name} has a RISC-V core with the extensions {found}, but the program is for {target.name}, which "
                f"needs {', '.join(missing)}, too. Name the board that is there. Nothing was loaded."
            )
        return name

    def begin(self, session: Session) -> None:
        """Nothing: the program's preparation has set the state."""

    def set_up(self, session: Session, target: Target, vectors: int, store: Store) -> None:
        """Nothing: the program's preparation sets the handler of traps and the state of the floating-point unit."""

    def counter(self, session: Session, store: Store) -> CycleCounter:
        """The counter of cycles that runs in machine mode."""
        del store
        return CycleCounter(session)

    def fault(
        self, session: Session, target: Target, *, is_handler: bool, in_ram: Callable[[int], bool]
    ) -> Fault | None:
        """The trap that led to the handler."""
        del target, in_ram
        if not is_handler:
            return None
        cause, value = _control(session, "mcause"), _control(session, "mtval")
        words = [] if cause is None else [_CAUSES.get(cause & _CAUSE, "")]
        if value:
            words.append(f"mtval {value:#010x}")
        name = "trap" if cause is None else f"trap {cause & _CAUSE}"
        return Fault(
            name, _control(session, "mepc"), "; ".join(filter(None, words)), "at a place that the server does not show"
        )


def _control(session: Session, name: str) -> int | None:
    """A control register; None where the server does not show it."""
    if name not in session.registers:
        return None
    try:
        return session.register(name)
    except NoAnswerError:
        raise
    except BoardError:
        return None
