"""Reader of `.tflite` files.

`flatbuffer` checks bytes, `reader` makes records of them, `tensors` and `operators` give records Kibi's meaning, and
`importer` puts the graph together.
"""

import hashlib
from dataclasses import replace

from kibi.errors import ModelError
from kibi.frontends.formats import describe
from kibi.frontends.tflite.importer import import_model
from kibi.frontends.tflite.reader import IDENTIFIER
from kibi.ir import Graph

__all__ = ["parse_tflite"]


def parse_tflite(data: bytes, source: str, signature: str | None = None) -> Graph:
    """Reads the contents of a `.tflite` file.

    Constants of the graph are read-only views of the data where their alignment allows. Tensors that nothing names
    are placeholders (scalars without data); their contents are not read.

    Args:
        data: the contents of the file.
        source: the file's name, for messages and the graph's name.
        signature: the entry point whose graph is wanted; None: the first graph.

    Raises:
        ModelError: the bytes are no `.tflite` file, are broken, or ask for what Kibi does not support.
    """
    if data[4:8] != IDENTIFIER:
        raise ModelError(source, [describe(data, source)])
    graph = import_model(bytes(data), source, signature)
    return replace(graph, digest=hashlib.sha256(data).hexdigest())
