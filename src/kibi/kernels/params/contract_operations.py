"""The operations of contracts, which `kibi.kernels.params.contract` writes and cores evaluate."""

from collections.abc import Iterator, Mapping
from enum import IntEnum


class Op(IntEnum):
    """The operations of a contract's bytes, on a stack of integers of 32 bits. A number after an operation is its operand.

    The first byte of a contract is the size of the node's parameters: 4, or 2. At the start, the stack has one number: the steps of
    the node. An operation takes a and then b, which is on top of the stack; one that checks something leaves a.

    From `GET` on, a byte pushes a number of the stack again, 0 the lowest one. From `MASK` on, it pushes 2**k - 1, or -2**k with 32
    added to k; from `NUMBER` on a small number, `LEAST_NUMBER` and more; from `FIELD` on a parameter by its number, or one less
    than the parameter with `LESS` added. Another operation checks that such a parameter is not the least number of all.
    """

    END = 0
    """All inputs, outputs and states must have been named."""
    NEVER = 1
    """No node keeps to it."""
    ADD = 2
    SUB = 3
    MUL = 4
    DIV = 5
    """Rounds down; b is at least 1, and a at least 0."""
    CEIL = 6
    """Rounds up: as above."""
    MOD = 7
    """Pushes the remainder: as above."""
    MAX = 8
    MIN = 9
    LE = 10
    """a must not be above b. Leaves b."""
    GROUP = 11
    """The next input, state or output has a elements at each of b pointers: [1 byte: the exponent of an element's bytes, plus a
    role: 8 for an input, 16 for a state, 24 for an output; with 4 where pointers may be null, 32 where all but one may]."""
    SCRATCH = 12
    """Takes b bytes alone: [1 byte: their alignment, less 1]. Where it is not 0, there are some bytes."""
    ARRAY = 13
    """The array whose pointer is a parameter has b elements, which stay on the stack: [1 byte: the number of the 32-bit word, plus
    64 times the exponent of an element's bytes, plus 32 if no operation looks at its elements]. It is the last array now."""
    FIELDS = 14
    """Parameters are in the range from b to a: [4 bytes, little-endian: bit k for parameter k]. No array is the last one now."""
    RANGE = 15
    """All elements of the last array are in the range from b to a."""
    LARGE = 16
    """Pushes a number: [4 bytes, little-endian]."""
    READS = 17
    """Pushes how many inputs the node has."""
    POINTERS = 18
    """Pushes how many pointers to inputs it has."""
    ROOM = 19
    """Pushes the bytes at each pointer of an input: [1 byte, its number]."""
    COUNT = 20
    """Pushes the pointers of an input: as above."""
    LEAST = 21
    """Pushes the least number of a column of the last array: [1 byte: which, plus 16 times the number of columns]."""
    MOST = 22
    """Pushes the most: as above."""
    HIGHEST = 23
    """Pushes how far the loops in the rows of the last array reach up: as above."""
    LOWEST = 24
    """The same down."""
    PRODUCT = 25
    """Pushes the product of a column of the last array: as above."""
    MOST_SUM = 26
    """Takes b, and pushes the most that one of b elements of an array and its neighbour in another one are together: [2 bytes, as
    of `ARRAY`]."""
    POWER = 27
    """Takes b, which is 0 to 30, and pushes two to the power of it."""
    EACH = 28
    """None of b elements of an array is above its neighbour in another one: [2 bytes, as of `ARRAY`]. Takes b alone."""
    GROUPS = 29
    """So many inputs, as the number below a and b says, are as of `GROUP`: [1 byte, as there]."""
    REST = 30
    """Further inputs may follow."""
    ALIGNED = 31
    """The pointers of input a are multiples of b."""
    TABLE_INPUTS = 32
    """Row k of the last array, which has two columns, has the pointers of the next input, and their bytes, which count b times.
    There are a inputs: [1 byte, as of `GROUP`]."""
    TABLE_OUTPUT = 33
    """What pointers that are not null give in a step is the one output; the check of the node's steps sees to it."""
    TABLE_OUTPUTS = 34
    """From element b on, the last array has the bytes of each output of the node. Takes b alone."""
    BELOW = 35
    """All elements of the last array, which have 64 bits, are below a power of two in magnitude: [1 byte, its exponent]."""
    GET = 36
    MASK = 64
    NUMBER = 128
    FIELD = 192


