"""Paths on the command line: none is empty, a pipe can be read more than once, and shown commands quote them."""

import atexit
import contextlib
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import typer

_kept = contextlib.ExitStack()
atexit.register(_kept.close)


def given_path(text: str) -> Path:
    """The path that an option or argument names.

    Raises:
        BadParameter: it is empty, which would mean the working folder.
    """
    if not text:
        raise typer.BadParameter("the path is empty. Give one; a full stop is the working folder")
    return Path(text)


def build_commands(directory: Path) -> str:
    """Returns the shell commands that build the library that was written to a folder."""
    where = shlex.quote(str(directory))
    return f"cmake -S {where} -B {where}/build && cmake --build {where}/build"


def given_model(text: str) -> Path:
    """The path of a model; of one that comes through a pipe, such as `/dev/stdin`, the path of a copy.

    Raises:
        BadParameter: it is empty.
        ModelError: the pipe holds no model.
    """
    from kibi.frontends.source import read_source  # noqa: PLC0415 - verbs pay for what they use

    return _reread(given_path(text), read_source)


def given_inspected(text: str) -> Path:
    """The path of a model, a plan file, an update package or a key; of one that comes through a pipe, the path of a copy.

    Raises:
        BadParameter: it is empty.
        ModelError: the pipe holds nothing, or too much.
    """
    from kibi.frontends.source import read_source  # noqa: PLC0415 - as above
    from kibi.update.inspection import STARTS  # noqa: PLC0415 - as above

    return _reread(given_path(text), lambda path: read_source(path, tuple(STARTS)))


def given_plan(text: str) -> Path:
    """The path of a saved plan; of one that comes through a pipe, the path of a copy.

    Raises:
        BadParameter: it is empty.
        PlanError: the pipe holds no text, or too much.
    """
    from kibi.errors import PlanError  # noqa: PLC0415 - as above
    from kibi.files import read_file  # noqa: PLC0415 - as above
    from kibi.planner.plan import MOST_PLAN_BYTES  # noqa: PLC0415 - as above

    return _reread(
        given_path(text), lambda path: read_file(path, MOST_PLAN_BYTES, PlanError, "Give the path of a saved plan.")
    )


def _reread(path: Path, read: Callable[[Path], bytes]) -> Path:
    """Returns the path, or the path of a private copy of a pipe's contents, which is removed when the program ends."""
    from kibi.files import temporary_folder  # noqa: PLC0415 - as above

    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116 - says no more than pathlib
    except (OSError, ValueError):
        return path  # whoever reads it says why not
    if not is_pipe:
        return path
    data = read(path)
    copy = _kept.enter_context(temporary_folder()) / path.name
    copy.write_bytes(data)
    return copy
