"""Copies of model files in the cache: what an option makes of a file, under the file's name, so that TFLM can run it, too."""

import os
from pathlib import Path

from kibi.frontends.model_file import read_model_file, with_integer_ends
from kibi.toolchain.cache import cached, digest


def integer_ends_copy(path: str | os.PathLike[str], *, inputs: bool, outputs: bool) -> Path:
    """The path of a model file whose float32 inputs or outputs are the integers that the model computes with.

    Args:
        path: the model, as for `kibi.load`.
        inputs: True to take integers at each float32 input.
        outputs: True to give integers at each float32 output.

    Returns:
        The path of a copy; that of the model where nothing changes.

    Raises:
        ModelError: the file cannot be read, or an input or output cannot be integers.
        ToolchainError: the copy cannot be written.
    """
    given = Path(path)
    if not (inputs or outputs):
        return given
    found = read_model_file(path)
    changed = with_integer_ends(found, given.name, inputs, outputs).data
    if changed == found.data:
        return given
    name = f"{given.stem}.tflite"
    folder = cached("models", digest(name, changed), lambda fresh: _write(fresh / name, changed))
    return folder / name


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
