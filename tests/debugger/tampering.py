"""Libraries whose code does on a board what it should not."""

from pathlib import Path

import kibi
from tests.engines.networks import residual_network

FAULT = "*(volatile int *)0x60000000 = 1;"
"""Writes where no board has memory."""
LOOP = "for (volatile int i = 0;;) { i = i + 1; }"


def tampered(folder: Path, board: kibi.Board, statement: str) -> kibi.Library:
    """The small network for a board, with a statement at the beginning of the addition's kernel, which must be the portable one."""
    library = kibi.compile(residual_network(4, 3, 2), None, folder, target=board.target)
    path = folder / "kernels" / "kibi_add_s8.c"
    text = path.read_text(encoding="utf-8")
    assert "(void)scratch;" in text
    path.write_text(text.replace("(void)scratch;", statement + " (void)scratch;", 1), encoding="utf-8")
    return library
