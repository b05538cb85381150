"""Models and data whose figures can be told by hand."""

from pathlib import Path

import numpy as np

import kibi
from kibi import demo
from kibi.dtypes import Array, DType
from kibi.files import temporary_folder
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph


def loaded(builder: ModelBuilder, outputs: list[int]) -> Graph:
    """The model, read from a file."""
    with temporary_folder() as folder:
        (folder / "own.tflite").write_bytes(builder.finish(outputs))
        return kibi.load(folder / "own.tflite")


def same(given: list[int], made: list[int], dtype: DType = DType.F32, scale: float | None = None) -> Graph:
    """A model whose output has the elements of its input."""
    builder, zero_point = ModelBuilder(), None if scale is None else 0
    x = builder.input(given, dtype, scale, zero_point, name="x")
    y = builder.tensor(made, dtype, scale, zero_point, name="y")
    builder.operator("RESHAPE", [x], [y], {"new_shape": np.array(made, np.int32)})
    return loaded(builder, [y])


GLYPHS = kibi.load(demo.model_path())
CLASSIFIER = same([1, 3, 1], [1, 3])
SCORES = np.array(
    [[3, 1, 2], [3, 1, 2], [1, 3, 2], [0, 1, 5], [4, 0, 1], [0, 2, 9], [1, 1, 0], [np.inf, 0, 1]], np.float32
)
CLASSES = np.array([0, 1, 1, 2, 2, 2, 1, 0])
"""Answers of the classifier are 0 0 1 2 0 2 0 0: of equal scores the first wins."""


def saved(folder: Path, **arrays: Array) -> Path:
    """A data set of these arrays."""
    np.savez(folder / "d.npz", **arrays)  # type: ignore[arg-type]  # its own flag is not among them
    return folder / "d.npz"


def many() -> tuple[Array, Array]:
    """18 inputs of the classifier, and labels."""
    random = np.random.default_rng(5)
    return random.normal(size=(18, 3)).astype(np.float32), random.integers(0, 3, 18)
