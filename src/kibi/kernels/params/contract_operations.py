"""The operations of contracts, which `kibi.kernels.params.contract` writes and cores evaluate."""

from collections.abc import Iterator, Mapping
from enum import IntEnum


class Op(IntEnum):
    """The operations of a contract's bytes, on a stack of integers of 32 bits. A number after an operation is its operand.

    From `HALF` on, a byte pushes the 16-bit parameter with the number above it; from `WORD` on, one of 32 bits; from `NUMBER` on, a
    small number, `LEAST_NUMBER` and more; from `GET` on, a number that was named; from `SET` on, a byte names the number on the
    stack, which stays there.
    """

    END = 0
    """All inputs, outputs and states must have been named."""
    NEVER = 1
    """No node keeps to it."""
    SMALL = 3
    """Pushes a number: [1 byte, signed]."""
    LARGE = 4
    """Pushes a number: [4 bytes, little-endian]."""
    STEPS = 5
    READS = 6
    POINTERS = 7
    ROOM = 8
    """Pushes the bytes at each pointer of an input: [1 byte, its number]."""
    ADD = 9
    SUB = 10
    MUL = 11
    DIV = 12
    """Rounds down; the divisor is at least 1, and the dividend at least 0."""
    CEIL = 13
    MAX = 14
    MIN = 15
    LE = 16
    """Takes two numbers: the first must not be above the second."""
    GROUP = 17
    """Takes pointers, then elements at each, of the next input, state or output: [1 byte: the exponent of its bytes, with 4
    where pointers may be null, 8 where all but one may, 16 for a state, 32 for an output]."""
    GROUPS = 18
    """Takes how many inputs, pointers, elements: [as above]."""
    SCRATCH = 21
    """Takes bytes: [1 byte: their alignment]."""
    ARRAY = 22
    """Takes elements of the array whose pointer is a parameter: [1 byte: its number, 1 byte: bytes of an element]."""
    RANGE = 23
    """Takes the least and the most that an element of the last array may be."""
    LEAST = 24
    """Pushes the least number of a column of the last array: [1 byte: columns, 1 byte: which]."""
    MOST = 25
    """Pushes the most: as above."""
    WHOLE = 26
    """No element of the last array is negative."""
    TABLE_INPUTS = 27
    """Takes a number of inputs, and how often bytes count: row k of the last array, which has two columns, has pointers and bytes
    at each of the next input: [1 byte: 4 where pointers may be null]."""
    TABLE_OUTPUTS = 28
    """Takes a place in the last array: from there on it has the bytes of each output of the node."""
    HIGHEST = 29
    """Pushes how far the loops in the rows of the last array reach up: [1 byte: columns, 1 byte: which]."""
    LOWEST = 30
    """The same down."""
    PRODUCT = 31
    """Pushes the product of a column of the last array: [1 byte: columns, 1 byte: which]."""
    ALIGNED = 32
    """Takes the number of an input, and what its pointers are multiples of."""
    EACH = 33
    """Takes how many elements: none of one parameter's array is above its neighbour in another's: [1 byte each, 1 byte: size]."""
    REST = 34
    """Further inputs may follow."""
    COUNT = 35
    """Pushes the pointers of an input: [1 byte, its number]."""
    TABLE_OUTPUT = 36
    """What pointers that are not null give in a step is the one output; the check of the node's steps sees to it."""
    BELOW = 37
    """All elements of the last array, which have 64 bits, are below a power of two in magnitude: [1 byte, its exponent]."""
    NATURAL = 38
    """Parameters are at least 0: [4 bytes, little-endian: bit k for parameter k]."""
    POSITIVE = 39
    """They are at least 1: as above."""
    BETWEEN = 40
    """A parameter is in a range: [1 byte: its number, 1 byte each, signed: the least and the most]."""
    POWER = 41
    """Two to the power of the number on the stack, which is 0 to 30, takes its place."""
    MOST_SUM = 42
    """Takes how many elements of arrays of 16 bits, and pushes the most that one of a parameter and its neighbour in another's
    are together: [1 byte each]."""
    MULTIPLE = 43
    """Takes two numbers: the first is at least 0, and a multiple of the second, which is at least 1."""
    BOUNDED = 45
    """Parameters are at most 2**30 in magnitude: as above."""
    LESS = 44
    """Takes one away from the number on the stack."""
    SET = 48
    GET = 56
    NUMBER = 64
    WORD = 128
    HALF = 192


TAKES_NULLS = 12
"""Those bits of the operand of a group that allow null pointers."""
NAMES = 8
"""How many numbers have names."""
LEAST_NUMBER = -8
"""The least small number that is pushed by one byte."""
MOST_NUMBER = LEAST_NUMBER + Op.WORD - Op.NUMBER - 1
"""The largest one."""


def operations(data: bytes) -> Iterator[tuple[Op, bytes]]:
    """Yields the operations of a contract with their operands."""
    place = 0
    while place < len(data):
        operation = next((each for each in (Op.HALF, Op.WORD, Op.NUMBER, Op.GET, Op.SET) if data[place] >= each), None)
        if operation is not None:
            yield operation, bytes((data[place] - operation,))
            place += 1
            continue
        operation = Op(data[place])
        count = _OPERANDS.get(operation, 0)
        yield operation, data[place + 1 : place + 1 + count]
        place += 1 + count


_OPERANDS: Mapping[Op, int] = {
    **dict.fromkeys((Op.SMALL, Op.ROOM, Op.COUNT, Op.TABLE_INPUTS, Op.GROUP, Op.GROUPS, Op.SCRATCH), 1),
    Op.BELOW: 1,
    **dict.fromkeys((Op.ARRAY, Op.LEAST, Op.MOST, Op.PRODUCT, Op.HIGHEST, Op.LOWEST, Op.MOST_SUM), 2),
    **dict.fromkeys((Op.EACH, Op.BETWEEN), 3),
    **dict.fromkeys((Op.NATURAL, Op.POSITIVE, Op.BOUNDED, Op.LARGE), 4),
}
"""Bytes of operands after each operation; none after all others."""
