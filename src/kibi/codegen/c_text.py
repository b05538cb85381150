"""Small pieces of C text: literals, arrays, comments, identifiers."""

from collections.abc import Iterable, Sequence
from math import isfinite, isnan
from textwrap import wrap

import numpy as np

from kibi.dtypes import Array, DType

LINE_WIDTH = 120


def literal(value: float, c_type: str) -> str:
    """A C99 literal of a value of an integer type or `float`."""
    if c_type == "float" and not isfinite(value):
        # Constant expressions that need no header.
        return "(0.0f / 0.0f)" if isnan(value) else f"({'-' if value < 0 else ''}1.0f / 0.0f)"
    if c_type == "float":
        # Decimal digits that give back the very same float32, in C99 and C++17 alike.
        text = repr(float(np.float32(value))) if float(np.float32(value)) == value else f"{value:.9g}"
        return f"{text if '.' in text or 'e' in text else text + '.0'}f"
    if int(value) in (-(1 << 31), -(1 << 63)):
        return f"({int(value) + 1} - 1)"  # no literal is negative, and none is as large as this number without its sign
    return f"{int(value)}{'u' if c_type in ('uint32_t', 'uint64_t') else ''}"


def array(declaration: str, data: Array) -> str:
    """A definition with initializer: `declaration = {…};`, lines filled."""
    c_type = DType.of(data).c
    flat = data.reshape(-1)
    numbers = map(str, flat.tolist()) if c_type == "int8_t" else (literal(value, c_type) for value in flat.tolist())
    return f"{declaration} = {{\n{filled(numbers)}\n}};\n"


def filled(numbers: Iterable[str], indent: str = "    ") -> str:
    """Numbers with commas between them, as many on a line as fit."""
    lines, line = [], indent
    for number in numbers:
        piece = f"{number}, "
        if len(line) + len(piece) - 1 > LINE_WIDTH:
            lines.append(line.rstrip())
            line = indent
        line += piece
    lines.append(line.rstrip(", "))
    return "\n".join(lines)


def comment(text: str, indent: str = "") -> str:
    """A block comment; text that would end it early is defused. Paragraphs stay apart."""
    safe = text.replace("*/", "* /").replace("/*", "/ *").replace("\\\n", "\n")
    lines = []
    for paragraph in safe.split("\n"):
        lines += wrap(paragraph, LINE_WIDTH - len(indent) - 6, break_long_words=False) or [""]
    if len(lines) == 1:
        return f"{indent}/* {lines[0]} */\n"
    body = "\n".join(f"{indent} * {line}".rstrip() for line in lines[1:])
    return f"{indent}/* {lines[0]}\n{body} */\n"


def plain(name: str) -> str:
    """A tensor's name as it may stand in a comment: printable ASCII, at most 80 characters."""
    text = "".join(char if " " <= char <= "~" else "?" for char in name)
    return text if len(text) <= 80 else f"{text[:38]}…{text[-38:]}".replace("…", "...")


def product(text: str, factor: int) -> str:
    """`text * factor`, as short as it can be; empty for 0."""
    if factor == 0:
        return ""
    return text if factor == 1 else f"{text} * {factor}"


def total(base: str, constant: int, term: str) -> str:
    """`base + term + constant`, without what is empty or 0."""
    parts = [part for part in (base, term) if part]
    if constant or not parts:
        sign = "-" if constant < 0 else "+"
        parts = [f"{' + '.join(parts)} {sign} {abs(constant)}" if parts else str(constant)]
    return " + ".join(parts)


def integer_bits(numbers: Sequence[int]) -> int:
    """Bits of the smallest integer that holds all of the numbers: 8, 16 or 32; signed if one of them is negative."""
    low, high = min(numbers), max(numbers)
    return next(n for n in (8, 16, 32) if (high < 1 << n if low >= 0 else max(high, -low - 1) < 1 << n - 1))


def integer_type(numbers: Sequence[int]) -> str:
    """The C type of that integer; of 32 bits always signed, so that no sign changes where it is added to others."""
    bits = integer_bits(numbers)
    return f"{'' if bits == 32 or min(numbers) < 0 else 'u'}int{bits}_t"
