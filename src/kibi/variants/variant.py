"""What a variant of a kernel says of itself."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from kibi.ir import KernelCall


class Goal(Enum):
    """What a library's code is good at."""

    SPEED = "speed"
    """The fewest instructions, whatever the flash."""
    BALANCED = "balanced"
    """Faster kernels where what they store is about as large."""
    FLASH = "flash"
    """The least flash: one kernel for all layers of a kind."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel that computes what a general one does, from constants that were packed for it ahead of time.

    Attributes:
        kernel: its C name.
        of: the general kernel's.
        kernel_set: the set that a target must have, so that it gains.
        goals: the goals for which it is taken without measuring.
        pack: from the general call to its own; None where the layer does not fit it, which it proves from the constants. It
            keeps to the scratch, the overlaps and the order of steps of the general call: plans do not depend on the choice.
        gives_way_to: the kernel of a variant that fits every layer that this one fits and is nearly as fast. Balanced code has
            one of both: this one only where no layer needs the other. Empty: there is none.
    """

    kernel: str
    of: str
    kernel_set: str
    goals: frozenset[Goal]
    pack: Callable[[KernelCall], KernelCall | None]
    gives_way_to: str = ""
