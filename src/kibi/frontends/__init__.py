"""Readers of model files, one sub-package for each format; each makes a verified graph."""

import os
from pathlib import Path

from kibi.errors import ModelError
from kibi.frontends.formats import describe
from kibi.frontends.source import read_source
from kibi.ir import Graph

__all__ = ["load"]


def load(path: str | os.PathLike[str], signature: str | None = None) -> Graph:
    """Reads a model file of any supported format; the contents tell the format.

    Args:
        path: the path of the file.
        signature: the entry point whose graph is wanted; None: the first graph.

    Returns:
        The verified graph.

    Raises:
        ModelError: the file cannot be read, is of no supported format, is broken, or asks for what Kibi does not
            support; with all problems that were found.
    """
    data = read_source(path)
    name = Path(path).name
    if data[4:8] == b"TFL3":
        # The schema's generated code takes a while to import; nobody pays for it who loads no model.
        from kibi.frontends.tflite import parse_tflite  # noqa: PLC0415 - see above

        return parse_tflite(data, name, signature)
    raise ModelError(str(path), [describe(data, name)])
