"""Reader of `.tflite` files.

`flatbuffer` checks bytes, `reader` makes records of them, `tensors` and `operators` give records Kibi's meaning, and
`importer` puts the graph together.
"""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from kibi.errors import ModelError
from kibi.frontends.formats import describe
from kibi.frontends.source import read_source
from kibi.frontends.tflite.importer import import_model
from kibi.frontends.tflite.reader import IDENTIFIER
from kibi.ir import Graph

__all__ = ["load_tflite", "parse_tflite"]


def load_tflite(path: str | os.PathLike[str], signature: str | None = None) -> Graph:
    """Reads a `.tflite` file.

    Args:
        path: the path of the file.
        signature: the entry point whose graph is wanted; None: the first graph.

    Returns:
        The verified graph. `source` is the file's name without its folder, `name` an identifier made from it.

    Raises:
        ModelError: the file cannot be read, is none of TensorFlow Lite, is broken, or asks for what Kibi does not
            support.
    """
    return parse_tflite(read_source(path), Path(path).name, signature)


def parse_tflite(data: bytes, source: str, signature: str | None = None) -> Graph:
    """Reads the contents of a `.tflite` file.

    Constants of the graph are read-only views of the data where their alignment allows. Tensors that nothing names
    are placeholders (scalars without data); their contents are not read.

    Args:
        data: the contents of the file.
        source: the file's name, for messages and the graph's name.
        signature: the entry point whose graph is wanted; None: the first graph.

    Raises:
        ModelError: as `load_tflite`.
    """
    if data[4:8] != IDENTIFIER:
        raise ModelError(source, [describe(data, source)])
    graph = import_model(bytes(data), source, signature)
    return replace(graph, digest=hashlib.sha256(data).hexdigest())
