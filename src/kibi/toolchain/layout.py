"""Where the parts of a program are on a device: the addresses of its flash and of its RAM."""

from dataclasses import dataclass

from kibi.errors import ToolchainError
from kibi.targets import Runner, Target

_ADDRESSES = 1 << 32


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """A range of addresses.

    Attributes:
        address: the first one.
        size_bytes: its size, at least 1; it ends at 2^32 at the latest.
    """

    address: int
    size_bytes: int

    def __post_init__(self) -> None:
        if not 0 <= self.address < self.end <= _ADDRESSES:
            raise ToolchainError(
                f"no memory has {self.size_bytes:,} bytes from {self.address:#010x}. Give a range within 32 bits."
            )

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.size_bytes

    def holds(self, address: int, size_bytes: int = 1) -> bool:
        """True if all bytes from an address are in it."""
        return self.address <= address and address + size_bytes <= self.end


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """The memories that a program is linked for.

    Attributes:
        flash: code and constants, from its first address.
        ram: variables, from its first address.
    """

    flash: MemoryRange
    ram: MemoryRange

    @property
    def commands(self) -> str:
        """The MEMORY command of a linker script."""
        lines = (
            f"    {name} : ORIGIN = {memory.address:#010x}, LENGTH = {memory.size_bytes:#010x}"
            for name, memory in (("FLASH (rx)", self.flash), ("RAM (rwx)", self.ram))
        )
        return "\n".join(("MEMORY", "{", *lines, "}", ""))


LAYOUT = MemoryLayout(MemoryRange(0x0800_0000, 0x0800_0000), MemoryRange(0x2000_0000, 0x0800_0000))
"""That of the emulated core: the largest memories that a core of this family could have there."""


def layout_of(target: Target) -> MemoryLayout:
    """Returns the addresses that a program for a target is linked for where nothing else is said: those of what emulates it."""
    if target.runner is not Runner.QEMU or target.qemu is None:
        return LAYOUT
    return MemoryLayout(MemoryRange(*target.qemu.machine.flash), MemoryRange(*target.qemu.machine.ram))
