"""CMake code: templates, and in them comments and arguments that mean nothing but themselves."""

import re
from pathlib import Path

from kibi.errors import InternalError
from kibi.text.file_name import FileName
from kibi.text.template import Code

_ARGUMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class CMakeText(Code):
    """CMake code."""

    __slots__ = ()


def cmake(template: str, /, **parts: CMakeText | int) -> CMakeText:
    """CMake code from a template whose places `$name` are filled; CMake's own `$` is written twice."""
    return CMakeText.filled(template, dict(parts))


def cmake_file(path: Path, /, **parts: CMakeText | int) -> CMakeText:
    """The same for a template in a file of the program's own."""
    return CMakeText.filled_file(path, dict(parts))


def comment(text: str) -> CMakeText:
    """Foreign text as one line of comment."""
    # The blank keeps `#[[`, which opens a comment of several lines, apart.
    return CMakeText("# " + "".join(each if " " <= each <= "~" else "?" for each in text))


def argument(text: "FileName | str") -> CMakeText:
    """The name of a file or of a target as an argument without quotes.

    Raises:
        InternalError: it is neither.
    """
    if isinstance(text, FileName):
        return CMakeText(text.path)
    if not _ARGUMENT.fullmatch(text):
        raise InternalError(f"{text!r} is no argument of CMake's without quotes")
    return CMakeText(text)
