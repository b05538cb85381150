"""Makes the new file from the older one and a payload, as `kibi_delta.c` does on a device."""

from kibi.update.delta.coding import Decoder, refused
from kibi.update.delta.form import MOST_PERIOD, PERIOD_BITS, Kind, Numbers, unfolded

_WORD = 1 << 32
"""Places and changes are numbers of 32 bits."""
_WIDTHS = {Kind.SAME: 4, Kind.BYTES: 1, Kind.HALVES: 2, Kind.WORDS: 4, Kind.SUMS: 4, Kind.RAW: 1}


def decode(payload: bytes, old: bytes, new_bytes: int, block_bytes: int = 4096, *, in_place: bool = False) -> bytes:
    """Returns the new file.

    Args:
        payload: what `encode` made.
        old: the older file, of a multiple of 4 bytes.
        new_bytes: size of the new file, a multiple of 4.
        block_bytes: of the new file that each block of the payload makes, a multiple of 4.
        in_place: True if each block takes the place of bytes of the older file, which later blocks lack then.

    Raises:
        PackageError: the payload was cut or changed, has bytes after its end, or asks for bytes that the older file lacks.
    """
    made, used = bytearray(), 0
    while len(made) < new_bytes:
        first = len(made)
        block = _Block(payload, used, old, first, min(block_bytes, new_bytes - first), first if in_place else 0)
        made += block.decoded()
        used = block.used
    if used != len(payload):
        raise refused(f"{len(payload) - used} bytes follow its end")
    return bytes(made)


class _Block:
    """A block of the payload, from its first byte on.

    Args:
        payload, old: the inputs.
        used: bytes of the payload before the block.
        first: its place in the new file.
        size: bytes that it makes.
        least: the first byte of the older file that is still there.
    """

    def __init__(self, payload: bytes, used: int, old: bytes, first: int, size: int, least: int) -> None:
        self._from = Decoder(payload, used)
        self._old, self._place, self._size, self._least = old, first, size, least
        self._made = bytearray()
        self._shift = self._unit = 0

    @property
    def used(self) -> int:
        """Bytes of the payload up to the end of what was read."""
        return self._from.place

    def decoded(self) -> bytes:
        """The bytes that the block makes."""
        while len(self._made) < self._size:
            number = self._from.number(Numbers.COMMAND)
            words, period = number >> PERIOD_BITS, number % MOST_PERIOD + 1
            if 4 * words > self._size - len(self._made):
                raise refused("a command makes more than its block has")
            numbers = [self._from.number(Numbers.COMMAND, 1) for _ in range(period)]
            if words == 0:
                for each in numbers:
                    self._set(each)
            elif max(numbers) > Kind.SUMS:
                raise refused("a word has no kind")
            for word in range(words):
                self._word(Kind(numbers[word % period]))
        return bytes(self._made)

    def _set(self, setting: int) -> None:
        if setting & 1:
            self._shift, self._unit = setting >> 1 & 31, setting >> 6
        else:
            self._place = (self._place + 4 * unfolded(setting >> 1)) % _WORD

    def _word(self, kind: Kind) -> None:
        width = _WIDTHS[kind]
        for _ in range(4 // width):
            if kind is not Kind.RAW and not self._least <= self._place < len(self._old) // 4 * 4:
                raise refused("it asks for bytes that the older file lacks")
            before = int.from_bytes(self._old[self._place : self._place + width], "little")
            self._made += (self._change(kind, before) % (1 << 8 * width)).to_bytes(width, "little")
            self._place = (self._place + width) % _WORD

    def _change(self, kind: Kind, before: int) -> int:
        """Reads an element that was `before`, and returns what it is."""
        if kind is Kind.SAME:
            return before
        if kind is Kind.RAW:
            return unfolded(self._from.number(Numbers.REST, 1))
        of = Numbers.SMALL if kind in {Kind.BYTES, Kind.HALVES} else Numbers.WORD
        change = unfolded(self._from.number(of, int(before != 0)))
        if kind is Kind.SUMS:
            change = (change << self._shift) + self._unit * unfolded(self._from.number(Numbers.REST))
        return before + change
