"""The journal of a sweep that runs: a file beside the table, to which each row is added as it comes.

Its first line says what it is, each further one holds a row in JSON. A process that is killed leaves at most its last line
incomplete, which is dropped when the sweep goes on. The journal is removed when the table is written.
"""

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kibi.errors import InputError, OutputError
from kibi.files import take
from kibi.files.system import lock, open_flags
from kibi.sweeps.rows import Row, row_of
from kibi.text.json import json_text

_HEADER = b'{"kibi_sweep_journal": 1}\n'
_MOST_BYTES = 1 << 32
_REMEDY = "Move the journal away to begin the sweep anew."


def journal_path(table: Path) -> Path:
    """Returns the path of the journal of a table."""
    return table.with_name(f"{table.name}.journal")


class Journal:
    """A journal that is open for this process alone; `opened` makes it.

    Attributes:
        has_rows: True once there is something to keep.
    """

    def __init__(self, stream: BinaryIO, path: Path, *, has_rows: bool) -> None:
        self._stream = stream
        self._path = path
        self.has_rows = has_rows

    def add(self, row: Row) -> None:
        """Adds a row, and gives it to the system: it survives the end of this process.

        Raises:
            OutputError: it cannot be written.
        """
        try:
            self._stream.write(json_text(row.record(), indent=None).text.encode())
            self._stream.flush()
            self.has_rows = True
        except OSError as error:
            raise OutputError(f"{self._path}: {error.strerror}. Make room, and run the sweep again.") from None

    def remove(self) -> None:
        """Removes it: its rows are in the table, or it has none."""
        self._path.unlink(missing_ok=True)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[Journal, list[Row]]]:
    """Opens a journal, made if it is absent, and yields it with the rows that it has. One without rows is removed at the end.

    Raises:
        InputError: the file is no journal, or is damaged; the text names the line.
        OutputError: it cannot be written, or another process is writing it.
    """
    with _locked(path) as stream:
        data = take(stream, _MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InputError(f"{path}: it has more than {_MOST_BYTES:,} bytes. {_REMEDY}")
        rows, end = _rows(data, path)
        stream.truncate(end)
        stream.seek(end)
        if not end:
            stream.write(_HEADER)
            stream.flush()
        journal = Journal(stream, path, has_rows=bool(rows))
        try:
            yield journal, rows
        finally:
            if not journal.has_rows:
                journal.remove()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Opens a file for this process alone. One that its owner removed before we had the lock is opened anew.

    Raises:
        OutputError: it is no file that can be written, or another process has it.
    """
    while True:
        try:
            handle = os.open(path, open_flags(os.O_RDWR | os.O_CREAT, "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK"), 0o666)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OutputError(f"{path}: {reason}. Give a table in a folder that can be written.") from None
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise OutputError(f"{path}: it is no file. {_REMEDY}")
        with os.fdopen(handle, "r+b") as stream:
            if not lock(handle):
                raise OutputError(f"{path}: another sweep writes it. Wait for its end, or give another table.")
            if path.exists() and os.path.samestat(status, path.stat()):
                yield stream
                return


def _rows(data: bytes, path: Path) -> tuple[list[Row], int]:
    """The rows of a journal, and the number of its bytes up to the end of the last complete line.

    Raises:
        InputError: the file is no journal, or a line is damaged.
    """
    if not data.startswith(_HEADER):
        if _HEADER.startswith(data):  # empty, or its first line is incomplete
            return [], 0
        what = f"{path}: it is no journal of a sweep, or one of another version of Kibi"
        raise InputError(f"{what}. Move it away, or give another table.")
    end = data.rindex(b"\n") + 1
    rows = []
    for number, line in enumerate(data[len(_HEADER) : end].splitlines(), 2):
        try:
            rows.append(row_of(json.loads(line)))
        except (InputError, ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: it is damaged: {error}. {_REMEDY}") from None
    return rows, end
