"""Numbers as bits of a range coder whose probabilities follow from the bits before."""

from kibi.errors import PackageError
from kibi.update.delta.form import (
    CLASSES,
    DIGITS,
    FIRST_RANGE,
    LEAST_RANGE,
    LIMIT,
    MOST_SIZE,
    PAIRS,
    SIZES,
    Numbers,
)

_TOP = 1 << 32


def refused(why: str) -> PackageError:
    """The error for a payload that is no delta."""
    return PackageError(f"the delta is damaged: {why}. Get it again, or make it again with `kibi update`.")


class _Counts:
    """How many zeros and ones there were, for each pair of counts of all sets."""

    def __init__(self) -> None:
        self._zeros, self._ones = ([1] * (PAIRS * len(Numbers)) for _ in range(2))

    def _bound(self, pair: int, whole: int) -> int:
        """The part of the range that a zero has."""
        zeros = self._zeros[pair]
        return whole // (zeros + self._ones[pair]) * zeros

    def _add(self, pair: int, bit: int) -> None:
        counts = self._ones if bit else self._zeros
        counts[pair] += 2
        if counts[pair] > LIMIT:
            self._zeros[pair], self._ones[pair] = self._zeros[pair] + 1 >> 1, self._ones[pair] + 1 >> 1


class Encoder(_Counts):
    """Makes a block of a payload."""

    def __init__(self) -> None:
        super().__init__()
        self._low, self._range, self._made = 0, LEAST_RANGE, bytearray()

    def number(self, of: Numbers, value: int, kind: int = 0) -> None:
        """Codes a number.

        Args:
            of: its set.
            value: 0 ... 2^32 - 2.
            kind: its class.
        """
        first, size = of * PAIRS, (value + 1).bit_length() - 1
        for place in range(min(size + 1, MOST_SIZE)):
            self._bit(first + (CLASSES + min(place, SIZES) - 1 if place else kind), int(place < size))
        for digit in range(size - 1, -1, -1):
            self._bit(first + CLASSES + SIZES + min(digit, DIGITS - 1), value + 1 >> digit & 1)

    def end(self) -> bytes:
        """Ends the block, and returns its bytes."""
        for _ in range(4):
            self._give()
        return bytes(self._made[1:])  # the interval begins in the lower three of four bytes: the first one is 0

    def _bit(self, pair: int, bit: int) -> None:
        while self._range < LEAST_RANGE:
            self._give()
            self._range <<= 8
        bound = self._bound(pair, self._range)
        if bit:
            self._low += bound
            self._range -= bound
        else:
            self._range = bound
        self._add(pair, bit)

    def _give(self) -> None:
        """Gives the highest of the four bytes of the low end of the interval away; adds its carry to those before."""
        if self._low >= _TOP:
            self._low -= _TOP
            place = len(self._made) - 1
            while self._made[place] == 0xFF:
                self._made[place] = 0
                place -= 1
            self._made[place] += 1
        self._made.append(self._low >> 24)
        self._low = (self._low & 0xFFFFFF) << 8


class Decoder(_Counts):
    """Reads a block of a payload."""

    def __init__(self, payload: bytes, place: int) -> None:
        super().__init__()
        self._payload, self.place = payload, place
        self._code, self._range = 0, FIRST_RANGE

    def number(self, of: Numbers, kind: int = 0) -> int:
        """Reads a number of a set and a class.

        Raises:
            PackageError: the payload ends.
        """
        first, size, number = of * PAIRS, 0, 1
        while size < MOST_SIZE and self._bit(first + (CLASSES + min(size, SIZES) - 1 if size else kind)):
            size += 1
        for digit in range(size - 1, -1, -1):
            number = number << 1 | self._bit(first + CLASSES + SIZES + min(digit, DIGITS - 1))
        return number - 1

    def _bit(self, pair: int) -> int:
        while self._range < LEAST_RANGE:
            if self.place == len(self._payload):
                raise refused("it ends before the new file does")
            self._code = (self._code << 8 | self._payload[self.place]) % _TOP
            self._range <<= 8
            self.place += 1
        bound = self._bound(pair, self._range)
        bit = int(self._code >= bound)
        self._code -= bound * bit
        self._range = self._range - bound if bit else bound
        self._add(pair, bit)
        return bit
