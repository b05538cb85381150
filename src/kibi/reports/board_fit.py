"""Says whether a model fits a board: what it needs, what the board has, and what is missing, in bytes.

What the rest of the firmware needs is not known here, so that nothing is kept free for it.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kibi.targets import Board


@dataclass(frozen=True, slots=True)
class Need:
    """One kind of memory.

    Attributes:
        memory: `RAM` or `flash`.
        needed_bytes, board_bytes: what the model needs, and what the board has.
    """

    memory: str
    needed_bytes: int
    board_bytes: int

    @property
    def missing_bytes(self) -> int:
        """What the board lacks; 0 if it has enough."""
        return max(0, self.needed_bytes - self.board_bytes)

    @property
    def text(self) -> str:
        """The two figures and their ratio."""
        share = f"{self.needed_bytes / self.board_bytes:.1%}"
        return f"{self.memory} {self.needed_bytes:,} of {self.board_bytes:,} bytes ({share})"


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a model fits a board.

    Attributes:
        board: the board's name.
        needs: the kinds of memory that are known.
        arena_bytes: the arena, which is one block; 0 where a plan shares it out among regions.
        rams: names and bytes of the board's ranges of RAM.
    """

    board: str
    needs: tuple[Need, ...]
    arena_bytes: int
    rams: tuple[tuple[str, int], ...]

    @property
    def holders(self) -> tuple[str, ...]:
        """The names of the ranges of RAM that can hold the arena."""
        return tuple(name for name, size_bytes in self.rams if size_bytes >= self.arena_bytes)

    @property
    def arena_missing_bytes(self) -> int:
        """What the largest range of RAM lacks for the arena; 0 if one holds it."""
        return max(0, self.arena_bytes - max(size_bytes for _, size_bytes in self.rams))

    @property
    def fits(self) -> bool:
        """True if nothing is missing."""
        return not self.arena_missing_bytes and not any(need.missing_bytes for need in self.needs)

    @property
    def text(self) -> str:
        """The bytes that are needed, the bytes that the board has, and how many are missing."""
        return "; ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        missing = [f"{need.memory} lacks {need.missing_bytes:,} bytes" for need in self.needs if need.missing_bytes]
        yield from missing
        if self.arena_missing_bytes and not any(need.memory == "RAM" and need.missing_bytes for need in self.needs):
            name, size_bytes = max(self.rams, key=lambda each: each[1])
            lack = f"the arena lacks {self.arena_missing_bytes:,} bytes in {name}, the largest region ({size_bytes:,})"
            yield f"{lack}: share it out with --regions"
        yield ", ".join(need.text for need in self.needs)
        if len(self.rams) > 1 and self.arena_bytes and self.holders:
            sizes = dict(self.rams)
            yield "the arena goes into " + " or ".join(f"{name} ({sizes[name]:,})" for name in self.holders)

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        needs = [{**asdict(need), "missing_bytes": need.missing_bytes} for need in self.needs]
        return {
            "board": self.board,
            "fits": self.fits,
            "needs": needs,
            "arena_bytes": self.arena_bytes,
            "arena_regions": list(self.holders),
            "arena_missing_bytes": self.arena_missing_bytes,
        }


def fit(board: Board, ram_bytes: int, arena_bytes: int, flash_bytes: int | None = None) -> Fit:
    """Compares what a model needs with a board.

    Args:
        board: the board.
        ram_bytes: all RAM that is known to be needed.
        arena_bytes: the part that is one block; 0 where it is shared out among regions.
        flash_bytes: code and weights, or None if they are not known.
    """
    needs = [Need("RAM", ram_bytes, board.ram_bytes)]
    if flash_bytes is not None:
        needs.append(Need("flash", flash_bytes, board.flash_bytes))
    return Fit(board.name, tuple(needs), arena_bytes, tuple((each.name, each.size_bytes) for each in board.ram))
