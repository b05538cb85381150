"""C text of where a tensor's rows lie: a formula where one holds, else a table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kibi.codegen.c_text import filled, integer_bits, integer_type, product, total

_MOST_PIECES = 4
_FORMULA_BYTES, _CONSTANT_BYTES = 12, 7
_RING_BYTES, _TABLE_BYTES, _UNIT_BYTES, _PLACES_BYTES = 14, 4, 2, 13
"""What one use takes of flash: a formula and a constant, and beyond a formula a remainder, a table, its unit, and a table of
a table. Averages over the functions of three networks, each compiled with each form for a Cortex-M4 by zig at -Os.
"""


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of a tensor's rows in C.

    Attributes:
        expression: the offset of row `row`; a number where it is the same for all rows.
        table: definitions that the expression needs; mostly none.
        how: for people: where the rows lie.
        flash_bytes: what it takes of flash, as far as it is more than a formula takes.
    """

    expression: str
    table: str
    how: str
    flash_bytes: int


def offsets_text(offsets: Sequence[int], name: str, uses: int) -> Offsets:
    """The form that takes the least flash; of equals, the first.

    Args:
        offsets: of each row, in bytes from the start of the arena.
        name: of a table.
        uses: how many functions read the expression; each has its code anew.
    """
    return min(forms(offsets, name, uses), key=lambda form: form.flash_bytes)


def forms(offsets: Sequence[int], name: str, uses: int) -> Iterator[Offsets]:
    """Every form that the offsets have; a formula alone where one gives them all."""
    pieces = _pieces(offsets)
    if len(pieces) == 1:
        yield _in_pieces(offsets, pieces, uses)
        return
    if len(pieces) <= _MOST_PIECES:
        yield _in_pieces(offsets, pieces, uses)
    period = _period(offsets)
    if period is not None:
        yield _ring(offsets, period, uses)
    yield _table(offsets, name, uses)
    yield _named_places(offsets, name, uses)


def _pieces(offsets: Sequence[int]) -> tuple[range, ...]:
    """Rows whose offsets ascend or descend evenly, as few pieces as a greedy search finds."""
    pieces, start = [], 0
    while start < len(offsets):
        end = min(start + 2, len(offsets))
        while end < len(offsets) and offsets[end] - offsets[end - 1] == offsets[start + 1] - offsets[start]:
            end += 1
        # Two rows are no pattern; the second may begin the next piece.
        end = start + 1 if end == start + 2 < len(offsets) else end
        pieces.append(range(start, end))
        start = end
    return tuple(pieces)


def _in_pieces(offsets: Sequence[int], pieces: Sequence[range], uses: int) -> Offsets:
    texts = [_piece(offsets, rows) for rows in pieces]
    expression = texts[-1]
    for rows, text in zip(reversed(pieces[:-1]), reversed(texts[:-1]), strict=True):
        expression = f"row < {rows.stop} ? {text} : {expression}"
    how = f"from {offsets[0]}" if len(pieces) == 1 else f"in {len(pieces)} pieces"
    size = sum(_CONSTANT_BYTES if text.isdigit() else _FORMULA_BYTES for text in texts) - _FORMULA_BYTES
    return Offsets(expression, "", how, size * uses)


def _piece(offsets: Sequence[int], rows: range) -> str:
    """The offset of a row of one piece."""
    distance = offsets[rows.start + 1] - offsets[rows.start] if len(rows) > 1 else 0
    return total("", offsets[rows.start] - distance * rows.start, product("row", distance))


def _period(offsets: Sequence[int]) -> int | None:
    """After how many rows the same offsets come again, evenly spaced between; None if they do not."""
    again = next((row for row, offset in enumerate(offsets) if row and offset == offsets[0]), None)
    if again is None or again < 2:
        return None
    distance = offsets[1] - offsets[0]
    even = all(offset == offsets[0] + row % again * distance for row, offset in enumerate(offsets))
    return again if even else None


def _ring(offsets: Sequence[int], period: int, uses: int) -> Offsets:
    expression = total("", offsets[0], product(f"row % {period}", offsets[1] - offsets[0]))
    return Offsets(expression, "", f"in a ring of {period} rows from {min(offsets)}", _RING_BYTES * uses)


def _array(name: str, numbers: Sequence[int]) -> str:
    return f"static const {integer_type(numbers)} {name}[{len(numbers)}] = {{\n{filled(map(str, numbers))}\n}};\n"


def _table(offsets: Sequence[int], name: str, uses: int) -> Offsets:
    """A table, divided by the common divisor where that makes its entries smaller."""
    unit = math.gcd(*offsets)
    numbers = [offset // unit for offset in offsets]
    if integer_bits(numbers) == integer_bits(offsets):
        unit, numbers = 1, list(offsets)
    size = integer_bits(numbers) // 8 * len(numbers) + (_TABLE_BYTES + (unit > 1) * _UNIT_BYTES) * uses
    how = f"placed one by one, in units of {unit}" if unit > 1 else "placed one by one"
    return Offsets(product(f"{name}[row]", unit), _array(name, numbers), how, size)


def _named_places(offsets: Sequence[int], name: str, uses: int) -> Offsets:
    """A table of the different offsets, and for each row its number in there."""
    places = sorted(set(offsets))
    numbers = [places.index(offset) for offset in offsets]
    tables = _array(f"{name}_places", places) + _array(name, numbers)
    size = sum(integer_bits(each) // 8 * len(each) for each in (places, numbers)) + _PLACES_BYTES * uses
    return Offsets(f"{name}_places[{name}[row]]", tables, f"in {len(places)} places", size)
