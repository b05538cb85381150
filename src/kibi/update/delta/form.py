"""The form of a delta: commands, and Rice codes of differences.

A payload is a sequence of blocks. Each makes `block_bytes` of the new file, the last one the rest. A block is a sequence of
commands. A command begins at a byte, with a number that says how many bytes it makes, what it does, and whether its place in the
older file moves. Numbers are stored in groups of 7 bits, the lowest group first; the highest bit of a byte says that more follow.

Differences are stored for the elements of a command in order: how many stay the same, then the difference of the next one, and so
on. Both are Rice codes: a quotient as so many ones and a zero, then the lowest `k` bits of the number, the highest one first. If
the quotient is the largest that the command allows, its zero is left out.

A difference d that is not 0 is the number 2 d - 2 or -2 d - 1. Some kernels fold two sums into one number, such as biases of
weights that are packed in pairs. Their differences are a multiple of a power of two and a few units more: two numbers, of the
multiple and of the units.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from kibi.errors import PackageError

MOST_LENGTH_BYTES = 3
"""Of the first number of a command."""
MOST_MOVE_BYTES = 5
"""Of the number that says how far its place moves."""
MOST_PERIOD = 32
"""Words after which a pattern repeats."""
UNLIMITED = 15
"""In place of the largest quotient: there is no largest one."""
CLASS_BYTES = 3
"""Of the parameters of a class."""
UNIT_BYTES = 2
"""Of those that follow where differences have two parts."""
MOST_K = 31
"""Lowest bits of a Rice code."""
WIDTHS = (1, 2, 4)
"""Bytes of an element."""


class Command(IntEnum):
    """What a command makes its bytes from."""

    COPY = 0
    """Bytes of the older file."""
    RAW = 1
    """Bytes that follow."""
    CHANGE = 2
    """Elements of the older file, and differences."""
    PATTERN = 3
    """The same, with two classes of elements: which words have which class repeats."""


MOVES = 4
"""In the first number of a command: the place in the older file moves. The bits above count bytes."""


@dataclass(frozen=True, slots=True)
class Class:
    """How the elements of a class are stored.

    Attributes:
        width: bytes of an element.
        run: the `k` of the numbers of elements that stay the same, 0 ... 15.
        value: the `k` of differences, 0 ... 31.
        limit: the largest quotient of a difference, 0 ... 14; 15: any.
        shift: all differences, or their first parts, are multiples of 2^shift, 0 ... 31.
        unit: what the second parts count, 1 ... 255; 0: there are none.
        rest: the `k` of the second parts, 0 ... 31.
    """

    width: int
    run: int = 0
    value: int = 0
    limit: int = UNLIMITED
    shift: int = 0
    unit: int = 0
    rest: int = 0

    @property
    def packed(self) -> bytes:
        """The bytes of it."""
        number = WIDTHS.index(self.width) | self.run << 2 | self.value << 6 | self.limit << 11 | self.shift << 15
        number |= (self.unit > 0) << 20
        return number.to_bytes(CLASS_BYTES, "little") + (bytes([self.unit, self.rest]) if self.unit else b"")

    @staticmethod
    def parse(take: Callable[[int], bytes]) -> "Class":
        """Reads its bytes.

        Args:
            take: returns the next bytes, so many.

        Raises:
            PackageError: they have bits that mean nothing.
        """
        number = int.from_bytes(take(CLASS_BYTES), "little")
        has_parts = number >> 20 == 1
        unit, rest = take(UNIT_BYTES) if has_parts else (0, 0)
        if number & 3 == len(WIDTHS) or number >> 21 or (has_parts and not unit) or rest > MOST_K:
            raise PackageError("the delta is damaged: it has differences of a form that does not exist. Get it again.")
        ks = number >> 2 & 15, number >> 6 & 31, number >> 11 & 15, number >> 15 & 31
        return Class(WIDTHS[number & 3], *ks, unit, rest)


def number_bytes(number: int) -> bytes:
    """Returns a number in groups of 7 bits."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def folded(number: int) -> int:
    """Returns a number with sign as one without: 0, -1, 1, -2, ... are 0, 1, 2, 3, ..."""
    return 2 * number if number >= 0 else -2 * number - 1


def unfolded(number: int) -> int:
    """Returns the number with sign of one without."""
    return number >> 1 if number % 2 == 0 else -(number >> 1) - 1
