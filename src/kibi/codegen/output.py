"""Writing folders and files so that nothing is ever half-written."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kibi.errors import OutputError
from kibi.text.c import CCode
from kibi.text.cmake import CMakeText
from kibi.text.file_name import FileName
from kibi.text.json import JsonText


def write_folder(directory: Path, files: Mapping[FileName, CCode | CMakeText | JsonText]) -> None:
    """Write texts into a folder, made when it is absent. Other files in it stay.

    All texts are written aside first and moved into place only when every one is complete.

    Raises:
        OutputError: the folder is a file, or cannot be written.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise OutputError(f"{directory}: is a file. Give the name of a folder, or remove the file.")
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".kibi-", dir=directory) as aside:
            for name, text in files.items():
                (Path(aside) / name.text).write_text(text.text, encoding="utf-8", newline="\n")
            for name in files:
                os.replace(Path(aside) / name.text, directory / name.text)  # noqa: PTH105 - the same call for files and folders
    except OSError as error:
        raise OutputError(
            f"{error.filename or directory}: {error.strerror}. Give a folder that can be written."
        ) from None


def write_file(path: Path, data: bytes) -> None:
    """Write one file; it is complete or as it was before.

    Raises:
        OutputError: it is a folder, or cannot be written.
    """
    try:
        if path.is_dir():
            raise OutputError(f"{path}: is a folder. Give the name of a file.")
        handle, aside = tempfile.mkstemp(prefix=".kibi-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(aside, 0o644)  # noqa: PTH101 - mkstemp's 0600 is for secrets; results are for sharing
            os.replace(aside, path)  # noqa: PTH105 - as above
        except BaseException:
            os.unlink(aside)  # noqa: PTH108 - the name is a string here
            raise
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}. Give a path that can be written.") from None
