"""Small pieces of C: sums and products as short as they can be, and the smallest types of numbers."""

from collections.abc import Sequence

from kibi.text.c import LINE_WIDTH, CCode, code, type_name


def product(factor: CCode, number: int) -> CCode:
    """`factor * number`, as short as it can be; empty for 0."""
    if number == 0:
        return code("")
    return factor if number == 1 else code("$factor * $number", factor=factor, number=number)


def total(base: CCode, constant: int, term: CCode) -> CCode:
    """`base + term + constant`, without what is empty or 0."""
    sums = code(" + ").join(part for part in (base, term) if part)
    if not sums:
        return code("$constant", constant=constant)
    if constant < 0:
        return code("$sums - $constant", sums=sums, constant=-constant)
    return code("$sums + $constant", sums=sums, constant=constant) if constant else sums


def integer_bits(numbers: Sequence[int]) -> int:
    """Bits of the smallest integer that holds all of the numbers: 8, 16 or 32; signed if one of them is negative."""
    low, high = min(numbers), max(numbers)
    return next(n for n in (8, 16, 32) if (high < 1 << n if low >= 0 else max(high, -low - 1) < 1 << n - 1))


def integer_type(numbers: Sequence[int]) -> CCode:
    """The C type of that integer; of 32 bits always signed, so that no sign changes where it is added to others."""
    bits = integer_bits(numbers)
    return type_name(f"{'' if bits == 32 or min(numbers) < 0 else 'u'}int{bits}_t")


def indentation(depth: int) -> CCode:
    """The blanks before a line."""
    return code("    ").join([code("")] * (depth + 1))


def call_statement(function: CCode, arguments: Sequence[CCode], depth: int) -> CCode:
    """The statement that calls a function; its arguments stand on further lines where one would be too long.

    Args:
        function: its name.
        arguments: what it is given.
        depth: how often the statement is indented.
    """
    return wrapped(code("$function(", function=function), arguments, code(");\n"), depth)


def wrapped(head: CCode, parts: Sequence[CCode], tail: CCode, depth: int) -> CCode:
    """`head`, the parts with commas between them, and `tail`; on several lines where one would be too long."""
    indent = indentation(depth)
    line = indent + head + code(", ").join(parts) + tail
    if len(line.text.rstrip("\n")) <= LINE_WIDTH:
        return line
    found, current = [], indent + head
    for number, part in enumerate(parts):
        piece = part if number + 1 == len(parts) else code("$part,", part=part)
        space = code(" ") if number else code("")
        if len(current.text) + len(space.text) + len(piece.text) + len(tail.text) > LINE_WIDTH:
            found.append(current)
            current, space = indent + code("    "), code("")
        current = current + space + piece
    return code("\n").join([*found, current]) + tail
