"""Text that a terminal may show: nothing in it steers the terminal, changes the direction of reading, or hides."""

import unicodedata

_SHOWN = "?"
"""The replacement for characters that cannot be shown."""


def printable(text: str, kept: str = "") -> str:
    r"""A text whose every character is visible.

    Escape sequences, control characters of both kinds, controls of direction and of format, separators of lines and paragraphs,
    surrogates, and what Unicode does not assign become `?`; spaces of any width become blanks.

    Args:
        text: any.
        kept: what stays although it is none of these, such as `"\n"` in paragraphs.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in kept else _replacement(each) for each in text)


def paragraph(text: str) -> str:
    """The same for text of several lines: line ends and tabulators stay."""
    return printable(text, "\n\t")


def _replacement(character: str) -> str:
    return " " if unicodedata.category(character) == "Zs" else _SHOWN
