"""The description of a variant of a kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kibi.ir import KernelCall


class Goal(StrEnum):
    """The goal of a model's plan and code."""

    SPEED = "speed"
    """The least time, at any cost in flash: few instructions and reads of flash, whole tensors, all the scratch that is of use."""
    BALANCED = "balanced"
    """The smallest arena; faster kernels only where their constants have about the same size."""
    FLASH = "flash"
    """The least flash: the kernels with which code and constants of the whole model are smallest, in the smallest arena."""


PARTS = 16
"""The price of speed where it is not all: what is faster may take one of so many parts of the least arena, and for a
smaller arena as large a part of the constants may be read once more."""


def _no_scratch(call: KernelCall, goal: Goal) -> int:
    """The scratch of variants that need none of their own."""
    del call, goal
    return 0


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel that computes what a general one does, from constants that were packed for it ahead of time.

    Attributes:
        kernel: its C name.
        of: the general kernel's.
        kernel_set: the set that a target must have, so that it gains.
        goals: those that it may serve: for speed, and balanced, the first that fits a layer is taken; for flash, what is smallest.
        pack: from the general call to its own; None where the layer does not fit it, which it proves from the constants. The call
            that it is given has as many bytes of scratch as it may take; it says how many it does take.
        gives_way_to: the kernel of a variant that fits every layer that this one fits and is nearly as fast. Balanced code has
            one of both: this one only where no layer needs the other. Empty: it never gives way.
        scratch_bytes: what it may take of scratch for a general call, where that has less; more where speed is the goal.
        is_frugal: False if it takes scratch for speed that the general kernel does without: with a limit of RAM, that one runs the
            layer where nothing else fits.
        is_for_copies: True if its constants are worth their bytes only where a plan has a copy of them in RAM: else the next
            variant of the same kernel that fits runs the layer.
        on_request: True if it runs a layer only where a plan names it: neither rules nor tuning take it.
    """

    kernel: str
    of: str
    kernel_set: str
    goals: frozenset[Goal]
    pack: Callable[[KernelCall], KernelCall | None]
    gives_way_to: str = ""
    scratch_bytes: Callable[[KernelCall, Goal], int] = _no_scratch
    is_frugal: bool = True
    is_for_copies: bool = False
    on_request: bool = False