INPUT, STATE, OUTPUT = 8, 16, 24
"""The roles in the operand of a group."""
NULLS, SOME_NULLS = 4, 32
"""The bits of the operand of a group that allow null pointers: all, or all but one."""
TAKES_NULLS = NULLS | SOME_NULLS
GETS = Op.MASK - Op.GET
"""How many numbers of the stack can be pushed again."""
ANY_ELEMENTS = 32
"""Added to the operand of an array whose elements no operation looks at: they may be written while the file is open."""
LESS = 32
"""Added to the number of a parameter: one less is pushed."""
LEAST_NUMBER = -32
"""The least small number that is pushed by one byte."""
MOST_NUMBER = LEAST_NUMBER + Op.FIELD - Op.NUMBER - 1
"""The largest one."""
_LOOKS = frozenset(
    {
        Op.RANGE, Op.LEAST, Op.MOST, Op.HIGHEST, Op.LOWEST, Op.PRODUCT, Op.TABLE_INPUTS, Op.TABLE_OUTPUTS, Op.BELOW,
    }
)  # fmt: skip
"""The operations that look at elements of the last array."""
_PLAIN = (Op.FIELD, Op.NUMBER, Op.MASK, Op.GET)
"""The operations that have a number in their byte; they push one, too."""


def mask_value(number: int) -> int:
    """Returns what the byte `MASK` and a number pushes: 2**k - 1, or from 32 on -2**k."""
    found = (1 << number % 32) - 1
    return found if number < 32 else ~found


def operations(data: bytes) -> Iterator[tuple[Op, bytes]]:
    """Yields the operations of a contract, after its first byte, with their operands."""
    place = 1
    while place < len(data):
        plain = next((each for each in _PLAIN if data[place] >= each), None)
        if plain is not None:
            yield plain, bytes((data[place] - plain,))
            place += 1
            continue
        operation = Op(data[place])
        count = _OPERANDS.get(operation, 0)
        yield operation, data[place + 1 : place + 1 + count]
        place += 1 + count


def marked(data: bytes) -> bytes:
    """Returns a contract whose arrays say if no operation looks at their elements."""
    made, array = data[:1], None
    for operation, operands in operations(data):
        place = len(made)
        plain = operation in _PLAIN
        made += bytes((operation + operands[0],)) if plain else bytes((operation, *operands))
        if operation is Op.ARRAY:
            made = made[:-1] + bytes((operands[0] | ANY_ELEMENTS,))
            array = place + 1
        elif operation in _LOOKS and array is not None:
            made = made[:array] + bytes((made[array] & ~ANY_ELEMENTS,)) + made[array + 1 :]
        elif operation in (Op.FIELDS, Op.EACH, Op.MOST_SUM):  # they have other arrays
            array = None
    return made


def depth(data: bytes) -> int:
    """Returns how many numbers the stack has at most."""
    found = numbers = 1
    for operation, _ in operations(data):
        numbers += GROWTH.get(operation, -1)
        found = max(found, numbers)
    return found


_OPERANDS: Mapping[Op, int] = {
    **dict.fromkeys((Op.ROOM, Op.COUNT, Op.TABLE_INPUTS, Op.GROUP, Op.GROUPS, Op.SCRATCH, Op.ARRAY, Op.BELOW), 1),
    **dict.fromkeys((Op.LEAST, Op.MOST, Op.PRODUCT, Op.HIGHEST, Op.LOWEST), 1),
    **dict.fromkeys((Op.EACH, Op.MOST_SUM), 2),
    **dict.fromkeys((Op.FIELDS, Op.LARGE), 4),
}
"""Bytes of operands after each operation; none after all others."""
GROWTH: Mapping[Op, int] = {
    **dict.fromkeys((*_PLAIN, Op.LARGE, Op.READS, Op.POINTERS, Op.ROOM, Op.COUNT), 1),
    **dict.fromkeys((Op.LEAST, Op.MOST, Op.HIGHEST, Op.LOWEST, Op.PRODUCT), 1),
    **dict.fromkeys((Op.END, Op.NEVER, Op.ARRAY, Op.MOST_SUM, Op.POWER, Op.REST, Op.TABLE_OUTPUT, Op.BELOW), 0),
}
"""How many more numbers the stack has after an operation; one less after all others."""
