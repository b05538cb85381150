"""Zip archives whose bytes depend on nothing but what is in them."""

import io
import zipfile
from collections.abc import Mapping

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The first day that zip files know."""
_UNIX, _MODE = 3, 0o100644 << 16


def archive(files: Mapping[str, bytes]) -> bytes:
    """Returns a zip archive; files are stored as they are, because compressors differ from one version to the next.

    Args:
        files: by their paths, with slashes.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as packed:
        for path, content in sorted(files.items()):
            entry = zipfile.ZipInfo(path, _FIRST_DAY)
            entry.create_system, entry.external_attr = _UNIX, _MODE
            packed.writestr(entry, content)
    return stream.getvalue()
