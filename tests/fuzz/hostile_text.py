"""Text that breaks out of places: comments, strings, markup, terminals, paths, build files."""

import numpy as np

PIECES = (
    "*/",
    "/*",
    "//",
    "\\",
    "\\\n",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "??/",
    "??/\n",
    '"',
    "'",
    "`",
    "<script>",
    "</text>",
    "]]>",
    "&amp;",
    "&",
    "<",
    ">",
    "${HOME}",
    "$(id)",
    ";",
    "#define int",
    "%s%n",
    "{0}",
    "[bold]",
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "\u202e",
    "\u2066",
    "\u2028",
    "\u0085",
    "\ufeff",
    "\ud800",
    "../../x",
    "/etc/passwd",
    "~",
    "CON",
    "int",
    "main",
    "NULL",
    "é",
    "模型",
    "\U0001f4a3",
    "a" * 80,
    "a" * 5000,
    " ",
    "",
)
"""Pieces that texts are made of."""


def hostile_text(rng: np.random.Generator) -> str:
    """One to four pieces in a row."""
    return "".join(PIECES[int(rng.integers(len(PIECES)))] for _ in range(int(rng.integers(1, 5))))
