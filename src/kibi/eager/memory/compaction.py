"""The moves of blocks when an arena moves them together: pure functions, so that nothing moves before it helps."""

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kibi.eager.memory.blocks import Block, ByteRange, first_fit, gaps


@dataclass(frozen=True, slots=True)
class Compaction:
    """The effect of a rebalance.

    Attributes:
        moves: blocks and their new addresses, to be carried out in this order. Each block moves down, to bytes that no block
            with a later move uses, so that one `memmove` each is enough, without scratch.
        lost: unbound blocks that are freed.
        free: the gaps afterwards, ascending.
    """

    moves: tuple[tuple[Block, int], ...]
    lost: tuple[Block, ...]
    free: tuple[ByteRange, ...]

    @property
    def moved_bytes(self) -> int:
        """Bytes that the moves copy."""
        return sum(block.size_bytes for block, _ in self.moves)


def compaction(
    blocks: Sequence[Block], capacity_bytes: int, alignment: int, *, keep_unbound: bool, heed_pins: bool = True
) -> Compaction:
    """Moves every bound block to the lowest gap that it fits, in the order of addresses; pinned blocks stay.

    Args:
        blocks: those that live, ascending by address.
        capacity_bytes: bytes of the arena.
        alignment: the alignment of blocks that move, in bytes.
        keep_unbound: True if blocks without a handle stay where they are, too; False: they are lost.
        heed_pins: False: what it would be if nothing were pinned.
    """
    pinned = {block for block in blocks if heed_pins and block.is_pinned()}
    unbound = {block for block in blocks if block.owner is None} - pinned
    fixed = pinned | unbound if keep_unbound else pinned
    taken = sorted((block.address, block.end) for block in fixed)
    moves = []
    for block in blocks:
        if block in fixed or block in unbound:
            continue
        lowest = first_fit(gaps(taken, capacity_bytes), block.size_bytes, alignment)
        # A planned place may be less aligned than the arena: such a block's own address can be the lowest.
        address = block.address if lowest is None else min(lowest, block.address)
        insort(taken, (address, address + block.size_bytes))
        if address != block.address:
            moves.append((block, address))
    lost = () if keep_unbound else tuple(block for block in blocks if block in unbound)
    return Compaction(tuple(moves), lost, tuple(gaps(taken, capacity_bytes)))


def clearance(
    wanted: tuple[int, int],
    blocks: Sequence[Block],
    expected: Iterable[tuple[int, int]],
    capacity_bytes: int,
    alignment: int,
) -> tuple[tuple[Block, int], ...] | None:
    """The moves, in order, that clear wanted bytes; None if no moves can.

    Args:
        wanted: the bytes to clear, half-open.
        blocks: those that live.
        expected: bytes that other blocks will want later, half-open ranges: avoided where others are free.
        capacity_bytes: bytes of the arena.
        alignment: the alignment of blocks that move, in bytes.
    """
    start, end = wanted
    in_the_way = [block for block in blocks if block.address < end and start < block.end]
    if any(block.owner is None or block.is_pinned() for block in in_the_way):
        return None
    taken = [(block.address, block.end) for block in blocks] + [wanted]
    later = list(expected)
    moves = []
    for block in sorted(in_the_way, key=lambda block: (-block.size_bytes, block.address)):
        taken.remove((block.address, block.end))  # it may slide over its own bytes; those before it have left theirs
        address = first_fit(gaps(taken + later, capacity_bytes), block.size_bytes, alignment)
        if address is None:
            address = first_fit(gaps(taken, capacity_bytes), block.size_bytes, alignment)
        if address is None:
            return None
        taken.append((address, address + block.size_bytes))
        moves.append((block, address))
    return tuple(moves)
