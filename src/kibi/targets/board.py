"""Boards, as data: the core, the clock and the memories that a program has on each board that users name."""

import os
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from kibi.errors import TargetError, did_you_mean
from kibi.targets.memory import Memory
from kibi.targets.target import Target, target, targets

_GENERIC = "generic"
"""The target whose C any compiler takes."""


@dataclass(frozen=True, slots=True)
class Ram:
    """One range of addresses of a board's RAM, without a gap: what is in it can be one arena.

    Attributes:
        name: a lower-case word.
        size_bytes: its size, at least 1.
        address: its first address; None if it is not known.
    """

    name: str
    size_bytes: int
    address: int | None = None


@dataclass(frozen=True, slots=True)
class RunCurrent:
    """What a chip takes while its core runs from flash and its peripherals are off, as a document of its maker states it.

    Attributes:
        microamperes_per_mhz: typical, at the clock of the board, above 0.
        volts: the supply at which it was measured, above 0.
        source: the document, its table, and the conditions.
    """

    microamperes_per_mhz: float
    volts: float
    source: str

    def microjoules(self, cycles: int) -> float:
        """The energy of so many cycles of the core."""
        return cycles * self.microamperes_per_mhz * self.volts * 1e-6


@dataclass(frozen=True, slots=True)
class Board:
    """A board and the memories of its processor. Firmware of your own is in the same memories; nothing is subtracted for it.

    Attributes:
        name: the name that users write.
        aliases: further names.
        title: the maker's name of the board, and of the chip.
        core: the name of a target, or of a core that Kibi has only generic C for.
        clock_hz: the highest clock of the core.
        flash_wait_states: cycles of the core that a read of the flash waits at that clock; None if they are not known.
        ram: the ranges of RAM; data are usually in the first.
        flash_bytes: all of the flash, also where it is external.
        source: the public documents that the figures are from.
        note: what else to know, or empty.
        run_current: what the chip takes while its core runs; None if no document was found that states it.
        memory: how the core reads the flash, for estimates of cycles; None if Kibi has no model of it.
        flash_address: the first address of the flash; None if it is not known.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    core: str
    clock_hz: int
    flash_wait_states: int | None
    ram: tuple[Ram, ...]
    flash_bytes: int
    source: str
    note: str = ""
    run_current: RunCurrent | None = None
    memory: Memory | None = None
    flash_address: int | None = None

    @property
    def ram_bytes(self) -> int:
        """All of the RAM."""
        return sum(each.size_bytes for each in self.ram)

    @property
    def largest_ram(self) -> Ram:
        """The largest range, which is the most that one arena can have."""
        return max(self.ram, key=lambda each: each.size_bytes)

    @property
    def is_supported(self) -> bool:
        """True if Kibi has kernels for the core and emulates it; else it writes generic C for it, which is not measured."""
        return self.core in {each.name for each in targets()}

    @property
    def target(self) -> Target:
        """The processor, at the clock of the board; `generic` where Kibi has no kernels for its core."""
        return replace(target(self.core if self.is_supported else _GENERIC), clock_hz=self.clock_hz)


@cache
def boards() -> tuple[Board, ...]:
    """Returns all boards that Kibi knows, in the order of its table."""
    from kibi.targets.board_file import read_boards  # noqa: PLC0415 - the table is read when a board is named

    text = files("kibi.targets").joinpath("boards.toml").read_text(encoding="utf-8")
    return read_boards(text, "boards.toml")


def board(name: str | os.PathLike[str]) -> Board:
    """Returns a board by its name, or the one that a file describes.

    Args:
        name: a name or alias, in upper or lower case, with blanks or underscores for hyphens; or the path of a TOML file
            that ends in `.toml`, which describes one board as Kibi's own table does.

    Raises:
        TargetError: there is no such board; the text names similar ones. Or the file does not describe one.
    """
    from kibi.targets.board_file import load_board  # noqa: PLC0415 - as above

    if not isinstance(name, str) or name.endswith(".toml"):
        return load_board(name)
    known = {alias: each for each in boards() for alias in (each.name, *each.aliases)}
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if wanted not in known:
        near = did_you_mean(wanted, known)
        raise TargetError(
            f"unknown board {name[:60]!r}.{near} `kibi boards` lists all; a file NAME.toml describes one."
        )
    return known[wanted]
