"""Reads a file that may hold a model from disk, with a clear error for paths that are no readable file."""

import os
from pathlib import Path

from kibi.errors import ModelError, Problem
from kibi.files import open_binary, take
from kibi.frontends.formats import kind_of

# Offsets in a flatbuffer are 32 bits wide, and signed where tables refer to their fields.
_MOST_BYTES = (1 << 31) - 1
_HEAD_BYTES = 4096


def read_source(path: str | os.PathLike[str], others: tuple[bytes, ...] = ()) -> bytes:
    """The contents of a file that may hold a model, and may come through a pipe.

    Of what does not begin as a file that Kibi reads only the first 4096 bytes are read: they tell what it is.

    Args:
        path: the file.
        others: the first bytes of files of other kinds that are read to their end, too.

    Raises:
        ModelError: there is no such file, it is a folder, it is empty or too large, or it cannot be read.
    """
    problem = None
    try:
        with open_binary(path) as stream:
            size = os.fstat(stream.fileno()).st_size  # 0 where it is not known
            if size > _MOST_BYTES:
                problem = _too_large(f"{size}")
            else:
                head = take(stream, _HEAD_BYTES)
                is_known = kind_of(head, os.fspath(path)) is not None or head.startswith(others)
                rest = take(stream, _MOST_BYTES + 1 - len(head)) if is_known else b""
                if len(head) + len(rest) > _MOST_BYTES:
                    problem = _too_large("more")
                elif head:
                    return head + rest
                else:
                    problem = Problem("the file is empty", "Export the model again, or download it again")
    except FileNotFoundError:
        problem = _missing(os.fspath(path))
    except IsADirectoryError:
        problem = Problem("it is a folder, not a model file", "Give the path of a model file in it")
    except OSError as error:
        problem = Problem(f"the file cannot be read: {error.strerror}", "Check the path and your permissions")
    raise ModelError(os.fspath(path), [problem])


def _missing(path: str) -> Problem:
    if not path:
        return Problem("the path is empty", "Give the path of a .tflite file")
    return Problem("there is no such file", f"Check the path; it is looked up from {Path.cwd()}")


def _too_large(size: str) -> Problem:
    what = f"the file has {size} bytes; a .tflite file has at most {_MOST_BYTES}"
    return Problem(what, "Give the path of a .tflite file")
