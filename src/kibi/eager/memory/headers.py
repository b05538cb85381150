"""The size of a block's header on the device, and the largest block that it can describe."""

from dataclasses import dataclass

from kibi.errors import InputError

HANDLE_BYTES = 4
"""A pointer to the handle, on the 32-bit cores that Kibi compiles for."""
WIDTHS = (2, 4)


@dataclass(frozen=True, slots=True)
class HeaderLayout:
    """The header of one block: its size, with a top bit that says whether it is in use; its offset; its handle's address.

    Headers are in the metadata arena, not between the blocks, so that 40 bytes of a 256-byte arena leave 216. After
    uTensor's `MetaHeader` (src/uTensor/allocators/arenaAllocator.hpp), with an offset in place of its pointer.

    Attributes:
        width_bytes: bytes of the size, and of the offset: 2 or 4.
    """

    width_bytes: int

    def __post_init__(self) -> None:
        if isinstance(self.width_bytes, float) or self.width_bytes not in WIDTHS:
            raise InputError(f"a header's fields have 2 or 4 bytes, not {self.width_bytes!r}. Give one of these.")

    @property
    def largest_block_bytes(self) -> int:
        """The largest block whose size it can hold: 32,767 or 2,147,483,647 bytes."""
        return (1 << (8 * self.width_bytes - 1)) - 1

    @property
    def largest_arena_bytes(self) -> int:
        """The largest arena whose offsets it can hold."""
        return 1 << 8 * self.width_bytes

    @property
    def bytes_per_block(self) -> int:
        """Metadata for each block: 8 or 12 bytes."""
        return 2 * self.width_bytes + HANDLE_BYTES

    @classmethod
    def narrowest(cls, arena_bytes: int) -> "HeaderLayout":
        """Returns the smallest layout that can describe an arena, and a block that fills it."""
        return cls(2) if arena_bytes <= cls(2).largest_block_bytes else cls(4)
