"""Readers of model files: each kind of file becomes the bytes of a `.tflite` file, and these become a verified graph."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from kibi.ir import Graph

__all__ = ["load"]


def load(
    path: str | os.PathLike[str], signature: str | None = None, shapes: Mapping[str, Sequence[int]] | None = None
) -> Graph:
    """Reads a model file of any supported format; the contents tell the format.

    Args:
        path: the path of the file; where it has several models, the name of one follows after a slash.
        signature: the entry point whose graph is wanted; None: the first graph.
        shapes: of inputs by name, where an ONNX model leaves sizes open.

    Returns:
        The verified graph.

    Raises:
        ModelError: the file cannot be read, is of no supported format, is broken, or asks for what Kibi does not
            support; with all problems that were found.
    """
    # The schema's generated code takes a while to import; nobody pays for it who loads no model.
    from kibi.frontends.model_file import read_model_file  # noqa: PLC0415 - see above
    from kibi.frontends.tflite import parse_tflite  # noqa: PLC0415 - see above

    return parse_tflite(read_model_file(path, shapes).data, Path(path).name, signature)
