"""Values at which roundings change their mind: powers of two and their neighbours, ties, ends of ranges."""

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

MAX = (1 << 31) - 1
MIN = -(1 << 31)

POWERS = sorted({0, *(sign * (1 << k) + near for k in range(31) for sign in (-1, 1) for near in (-1, 0, 1))})
ACCUMULATORS = sorted({MIN, MIN + 1, MAX, MAX - 1, *(value for value in POWERS if MIN <= value <= MAX)})
MULTIPLIERS = (0, 1 << 30, (1 << 30) + 1, 0x5A827999, 0x60000000, 0x7FFFFFFF - 1, 0x7FFFFFFF)
"""What `quantize_multiplier` gives: 0, or 2**30 … 2**31 - 1."""
SHIFTS = range(-31, 31)

TRIPLES = tuple(product(ACCUMULATORS, MULTIPLIERS, SHIFTS))
"""Accumulator, multiplier, shift: every combination."""


@cache
def triples_to_the_right(near: int) -> NDArray[np.int32]:
    """Accumulators nearer to 0 than a number, multipliers, and shifts to the right: `[3, triples]`, read-only."""
    found = np.array([each for each in TRIPLES if abs(each[0]) < near and each[2] < 0], np.int32).T
    found.flags.writeable = False
    return found
