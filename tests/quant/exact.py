"""The roundings again, on Python's unbounded integers and fractions: slow, and close to how gemmlowp writes them."""

from fractions import Fraction
from math import floor

from tests.quant.boundaries import MAX, MIN


def wrapped(value: int) -> int:
    """The 32 low bits as two's complement."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def high_multiply(a: int, b: int) -> int:
    """As gemmlowp has it: a nudge by the product's sign, and a division that truncates; the one overflow saturates."""
    if a == b == MIN:
        return MAX
    nudged = a * b + ((1 << 30) if a * b >= 0 else 1 - (1 << 30))
    return nudged // (1 << 31) if nudged >= 0 else -(-nudged // (1 << 31))


def half_away(value: Fraction) -> int:
    """The nearest integer; of two, the one farther from zero."""
    return floor(value + Fraction(1, 2)) if value >= 0 else -floor(-value + Fraction(1, 2))


def requantized(acc: int, multiplier: int, shift: int) -> int:
    """A left shift that wraps, a multiplication that rounds, a right shift that rounds again."""
    left = wrapped(acc << max(shift, 0))
    return half_away(Fraction(high_multiply(left, multiplier), 1 << max(-shift, 0)))


def requantized_wide(acc: int, multiplier: int, shift: int) -> int:
    """A multiplication by the multiplier's upper half, rounded but for the largest, and one right shift that rounds half up."""
    upper = min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1)
    return wrapped(floor(Fraction(acc * upper, 1 << (15 - shift)) + Fraction(1, 2)))
