"""What a debugger reads and sets in a Cortex-M core: which core it is, its cycle counter, its vectors, why it faulted."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from kibi.debugger.descriptions import Register
from kibi.debugger.packets import NoAnswerError
from kibi.debugger.processor import CallRegisters, Fault, Store
from kibi.debugger.session import Session
from kibi.errors import BoardError
from kibi.targets import InstructionSet, Target

_CPUID, _VTOR, _CCR, _CPACR, _MVFR1 = 0xE000_ED00, 0xE000_ED08, 0xE000_ED14, 0xE000_ED88, 0xE000_EF44
_CFSR, _HFSR, _MMFAR, _BFAR = 0xE000_ED28, 0xE000_ED2C, 0xE000_ED34, 0xE000_ED38
_DEMCR, _DWT_CTRL, _DWT_CYCCNT, _DWT_LAR = 0xE000_EDFC, 0xE000_1000, 0xE000_1004, 0xE000_1FB0
_TRACE_ENABLED = 1 << 24
_NO_COUNTER, _COUNTER_ENABLED = 1 << 25, 1
_UNLOCK = 0xC5AC_CE55
_FPU_ACCESS = 0xF << 20
_LOOP_CACHE = 1 << 19
_VECTORS_SHIFT, _VECTORS_OF_FLOATS = 8, 2
_ARM = 0x41
_HIDDEN = "the core has no cycle counter, or the server hides it"
_EXCEPTION = 0x1FF
_FRAME_PC = 24
_PARTS: Mapping[int, str] = MappingProxyType(
    {
        0xC20: "Cortex-M0", 0xC60: "Cortex-M0+", 0xC21: "Cortex-M1", 0xC23: "Cortex-M3", 0xC24: "Cortex-M4",
        0xC27: "Cortex-M7", 0xD20: "Cortex-M23", 0xD21: "Cortex-M33", 0xD22: "Cortex-M55", 0xD23: "Cortex-M85",
    }
)  # fmt: skip
_RUNS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "cortex-m0plus": (0xC60, 0xC20), "cortex-m3": (0xC23,), "cortex-m4": (0xC24,), "cortex-m7": (0xC27,),
        "cortex-m33": (0xD21,), "cortex-m55": (0xD22,), "cortex-m85": (0xD23,),
    }
)  # fmt: skip
"""The cores that run the code of a target, instruction by instruction the same."""
_NEEDED = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc", "xpsr")
_REGISTERS = CallRegisters(
    arguments=("r0", "r1", "r2", "r3"),
    link="lr",
    needed=_NEEDED,
    by_number=MappingProxyType(
        {
            **{name: Register(number, 32) for number, name in enumerate(_NEEDED[:-1])},
            **{f"f{number}": Register(16 + number, 96) for number in range(8)},
            "fps": Register(24, 32),
            "xpsr": Register(25, 32),
        }
    ),
    return_bit=1,
    stack_alignment=8,
    stack_unit=4,
)
_THUMB_STATE = 1 << 24
_CAUSES: Mapping[int, str] = MappingProxyType(
    {
        0: "an instruction was fetched where none may be", 1: "an access that the memory protection forbids",
        3: "a fault while an exception returned", 4: "a fault while an exception began", 5: "a fault while floats were saved",
        8: "a bus error for an instruction", 9: "a bus error for an access", 10: "a bus error for an earlier write",
        11: "a bus error while an exception returned", 12: "a bus error while an exception began",
        13: "a bus error while floats were saved", 16: "an undefined instruction", 17: "a jump out of Thumb code",
        18: "a return from an exception that was none", 19: "an instruction of a coprocessor that is off",
        20: "a stack overflow", 24: "an unaligned access", 25: "a division by zero",
    }
)  # fmt: skip
"""What the bits of CFSR say."""


class CycleCounter:
    """The counter of DWT, which counts while the core runs.

    Args:
        session: with the core halted.
        store: lets the core write a word to an address.

    Attributes:
        missing: why the core has no cycle counter; empty if it has one.
    """

    def __init__(self, session: Session, store: Store) -> None:
        self._session = session
        self.missing = self._started(store)

    def read(self) -> int:
        """Returns the count, modulo 2^32."""
        return self._session.read_word(_DWT_CYCCNT)

    def _started(self, store: Store) -> str:
        control = self._readable(_DEMCR)
        if control is None:
            return _HIDDEN
        store(_DEMCR, control | _TRACE_ENABLED)
        control = self._readable(_DWT_CTRL)
        if control is None or not self._session.read_word(_DEMCR) & _TRACE_ENABLED:
            return _HIDDEN
        if control & _NO_COUNTER:
            return "the core has no cycle counter"
        store(_DWT_LAR, _UNLOCK)
        store(_DWT_CTRL, control | _COUNTER_ENABLED)
        is_on = (self._readable(_DWT_CTRL) or 0) & _COUNTER_ENABLED and self._readable(_DWT_CYCCNT) is not None
        return "" if is_on else "the cycle counter cannot be switched on"

    def _readable(self, address: int) -> int | None:
        """A register; None where the server cannot read it."""
        try:
            return self._session.read_word(address)
        except NoAnswerError:
            raise
        except BoardError:
            return None


class CortexM:
    """Arm's cores of the M profile: their exceptions, vectors, and the counter of DWT."""

    instruction_set = InstructionSet.THUMB
    targets = tuple(_RUNS)
    start = Path(__file__).with_name("start_cortex_m.c")
    registers = _REGISTERS
    frame_bytes = 104
    """With floats."""

    def named(self, number: int, target: Target) -> tuple[str, bool]:
        """Names the core with a CPUID."""
        part = number >> 4 & 0xFFF
        if number >> 24 != _ARM or part not in _PARTS:
            return f"a core with the CPUID {number:#010x}", False
        return f"{_PARTS[part]} r{number >> 20 & 15}p{number & 15}", part in _RUNS.get(target.name, ())

    def check(self, session: Session, target: Target) -> str:
        """Reads the core's number, and whether it is in an exception."""
        if "ra" in session.described and "xpsr" not in session.described:
            raise BoardError(
                f"{session.name} has a core that is no Cortex-M, but the program is for {target.name}. Nothing was loaded."
            )
        found, is_right = self.named(session.read_word(_CPUID), target)
        if not is_right:
            raise BoardError(
                f"{session.name} has {found}, but the program is for {target.name}. Name the board that is there, or the "
                "server's other core. Nothing was loaded."
            )
        if number := exception(session):
            raise BoardError(
                f"{session.name} halted the core in exception {number}, and did not reset it. Reset and halt it, or let "
                "the server do so when it starts. Nothing was loaded."
            )
        return found

    def begin(self, session: Session) -> None:
        """Sets Thumb state, outside of conditions."""
        session.set_register("xpsr", _THUMB_STATE)

    def set_up(self, session: Session, target: Target, vectors: int, store: Store) -> None:
        """Gives the core its vectors, where it lets them be moved, its floating-point unit, and what its loops need."""
        store(_VTOR, vectors)  # Cortex-M0 has none, and takes those of its flash
        if target.has_fpu:
            store(_CPACR, session.read_word(_CPACR) | _FPU_ACCESS)
            if session.read_word(_CPACR) & _FPU_ACCESS != _FPU_ACCESS:
                raise BoardError(
                    f"{session.name} has a core without a floating-point unit, but code for {target.name} uses one."
                )
        if target.has_vectors:
            if session.read_word(_MVFR1) >> _VECTORS_SHIFT & 0xF < _VECTORS_OF_FLOATS:
                raise BoardError(
                    f"{session.name} has a core without Helium for integers and floats, but code for {target.name} uses it."
                )
            # After a reset each iteration of a low-overhead loop branches: makers' start-up code switches the cache on.
            store(_CCR, session.read_word(_CCR) | _LOOP_CACHE)

    def counter(self, session: Session, store: Store) -> CycleCounter:
        """The counter of DWT."""
        return CycleCounter(session, store)

    def fault(
        self, session: Session, target: Target, *, is_handler: bool, in_ram: Callable[[int], bool]
    ) -> Fault | None:
        """The exception that the core is in, with the place that it has put on its stack."""
        del is_handler
        number = exception(session)
        if not number:
            return None
        place, unknown = None, "on a bad stack"
        try:
            frame = session.register("sp")
            if in_ram(frame):
                place = session.read_word(frame + _FRAME_PC)
        except BoardError:
            unknown = "at a place that cannot be read"
        return Fault(f"exception {number}", place, _why(session, target), unknown)


def exception(session: Session) -> int:
    """The number of the exception that the core is in; 0 for none."""
    return session.register("xpsr") & _EXCEPTION


def _why(session: Session, target: Target) -> str:
    """Says why the core faulted, as its registers tell; empty on cores without these."""
    if target.name == "cortex-m0plus":
        return ""
    try:
        cfsr, hfsr = session.read_word(_CFSR), session.read_word(_HFSR)
        return "; ".join(_causes(session, cfsr, hfsr))
    except BoardError:
        return ""


def _causes(session: Session, cfsr: int, hfsr: int) -> Iterator[str]:
    yield from (text for bit, text in _CAUSES.items() if cfsr >> bit & 1)
    for valid, register in ((7, _MMFAR), (15, _BFAR)):
        if cfsr >> valid & 1:
            yield f"at {session.read_word(register):#010x}"
    if hfsr >> 1 & 1:
        yield "the vector of an exception could not be read"
    yield f"CFSR {cfsr:#010x}, HFSR {hfsr:#010x}"
