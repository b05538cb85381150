"""Machines of QEMU, as data: which one runs the code of a target, and where its memories are."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

HARNESS_BYTES = 4096
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Machine:
    """A board that QEMU emulates, with the memories that a measured program is linked for.

    Attributes:
        name: QEMU's name of the board.
        program: the command of QEMU that has it.
        package: Debian's package with that command.
        options: further options of the command.
        flash: the first address and the size in bytes of the memory for code and constants.
        ram: the same of the memory for variables, blocks and stack.
        harness: the first address of `HARNESS_BYTES` of RAM after it, which are for what calls functions.
    """

    name: str
    program: str
    package: str
    options: tuple[str, ...]
    flash: tuple[int, int]
    ram: tuple[int, int]
    harness: int


@dataclass(frozen=True, slots=True)
class Qemu:
    """How QEMU runs the code of a target.

    Attributes:
        machine: the board.
        cpu: QEMU's name of the core, and what is switched on or off in it.
        replaces: why that core replaces the target's; empty where it is the same.
    """

    machine: Machine
    cpu: str
    replaces: str = ""

    @property
    def core(self) -> str:
        """QEMU's name of the core alone."""
        return self.cpu.partition(",")[0]


def _arm(name: str, flash: tuple[int, int], ram: tuple[int, int]) -> Machine:
    size = ram[1] - HARNESS_BYTES
    return Machine(name, "qemu-system-arm", "qemu-system-arm", (), flash, (ram[0], size), ram[0] + size)


_SRAM = (0, 4 * _MEGABYTE)
_PSRAM = (0x2100_0000, 16 * _MEGABYTE)
MACHINES: Mapping[str, Machine] = MappingProxyType({
    each.name: each
    for each in (
        _arm("mps2-an385", _SRAM, _PSRAM),
        _arm("mps2-an386", _SRAM, _PSRAM),
        _arm("mps2-an500", _SRAM, (0x6000_0000, 16 * _MEGABYTE)),
        # Secure addresses, because the core starts in the secure state; data may be in memory that is not secure.
        _arm("mps2-an505", (0x1000_0000, 4 * _MEGABYTE), (0x8000_0000, 16 * _MEGABYTE)),
        _arm("mps3-an547", (0x7000_0000, 128 * _MEGABYTE), (0x7800_0000, 64 * _MEGABYTE)),
        Machine(
            "virt", "qemu-system-riscv32", "qemu-system-misc", ("-bios", "none", "-m", "128M"), (0x8000_0000, 64 * _MEGABYTE),
            (0x8400_0000, 64 * _MEGABYTE - HARNESS_BYTES), 0x8800_0000 - HARNESS_BYTES,
        ),
    )
})  # fmt: skip
"""By their names. Arm's boards have RAM where firmware expects flash, so that models of megabytes fit."""
