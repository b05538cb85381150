"""One digest for the files of a folder."""

from collections.abc import Iterable
from hashlib import file_digest, sha256
from pathlib import Path


def files_digest(folder: Path, names: Iterable[str]) -> str:
    """Returns the SHA-256 of what `sha256sum` prints of files: a line for each, in the order of their names.

    Args:
        folder: where they are.
        names: their paths in the folder, with slashes.

    Raises:
        OSError: one cannot be read.
    """
    total = sha256()
    for name in sorted(names):
        with (folder / name).open("rb") as stream:
            total.update(f"{file_digest(stream, 'sha256').hexdigest()}  {name}\n".encode())
    return total.hexdigest()
