"""C text of the offsets of a tensor's rows: a formula if one fits, else a table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kibi.codegen.c_text import integer_bits, integer_type, product, total
from kibi.text.c import CCode, code, filled

_MOST_PIECES = 4
_FORMULA_BYTES, _CONSTANT_BYTES = 12, 7
_RING_BYTES, _TABLE_BYTES, _UNIT_BYTES, _PLACES_BYTES = 14, 4, 2, 13
"""Estimated bytes of flash of one use: of a formula and of a constant; and, beyond a formula, of a remainder, a table, its unit,
and a table of a table. Averages over the functions of three networks, each compiled with each form for a Cortex-M4 by
zig at -Os.
"""


@dataclass(frozen=True, slots=True)
class Offsets:
    """The offsets of a tensor's rows in C.

    Attributes:
        expression: the offset in bytes of row `row`; a number if it is the same for all rows.
        table: definitions that the expression needs; usually none.
        how: the places of the rows, in words for a comment.
        flash_bytes: estimated bytes of flash beyond those of a formula.
        depends: true if the expression contains the row.
        is_conditional: true if it needs brackets to be a part of a sum.
    """

    expression: CCode
    table: CCode
    how: str
    flash_bytes: int
    depends: bool = True
    is_conditional: bool = False

    @property
    def summand(self) -> CCode:
        """The expression as it may follow a plus sign."""
        return code("($expression)", expression=self.expression) if self.is_conditional else self.expression


def offsets_text(offsets: Sequence[int], name: CCode, uses: int) -> Offsets:
    """The form that takes the least flash; of equals, the first.

    Args:
        offsets: of each row, in bytes from the start of the arena.
        name: of a table.
        uses: how many functions read the expression; each has its code anew.
    """
    return min(forms(offsets, name, uses), key=lambda form: form.flash_bytes)


def table_offsets(expression: CCode, unit: int) -> Offsets:
    """The offsets that a table elsewhere has; the expression reads it."""
    how = f"placed one by one, in units of {unit}" if unit > 1 else "placed one by one"
    return Offsets(expression, code(""), how, 0)


def forms(offsets: Sequence[int], name: CCode, uses: int) -> Iterator[Offsets]:
    """Yields each form in which the offsets can be written; only a formula if one fits."""
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
    values = [_piece(offsets, rows) for rows in pieces]
    expression = values[-1]
    for rows, value in zip(reversed(pieces[:-1]), reversed(values[:-1]), strict=True):
        expression = code("row < $end ? $value : $other", end=rows.stop, value=value, other=expression)
    how = f"from {offsets[0]}" if len(pieces) == 1 else f"in {len(pieces)} pieces"
    moving = [_distance(offsets, rows) != 0 for rows in pieces]
    size = sum(_FORMULA_BYTES if moves else _CONSTANT_BYTES for moves in moving) - _FORMULA_BYTES
    is_conditional = len(pieces) > 1
    return Offsets(expression, code(""), how, size * uses, is_conditional or moving[0], is_conditional)


def _distance(offsets: Sequence[int], rows: range) -> int:
    """Bytes from each row of a piece to the next one."""
    return offsets[rows.start + 1] - offsets[rows.start] if len(rows) > 1 else 0


def _piece(offsets: Sequence[int], rows: range) -> CCode:
    """The offset of a row of one piece."""
    distance = _distance(offsets, rows)
    return total(code(""), offsets[rows.start] - distance * rows.start, product(code("row"), distance))


def _period(offsets: Sequence[int]) -> int | None:
    """Returns the number of evenly spaced rows after which the offsets repeat; None if they do not."""
    again = next((row for row, offset in enumerate(offsets) if row and offset == offsets[0]), None)
    if again is None or again < 2:
        return None
    distance = offsets[1] - offsets[0]
    even = all(offset == offsets[0] + row % again * distance for row, offset in enumerate(offsets))
    return again if even else None


def _ring(offsets: Sequence[int], period: int, uses: int) -> Offsets:
    at = code("row % $period", period=period)
    expression = total(code(""), offsets[0], product(at, offsets[1] - offsets[0]))
    how = f"in a ring of {period} rows from {min(offsets)}"
    return Offsets(expression, code(""), how, _RING_BYTES * uses)


def _array(name: CCode, numbers: Sequence[int]) -> CCode:
    return code(
        "static const $kind $name[$count] = {\n$numbers\n};\n",
        kind=integer_type(numbers),
        name=name,
        count=len(numbers),
        numbers=filled(numbers),
    )


def _table(offsets: Sequence[int], name: CCode, uses: int) -> Offsets:
    """A table, divided by the common divisor where that makes its entries smaller."""
    unit = math.gcd(*offsets)
    numbers = [offset // unit for offset in offsets]
    if integer_bits(numbers) == integer_bits(offsets):
        unit, numbers = 1, list(offsets)
    size = integer_bits(numbers) // 8 * len(numbers) + (_TABLE_BYTES + (unit > 1) * _UNIT_BYTES) * uses
    how = f"placed one by one, in units of {unit}" if unit > 1 else "placed one by one"
    return Offsets(product(code("$name[row]", name=name), unit), _array(name, numbers), how, size)


def _named_places(offsets: Sequence[int], name: CCode, uses: int) -> Offsets:
    """A table of the different offsets, and for each row its number in there."""
    places = sorted(set(offsets))
    numbers = [places.index(offset) for offset in offsets]
    both = code("${name}_places", name=name)
    tables = _array(both, places) + _array(name, numbers)
    size = sum(integer_bits(each) // 8 * len(each) for each in (places, numbers)) + _PLACES_BYTES * uses
    expression = code("$places[$name[row]]", places=both, name=name)
    return Offsets(expression, tables, f"in {len(places)} places", size)
