"""The files of the portable kernels in a folder: those that people wrote, and those that templates make."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from kibi.kernels import file_names, text_of


@cache
def portable_folder() -> Path:
    """Returns a folder with the text of each file of the portable set; it is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="kibi-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in file_names(("portable",)):
        (folder / name).write_text(text_of(name, ("portable",)).text, encoding="utf-8")
    return folder
