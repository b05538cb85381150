"""The origin of a generated file: its licence, the command that made it, the model's digest."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from kibi.ir import Graph
from kibi.ir.text import graph_text
from kibi.text import cmake
from kibi.text.c import CCode, code, comment, lines, plain
from kibi.text.cmake import CMakeText
from kibi.text.own_text import OwnText, own_text

LICENSE = "Apache-2.0"
"""The licence of Kibi's kernels and of the files that it generates, by its name in the SPDX list."""
_SPDX = f"SPDX-License-Identifier: {LICENSE}"


def license_text() -> OwnText:
    """The licence's text."""
    return own_text(Path(__file__).with_name("LICENSE"))


def digest(graph: Graph) -> str:
    """The SHA-256 of the model file; of the graph as text where it comes from no file."""
    return graph.digest or hashlib.sha256(graph_text(graph).encode("utf-8", "replace")).hexdigest()


def first_lines(command: str, models: Sequence[Graph], *, is_ours: bool = True) -> CCode:
    """The comments with which a file of C begins.

    Args:
        command: what made it.
        models: those that it is about.
        is_ours: False for a file that somebody else wrote, whose licence we do not know.
    """
    texts = [_SPDX] if is_ours else []
    return lines(comment(text) for text in (*texts, _one_line(command), *map(_about, models)))


def cmake_first_lines(command: str, models: Sequence[Graph]) -> CMakeText:
    """The same for a build file."""
    return cmake.cmake("\n").join([cmake.comment(text) for text in (_SPDX, command, *map(_about, models))])


def _about(graph: Graph) -> str:
    what = "SHA-256" if graph.digest else "SHA-256 of the graph as text"
    return f"{plain(graph.source)}: {what} {digest(graph)}"


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


def of_weights() -> CCode:
    """A comment that says whose the numbers of a model are."""
    return code("/* The numbers are the model's: its own licence holds for them. */\n\n")
