"""Names of models: an identifier for generated C, made from the name of a file."""

import re
import unicodedata
from pathlib import PurePath

from kibi.text.reserved import SPACE, why_reserved

_FALLBACK = "model"
_ENDINGS = "tflite|onnx|pt2|keras|h5|hdf5|lite|bin|tfl|zip|mltk|c|cc|cpp|cxx|h|hpp|ino"
"""What may come after the dot in the name of a file with a model."""


def identifier(file_name: str) -> str:
    """The name of a model in C and C++: `MLPerf-KWS (int8).tflite` → `mlperf_kws_int8`.

    Lower-case ASCII letters, digits and underscores; it begins with a letter, and is no name that would break a library: see
    `kibi.text.reserved`. Different file names may give the same identifier.
    """
    stem = PurePath(file_name).name
    for _ in range(2):  # `model.int8.tflite` keeps its `int8`; `model.tflite.bin` loses both, as does `model.mltk.zip`
        stem = re.sub(rf"\.({_ENDINGS})$", "", stem, flags=re.IGNORECASE)
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode("ascii").lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or _FALLBACK
    if name[0].isdigit() or f"{name}_".startswith(SPACE):
        return f"{_FALLBACK}_{name}"
    return f"{name}_{_FALLBACK}" if why_reserved(name) else name
