"""Ends a run after an exception: with a text on standard error, and an exit code."""

import errno
import os
import sys
import traceback
from typing import Final

import typer

from kibi.errors import InternalError, KibiError, OutputError, exhaustion, plain_text
from kibi.printable import paragraph

EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_USAGE_ERRORS = tuple(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")


def exit_code_of(error: BaseException, *, wants_traceback: bool) -> int:
    """Prints what happened on standard error, and returns the exit code.

    Args:
        error: what ended the run.
        wants_traceback: true to show where it was raised.

    Returns:
        The exit code.
    """
    if isinstance(error, BrokenPipeError) or isinstance(
        error.__context__, BrokenPipeError
    ):  # typer may have wrapped it
        _drop_output()
        return EXIT_BROKEN_PIPE
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        _say("interrupted")
        return EXIT_INTERRUPTED
    if wants_traceback:
        _write("".join(traceback.format_exception(error)))
    if isinstance(error, _USAGE_ERRORS):
        return _usage(error)
    if isinstance(error, MemoryError | RecursionError):
        error = exhaustion(error)
    if isinstance(error, KibiError) and not isinstance(error, InternalError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
        _drop_output()
        _say(f"standard output: {error.strerror}. Write to a place that has room.")
        return OutputError.exit_code
    return _bug(error)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    """Prints a warning for people, without the place in Kibi; the signature is that of `warnings.showwarning`."""
    del category, filename, lineno, file, line
    say_warning(str(message))


def say_warning(text: str) -> None:
    """Prints a warning on standard error."""
    _say(f"warning: {text}")


def _usage(error: BaseException) -> int:
    """Prints what is wrong with the arguments, and how to get help; returns the exit code."""
    text = getattr(error, "format_message", lambda: str(error))()
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "kibi")
    if type(error).__name__ == "NoArgsIsHelpError":
        _write(text.rstrip() + "\n")
    else:
        _say(f"{text.rstrip('.')}. Run `{path} --help` for what it takes.")
    return EXIT_USAGE


def _bug(error: BaseException) -> int:
    kind = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
    _say(f"internal error: {kind}{plain_text(str(error))}")
    _write("This is a bug of Kibi. Please report it with this text, the command with --traceback, and the model.\n")
    return InternalError.exit_code


def _drop_output() -> None:
    """Sends standard output nowhere, so that the interpreter's last flush does not fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - it lives as long as the process


def _say(text: str) -> None:
    """The program's name and a text."""
    _write(f"kibi: {text}\n")


def _write(text: str) -> None:
    """Writes to standard error a text that steers no terminal, whatever names are in it."""
    try:
        sys.stderr.write(paragraph(text))
        sys.stderr.flush()
    except OSError:
        pass  # there is nobody left to tell
