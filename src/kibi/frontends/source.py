"""Reading a model file from disk, with a clear error for whatever is not a file that can be read."""

import os
import stat
from pathlib import Path

from kibi.errors import ModelError, Problem

# Offsets in a flatbuffer are 32 bits wide, and signed where tables refer to their fields.
_MOST_BYTES = (1 << 31) - 1


def read_source(path: str | os.PathLike[str]) -> bytes:
    """The contents of a model file.

    Raises:
        ModelError: there is no such file, it is a folder or a device, it is empty or too large, or it cannot be read.
    """
    location = Path(path)
    try:
        problem = _problem(location, location.stat())
        if problem is None:
            return location.read_bytes()
    except FileNotFoundError:
        problem = Problem("there is no such file", f"Check the path; it is looked up from {Path.cwd()}")
    except (OSError, ValueError) as error:  # ValueError: the path holds a null character
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(f"the file cannot be read: {reason}", "Check the path and your permissions")
    raise ModelError(str(location), [problem])


def _problem(location: Path, status: os.stat_result) -> Problem | None:
    """Why something that exists is not read."""
    if stat.S_ISDIR(status.st_mode):
        if (location / "saved_model.pb").exists():
            remedy = "Convert it with tf.lite.TFLiteConverter.from_saved_model, quantized to int8"
            return Problem("it is a TensorFlow SavedModel folder, not a .tflite file", remedy)
        return Problem("it is a folder, not a model file", "Give the path of a .tflite file in it")
    if not stat.S_ISREG(status.st_mode):
        return Problem("it is a device, pipe or socket, not a model file", "Give the path of a .tflite file")
    if status.st_size == 0:
        return Problem("the file is empty", "Export the model again, or download it again")
    if status.st_size > _MOST_BYTES:
        what = f"the file has {status.st_size} bytes; a .tflite file has at most {_MOST_BYTES}"
        return Problem(what, "Give the path of a .tflite file")
    return None
