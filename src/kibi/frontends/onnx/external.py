"""Data of tensors that are stored in files beside an ONNX file; nothing outside of its folder is read.

Source of the fields: ONNX `docs/ExternalData.md`.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from kibi.errors import Problem
from kibi.files import open_binary, take

_MOST_BYTES = (1 << 31) - 1
_FETCH = "Put all files of the model into one folder, as they were exported"


def with_external_data(model: Any, folder: Path | None) -> list[Problem]:
    """Reads the data of all tensors that are stored elsewhere into the model, which changes; returns what went wrong.

    Args:
        model: the `ModelProto`.
        folder: of the model's file; None where it has none, as within an archive.
    """
    problems: dict[Problem, None] = {}
    left = _MOST_BYTES
    for tensor in _tensors(model.graph):
        if tensor.data_location != tensor.EXTERNAL:
            continue
        try:
            data = _read(tensor, folder, left)
        except _ExternalError as error:
            problems[error.problem] = None
            continue
        left -= len(data)
        tensor.raw_data = data
        tensor.ClearField("external_data")
        tensor.data_location = tensor.DEFAULT
    return list(problems)


class _ExternalError(Exception):
    def __init__(self, what: str, remedy: str = _FETCH) -> None:
        self.problem = Problem(what, remedy)
        super().__init__(what)


def _tensors(graph: Any) -> Iterator[Any]:
    """Yields all tensors that hold data, also those of nodes and of graphs within them."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                yield from _tensors(inner) if inner.ByteSize() else ()


def _read(tensor: Any, folder: Path | None, most_bytes: int) -> bytes:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = _path(location, folder)
    offset, length = (_number(entries, key, location) for key in ("offset", "length"))
    try:
        with open_binary(path) as stream:
            stream.seek(offset or 0)
            data = bytes(take(stream, min(most_bytes, _MOST_BYTES if length is None else length) + 1))
    except OSError as error:
        raise _ExternalError(f"external data {location!r} cannot be read: {error.strerror}") from error
    wanted = len(data) if length is None else length
    if wanted > most_bytes:
        raise _ExternalError(f"external data have more than {_MOST_BYTES} bytes", "Use a smaller model")
    if len(data) < wanted:
        raise _ExternalError(f"external data {location!r} end before byte {(offset or 0) + wanted}")
    return data[:wanted]


def _path(location: str, folder: Path | None) -> Path:
    """The path of a file that must be within the folder, also after links are followed."""
    if folder is None:
        raise _ExternalError(f"external data {location!r} are needed, but the model is not a file in a folder")
    parts = PurePosixPath(location)
    is_foreign = parts.is_absolute() or PureWindowsPath(location).is_absolute() or PureWindowsPath(location).drive
    if not location or "\0" in location or is_foreign or ".." in parts.parts or ".." in PureWindowsPath(location).parts:
        raise _ExternalError(
            f"external data {location!r} would be outside of the model's folder, where nothing is read"
        )
    path = folder / parts
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _ExternalError(f"external data {location!r} lead outside of the model's folder, where nothing is read")
    if not path.is_file():
        raise _ExternalError(f"external data {location!r} are missing")
    return path


def _number(entries: dict[str, str], key: str, location: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise _ExternalError(
            f"external data {location!r} have {key} {text!r}, which is no number of bytes", "Export again"
        )
    return int(text)
