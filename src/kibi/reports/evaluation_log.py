"""The file from which an interrupted evaluation goes on: lines of JSON, one for each batch that was counted.

The first line says what was evaluated. A line is written by one call when its batch is complete, so that whatever ends the
program leaves complete lines, and at most one without its end, which the next run removes. A line holds a digest of its inputs and
labels; the data are read again from the start, and must be the same.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibi.errors import InputError, OutputError
from kibi.files import read_file, write_new_file
from kibi.reports.judging import Judgements

FORMAT = 1
_MOST_LOG_BYTES = 1 << 30
_REMEDY = "Give the file of an evaluation of this model and these data, or a name that is free."


@dataclass(frozen=True, slots=True)
class Chunk:
    """A batch that was counted.

    Attributes:
        digest: of its inputs and labels.
        judgements: what is kept of them.
    """

    digest: str
    judgements: Judgements


class EvaluationLog:
    """The file, and what it holds.

    Args:
        path: the file; made if it is absent.
        facts: what is evaluated, by names; a file about other things is refused.

    Raises:
        InputError: the file is about something else, or is no such file.
        OutputError: it cannot be written.
    """

    def __init__(self, path: Path, facts: Mapping[str, str]) -> None:
        self._path = path
        head = {"kibi": "evaluation", "format": FORMAT, **facts}
        if not path.exists():
            write_new_file(path, _line(head))
            self.chunks: tuple[Chunk, ...] = ()
            return
        if not path.is_file():
            raise InputError(f"{path}: it is no regular file. {_REMEDY}")
        data = read_file(path, _MOST_LOG_BYTES, InputError, _REMEDY)
        *lines, rest = data.split(b"\n")
        if not lines:
            raise InputError(f"{path}: it is no evaluation. {_REMEDY}")
        self._check_head(_record(path, lines[0], 1), head)
        self.chunks = tuple(_chunk(path, line, number) for number, line in enumerate(lines[1:], start=2))
        if rest:
            self._cut(len(data) - len(rest))

    def append(self, chunk: Chunk) -> None:
        """Writes a batch that was counted.

        Raises:
            OutputError: the file cannot be written; what was written before stays.
        """
        text = _line({"digest": chunk.digest, **chunk.judgements.to_lists()})
        try:
            with self._path.open("r+b") as stream:
                end = stream.seek(0, os.SEEK_END)
                try:
                    stream.write(text)
                    stream.flush()
                except OSError:
                    os.ftruncate(stream.fileno(), end)
                    raise
        except OSError as error:
            what = f"{self._path}: {error.strerror}"
            raise OutputError(f"{what}. What it holds is complete: make room, and give it again.") from None

    def _check_head(self, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        if found.get("kibi") != "evaluation" or found.get("format") != FORMAT:
            raise InputError(f"{self._path}: it is no evaluation of this version. {_REMEDY}")
        others = [name for name in wanted if found.get(name) != wanted[name]]
        if others:
            raise InputError(f"{self._path}: it is of another {others[0]}: {found.get(others[0])!r}. {_REMEDY}")

    def _cut(self, size: int) -> None:
        """Removes a line without its end."""
        try:
            os.truncate(self._path, size)
        except OSError as error:
            raise OutputError(f"{self._path}: {error.strerror}. Give a file that can be written.") from None


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _record(path: Path, line: bytes, number: int) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise InputError(f"{path}, line {number}: it is damaged. {_REMEDY}")
    return record


def _chunk(path: Path, line: bytes, number: int) -> Chunk:
    record = _record(path, line, number)
    try:
        judgements = Judgements.from_lists(record)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{path}, line {number}: it is damaged. {_REMEDY}") from None
    if not len(judgements):
        raise InputError(f"{path}, line {number}: it is damaged. {_REMEDY}")
    return Chunk(str(record.get("digest")), judgements)
