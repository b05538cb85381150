"""Temporary folders that are removed even when a signal comes at the worst moment."""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kibi.errors import OutputError

PREFIX = ".kibi-"


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None, *, prefix: str = "kibi-", mode: int = 0o700) -> Iterator[Path]:
    """Makes a fresh folder, and removes it with all that it holds at the end.

    The name is chosen before the folder is made, so that no moment exists in which an interrupt would leave it.

    Args:
        parent: an existing folder; None: the system's folder for temporary files.
        prefix: the beginning of the folder's name.
        mode: the permissions, of which the umask takes its part.

    Raises:
        OSError: the folder cannot be made in `parent`.
        OutputError: it cannot be made in the system's folder.
    """
    folder = (parent or _system_folder()) / unused_name(prefix)
    try:
        _make(folder, mode, is_system=parent is None)
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except BaseException:  # an interrupt came only now
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _system_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise OutputError(f"{error.strerror}. Set TMPDIR to a folder that can be written.") from None


def _make(folder: Path, mode: int, *, is_system: bool) -> None:
    try:
        folder.mkdir(mode)
    except OSError as error:
        if is_system:
            raise OutputError(f"{folder}: {error.strerror}. Set TMPDIR to a folder that can be written.") from None
        raise


def unused_name(prefix: str = PREFIX) -> str:
    """Returns a name that no file has."""
    return prefix + secrets.token_hex(8)


def remove_quietly(path: Path) -> None:
    """Removes a file if it exists and can be removed."""
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - the same call where links are dangling
