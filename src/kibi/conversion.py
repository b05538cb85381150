"""The function of `import kibi` that writes a model of any kind as a `.tflite` file."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.errors import bounded

if TYPE_CHECKING:
    from kibi.frontends.tflite.normal_form import NormalForm


@bounded
def convert(model: str | os.PathLike[str], path: str | os.PathLike[str] | None = None) -> "NormalForm":
    """Converts a model of any kind that `kibi.load` reads to a `.tflite` file that TFLM reads, too.

    The file means what the model means, and nothing is quantized. A `.tflite` file that needs no change is copied.

    Args:
        model: the file, as for `kibi.load`.
        path: where to write; None: nowhere.

    Returns:
        The contents of the file as `data`, and how many constants changed their form.

    Raises:
        ModelError: the file is missing, broken, or asks for what Kibi does not support; nothing is written then.
        OutputError: the file cannot be written.
    """
    from kibi.files import check_path, write_file  # noqa: PLC0415 - functions pay for what they use
    from kibi.frontends.model_file import read_model_file  # noqa: PLC0415
    from kibi.frontends.tflite import parse_tflite  # noqa: PLC0415

    place = None if path is None else check_path(path, "the path of the .tflite file")
    found = read_model_file(model)
    parse_tflite(found.data, Path(model).name)
    if place is not None:
        write_file(place, found.data)
    return found
