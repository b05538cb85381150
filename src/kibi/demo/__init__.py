"""The model that Kibi ships: a small int8 network that reads a digit, and drawings for it to read.

The data files beside this module are made by `examples/train_glyphs.py`, which draws everything itself. The model takes
one grey image, `[1, 28, 28, 1]` s8 with scale 1/255 and zero point -128, and gives ten probabilities, `[1, 10]` s8 with
scale 1/256 and zero point -128. So a pixel's byte minus 128 is its input. Ink may be darker or lighter than the paper.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

labels: Final[tuple[str, ...]] = tuple("0123456789")
"""What each of the model's outputs means, in order."""


def model_path() -> Path:
    """The model, a `.tflite` file."""
    return _data("glyphs.tflite")


def picture_paths() -> tuple[Path, ...]:
    """Drawings as PNG files for the command line: a seven of the model's own size, and a three four times as wide."""
    return _data("seven.png"), _data("three.png")


def samples() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """One drawing of each digit that the model has not been trained on.

    Returns:
        Grey images `[10, 28, 28]` u8, black 0 and white 255, and the index into `labels` of each, `[10]` s64.
    """
    with np.load(_data("samples.npz"), allow_pickle=False) as archive:
        return archive["images"], archive["labels"]


def _data(name: str) -> Path:
    """A data file of this package."""
    return Path(str(files(__name__).joinpath(name)))
