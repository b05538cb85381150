"""An instruction set, as the emulated core sees it: the registers of a call, and what each instruction does to memory and stack."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kibi.emulator.costs import UNKNOWN, Cost
from kibi.targets import Target


@dataclass(frozen=True, slots=True)
class Step:
    """What the hook needs of one instruction at its place. Registers have unicorn's numbers.

    Attributes:
        address: where it is.
        width: its bytes, 2 or 4.
        is_refused: True if the core stops before it: it is undefined on the target, or nothing that a kernel may use.
        base, index: the registers that its address is the sum of, the second one shifted left by `shift`; 0 for none.
        offset: the number that is added to them.
        size: bytes that it accesses, all in one piece; 0 for an instruction that accesses nothing.
        align: what the address must be a multiple of; a power of two.
        is_store: True if it writes what it accesses.
        lowers_stack: True if the stack pointer may be lower afterwards.
        is_conditional: True if the core may skip it, although no branch leads past it.
        is_predicted: True for a branch of a core that predicts the last one that it took backward.
        cost: its cycles; zeros where no table exists.
    """

    address: int
    width: int
    is_refused: bool = False
    base: int = 0
    index: int = 0
    shift: int = 0
    offset: int = 0
    size: int = 0
    align: int = 1
    is_store: bool = False
    lowers_stack: bool = False
    is_conditional: bool = False
    is_predicted: bool = False
    cost: Cost = UNKNOWN


Decoder = Callable[[int, bytes, Target], tuple[Step, ...]]
"""From a piece of code without data in it, its address, and the target, to its instructions."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """One instruction set and its procedure call standard. Registers and other numbers are unicorn's.

    Attributes:
        number, mode: what `uc_open` wants.
        processors: the models of cores by the names that targets give them.
        arguments: the registers of a function's first arguments; the first one has its result, too.
        stack, return_address, program_counter: the registers that the standard gives these meanings.
        stack_alignment: what the stack pointer is a multiple of at a call.
        code_bit: what is set in the address of a function, 1 on a core with Thumb code, else 0.
        float_settings: registers and what they are set to, so that floating-point instructions are executed.
        decode: what the instructions of a piece of code do.
    """

    number: int
    mode: int
    processors: Mapping[str, int]
    arguments: tuple[int, ...]
    stack: int
    return_address: int
    program_counter: int
    stack_alignment: int
    code_bit: int
    float_settings: tuple[tuple[int, int], ...]
    decode: Decoder


def processors_of(constants: Mapping[str, object], prefix: str) -> Mapping[str, int]:
    """The processors among unicorn's constants, by their names without a prefix."""
    return {
        name.removeprefix(prefix): number
        for name, number in constants.items()
        if name.startswith(prefix) and isinstance(number, int)
    }
