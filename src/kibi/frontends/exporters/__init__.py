"""Models that their own framework makes a `.tflite` file of, in a child process, where the user has installed it."""

import io
import zipfile
from pathlib import Path, PurePosixPath

from kibi.frontends.exporters.exporter import PYTORCH, TENSORFLOW, Exporter, contents_digest, exported
from kibi.frontends.formats import Kind, kind_of

__all__ = ["Exporter", "contents_digest", "exported", "exporter_of", "is_saved_model"]

_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
_KERAS = frozenset(("config.json", "model.weights.h5"))
"""What the archive of a Keras model has. Source: https://keras.io/api/models/model_saving_apis/."""

_EXPORTED = frozenset(("archive_format", "serialized_exported_program.json"))
"""What the archive of a program of torch.export has, in a folder or not. Source: `torch/export/pt2_archive/constants.py`."""


def exporter_of(path: Path, data: bytes) -> Exporter | None:
    """What converts a model; None if Kibi reads it by itself, or nobody does.

    Args:
        path: of a file or a folder.
        data: the contents of the file, or at least their beginning; of a zip archive all of them. Empty for a folder.
    """
    kind = kind_of(data, path.name)
    names = _names(data) if kind is Kind.ZIP else []
    if kind is Kind.HDF5 or _KERAS.issubset(names) or is_saved_model(path):
        return TENSORFLOW
    return PYTORCH if any(PurePosixPath(name).name in _EXPORTED for name in names) else None


def is_saved_model(path: Path) -> bool:
    """True if a path is the folder of a SavedModel."""
    try:
        return path.is_dir() and any((path / name).is_file() for name in _SAVED_MODEL)
    except OSError:  # the path is impossible
        return False


def _names(data: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError):  # whoever reads it as an archive says so
        return []
