"""The memory that a program may access: blocks with gaps between them, and where an address is relative to them."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kibi.emulator.hook import RANGE
from kibi.errors import EmulationError
from kibi.toolchain import LAYOUT, Image, MemoryLayout

PAGE_BYTES = 4096
RAM_BYTES = LAYOUT.ram.size_bytes
_GAP_BYTES = 64  # between two blocks, so that no access reaches from one into the next unseen
_MOST_BLOCKS = 250


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of memory that the program may access."""

    name: str
    address: int
    size_bytes: int
    writable: bool

    @property
    def end(self) -> int:
        """The first address after it."""
        return self.address + self.size_bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes in flash after the image, which the program is given by address and may only read.

    Attributes:
        name: for error texts.
        data: the bytes.
        alignment: their address is a multiple of it; a power of two.
    """

    name: str
    data: bytes
    alignment: int


class Blocks:
    """All blocks of a core, by address.

    Attributes:
        flash_end: the first address of the flash after all that is in it.
        ranges: the blocks for the hook.
    """

    def __init__(self, image: Image, layout: MemoryLayout = LAYOUT) -> None:
        """Begins with the sections of an image that was linked for a layout."""
        self._ram, self._flash = layout.ram, layout.flash
        self._blocks = [Block(each.name, each.address, each.size_bytes, each.writable) for each in image.segments]
        ends = [each.address + each.size_bytes for each in image.segments if not each.writable]
        self.flash_end = max([self._flash.address, *ends])
        self.ranges = _ranges(self._blocks)

    @property
    def all(self) -> tuple[Block, ...]:
        """The blocks, by address."""
        return tuple(self._blocks)

    def store(self, each: Stored) -> int:
        """Adds bytes in flash after all that is there, and returns their address.

        Raises:
            EmulationError: there is no room left.
        """
        address = round_up(self.flash_end + _GAP_BYTES, each.alignment)
        self.flash_end = address + len(each.data)
        if self.flash_end > self._flash.end - PAGE_BYTES:
            raise EmulationError(f"no room for {each.name!r}: {len(each.data)} bytes in flash, after the image")
        self._add(Block(each.name, address, len(each.data), writable=False))
        return address

    def reserve(self, name: str, size_bytes: int, alignment: int, *, writable: bool, is_exact: bool = False) -> Block:
        """Adds a block of RAM after all others; see `Core.allocate`.

        Raises:
            EmulationError: there is no room left.
        """
        used = max((block.end for block in self._blocks if self._ram.holds(block.address)), default=self._ram.address)
        address = (
            round_up(used + _GAP_BYTES, 2 * alignment) + alignment
            if is_exact
            else round_up(used + _GAP_BYTES, alignment)
        )
        if address + size_bytes + _GAP_BYTES > self._ram.end or len(self._blocks) >= _MOST_BLOCKS:
            raise EmulationError(
                f"no room for {name!r}: {size_bytes} bytes in {self._ram.size_bytes} of RAM, block {len(self._blocks) + 1} "
                f"of at most {_MOST_BLOCKS}",
                address=address,
            )
        block = Block(name, address, size_bytes, writable)
        self._add(block)
        return block

    def require_inside(self, address: int, size_bytes: int, access: str) -> None:
        """Checks that bytes are inside of one block.

        Raises:
            EmulationError: some of the bytes are in no block.
        """
        if not any(block.address <= address and address + size_bytes <= block.end for block in self._blocks):
            raise EmulationError(
                f"{access} of {size_bytes} bytes from outside, {self.position(address, size_bytes)}", address=address
            )

    def position(self, address: int, size_bytes: int) -> str:
        """Describes in words where an access is, relative to the nearest block."""
        blocks = self._blocks
        before = bisect_right(blocks, address, key=lambda block: block.address) - 1
        if before >= 0 and address < blocks[before].end:
            block = blocks[before]
            beyond = address + size_bytes - block.end
            return (
                f"reaching {count_text(beyond)} past the end of {block.name}"
                if beyond > 0
                else f"inside {block.name}" + ("" if block.writable else ", which is read-only")
            )
        past = address - blocks[before].end if before >= 0 else None
        ahead = blocks[before + 1].address - address if before + 1 < len(blocks) else None
        if past is not None and (ahead is None or past < ahead):
            return f"{count_text(past + 1)} past the end of {blocks[before].name}"
        return f"{count_text(ahead or 0)} before the start of {blocks[before + 1].name}"

    def _add(self, block: Block) -> None:
        self._blocks.append(block)
        self._blocks.sort(key=lambda entry: entry.address)
        self.ranges = _ranges(self._blocks)


def _ranges(blocks: Sequence[Block]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    return np.array([(each.address, each.end, int(each.writable)) for each in blocks], dtype=RANGE)


def count_text(size_bytes: int) -> str:
    """Bytes in words."""
    return "1 byte" if size_bytes == 1 else f"{size_bytes} bytes"


def round_up(value: int, multiple: int) -> int:
    """The least multiple that is not below a value."""
    return -(-value // multiple) * multiple
