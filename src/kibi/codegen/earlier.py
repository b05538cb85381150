"""Tells the files of earlier libraries in a folder from those of others: what may be replaced, and what is no longer needed."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from kibi.errors import InputError, OutputError
from kibi.text.file_name import FileName
from kibi.text.file_text import FileText

_SHOWN = 5
_MOST_RECORD_BYTES = 1 << 26
"""The limit of a record's size in bytes; a larger file is not a record of Kibi's."""


def file_digest(content: str | bytes) -> str:
    """Returns the digest by which a record identifies a file."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def obsolete_files(directory: Path, files: Mapping[FileName, FileText | bytes]) -> tuple[FileName, ...]:
    """The files that an earlier library of these names wrote and the new one has not.

    A record of a library lists its files with their digests. A file is obsolete if a record that the new library replaces lists
    it, if it still is what was written then, and if no other library's record lists it, too.

    Args:
        directory: the folder; it may be absent.
        files: the new files.

    Raises:
        OutputError: a new file has the place of one that no library wrote.
    """
    new = {name.path for name in files}
    own: dict[str, str] = {}
    others: set[str] = set()
    records: set[str] = set()
    for path in sorted(directory.glob("*.json")) if directory.is_dir() else []:
        listed = _listed(path)
        records |= {path.name} if listed else set()
        if path.name in new:
            own |= listed
        else:
            others |= listed.keys()
    listed_names = own.keys() | others | records
    _check_foreign(directory, {name: content for name, content in files.items() if name.path not in listed_names})
    found = []
    for path_text, written in sorted(own.items()):
        name = _file_name(path_text)
        is_left = name is not None and path_text not in new and path_text not in others
        if name is not None and is_left and _is_as_written(directory, name, written):
            found.append(name)
    return tuple(found)


def _check_foreign(directory: Path, files: Mapping[FileName, FileText | bytes]) -> None:
    """Refuses to write where something is that no record lists, unless its bytes are the new ones already.

    A run that was killed leaves such files: all that it had written, before its record.

    Raises:
        OutputError: there is such a file; the text names the first ones.
    """
    found = [
        name.path
        for name, content in sorted(files.items(), key=lambda each: each[0].path)
        if os.path.lexists(directory / name.path)
        and not _is_as_written(directory, name, file_digest(content if isinstance(content, bytes) else content.text))
    ]
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        shown = ", ".join(map(repr, found[:_SHOWN]))
        raise OutputError(
            f"{directory} has files that no library of Kibi's wrote: {shown}{more}. Nothing was written. Give another folder, "
            "or move them."
        )


def _listed(path: Path) -> Mapping[str, str]:
    """The files of a record; none if it is no record."""
    try:
        if path.is_symlink() or path.stat().st_size > _MOST_RECORD_BYTES:
            return {}
        record = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    files = record.get("files") if isinstance(record, dict) and "kibi" in record else None
    if not isinstance(files, dict):
        return {}
    return {name: digest for name, digest in files.items() if isinstance(digest, str)}


def _file_name(path: str) -> FileName | None:
    folder, _, name = path.rpartition("/")
    try:
        return FileName(name, folder)
    except InputError:
        return None


def _is_as_written(directory: Path, name: FileName, digest: str) -> bool:
    """True if it is a regular file, in folders that are no links, of that digest."""
    path = directory / name.path
    try:
        is_link = any((directory / each).is_symlink() for each in Path(name.path).parents) or path.is_symlink()
        return not is_link and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False
