"""Which instructions of Thumb code are of vectors: those of Arm's M-profile Vector Extension (Helium), by their encoding.

The "Armv8-M Architecture Reference Manual" gives the extension the coprocessor space of the numbers 8, 9, 14 and 15, and the space
that other profiles give to Advanced SIMD, whatever the coprocessor field says there. One more is in the space of the
floating-point unit: VDUP, which copies a core register into all lanes. Moves of one lane are there, too; they do not count.
"""

_VECTOR_COPROCESSORS = frozenset((8, 9, 14, 15))


def is_vector(first: int, second: int) -> bool:
    """True for an instruction of vectors, from its first halfword and its second one."""
    if first & 0xEC00 != 0xEC00:
        return False
    if first & 0xEF00 == 0xEF00:  # data processing of vectors alone
        return True
    is_duplicate = first & 0xFF90 == 0xEE80 and second & 0x0F1F == 0x0B10
    return second >> 8 & 15 in _VECTOR_COPROCESSORS or is_duplicate
