"""Small pieces of C text: literals, arrays, comments, identifiers."""

from collections.abc import Iterable
from textwrap import wrap

import numpy as np

from kibi.dtypes import Array, DType

LINE_WIDTH = 120


def literal(value: float, c_type: str) -> str:
    """A C99 literal of an `int32_t` or `float` value."""
    if c_type == "float":
        # Decimal digits that give back the very same float32, in C99 and C++17 alike.
        text = repr(float(np.float32(value))) if float(np.float32(value)) == value else f"{value:.9g}"
        return f"{text if '.' in text or 'e' in text else text + '.0'}f"
    if int(value) == -(1 << 31):
        return "(-2147483647 - 1)"
    return str(int(value))


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
