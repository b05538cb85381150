"""The payload of a delta: blocks, commands, kinds of words, and the sets of numbers. `kibi_delta.c` reads the same.

A payload makes the new file block by block, from the first byte to the last. A block of the payload is the output of a range coder
for bits (G. N. N. Martin, "Range encoding: an algorithm for removing redundancy from a digitised message", 1979): an interval is
divided again and again by the probabilities of bits, and grows by a byte of the payload whenever its 32-bit `range` is below 2^24.
A block begins with `range` 1, so its first bit reads three bytes. Blocks share nothing.

**Bits.** Each bit belongs to a pair of counts, of zeros and of ones. Both are 1 where a block begins, and grow by 2 with each bit
of theirs. When the one that has grown is above `LIMIT`, both are halved, rounded up. A 0 has the lower
`range // (zeros + ones) * zeros` values of the interval.

**Numbers.** A number n >= 0 is coded as n + 1, which has a highest bit and `size` digits after it. First comes `size`, as so many
ones and a zero, then the digits, the highest first. No size is above `MOST_SIZE`: the zero after so many ones is left out. Numbers
belong to sets. A set has pairs of counts: `CLASSES` for the first bit of the size, one for each class; `SIZES` for its other bits,
the last of them for all further ones; and `DIGITS` for the digits, one for each of the lowest and the last for all higher ones.

**Signs.** 0, -1, 1, -2, 2, ... are the numbers 0, 1, 2, 3, 4, ...

**Commands.** A command begins with a number of the set `COMMAND`: its lowest five bits are a period less 1, the others how many
words of 32 bits it makes. As many numbers as the period follow. Each is the kind of a word: kinds repeat with the period. Where
the command makes no words, each is a setting: if its lowest bit is 0, the others say by how many words, with sign, the place in the
older file moves; else the next five bits are the shift of `SUMS`, and the others their unit.

At the start of a block the place in the older file is that of the block, and shift and unit are 0. Each word moves the place on by
a word.

**Kinds of words.** Words have elements, the lowest byte first; each element of the new file is the older one plus a change:

- `RAW`: elements of 8 bits that are changes of 0 and not of the older file: numbers of the set `REST`.
- `BYTES`, `HALVES`: elements of 8 and 16 bits, each change a number of the set `SMALL`.
- `SAME`: no change, and no number.
- `WORDS`: a change of 32 bits, a number of the set `WORD`.
- `SUMS`: a change a * 2^shift + b * unit; a is a number of the set `WORD`, and b of the set `REST`.

**Classes.** A change of an element that is 0 in the older file has class 0, every other one class 1. b has class 0, an element of
`RAW` class 1. The first number of a command has class 0, the others class 1.
"""

from enum import IntEnum

CLASSES = 2
SIZES = 8
DIGITS = 8
MOST_SIZE = 31
LIMIT = 250
PERIOD_BITS = 5
MOST_PERIOD = 1 << PERIOD_BITS
FIRST_RANGE = 1
LEAST_RANGE = 1 << 24


class Kind(IntEnum):
    """How a word is made."""

    RAW = 0
    BYTES = 1
    HALVES = 2
    SAME = 3
    WORDS = 4
    SUMS = 5


class Numbers(IntEnum):
    """Sets of counts."""

    COMMAND = 0
    SMALL = 1
    WORD = 2
    REST = 3


PAIRS = CLASSES + SIZES + DIGITS
"""Of counts, in a set."""


def folded(number: int) -> int:
    """The number without sign of one with: 0, -1, 1, -2, ... are 0, 1, 2, 3, ..."""
    return number << 1 if number >= 0 else ~number << 1 | 1


def unfolded(number: int) -> int:
    """The number with sign of one without."""
    return number >> 1 if number % 2 == 0 else ~(number >> 1)
