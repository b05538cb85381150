"""Calibration and test data of a float32 model: a data set, as `kibi evaluate` takes it, in the model's own form."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kibi.arrays.dataset import Dataset, Label, open_dataset
from kibi.arrays.dataset import Sample as Stored
from kibi.arrays.rows import fit_rows
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir import Graph

PIXELS = ("0..255", "0..1", "-1..1")
"""What the pixels 0 (black) to 255 (white) may mean."""
_LEAST_PIXEL_SPAN = 64.0
CALIBRATION_INPUTS = 256
"""How many inputs give the ranges, where nothing else is asked for."""
_MOST_LAYER_INPUTS = 32
"""Inputs on which the error of each layer is measured."""
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Sample:
    """One input in the model's own form.

    Attributes:
        inputs: an array for each model input, of its shape and type.
        label: the number or the name of its class, or None.
    """

    inputs: tuple[Array, ...]
    label: Label | None


class Samples:
    """The inputs of a data set in the form of a float32 model.

    Args:
        graph: the model.
        data: see `open_dataset`.
        truth: the path of a file with labels; None: those in the data.
        pixels: what pixels mean: one of `PIXELS`.

    Raises:
        InputError: the data or the meaning of pixels are wrong.
    """

    def __init__(
        self,
        graph: Graph,
        data: str | Path | Callable[[], Iterable[Any]],
        truth: str | Path | None = None,
        pixels: str = PIXELS[0],
    ) -> None:
        if pixels not in PIXELS:
            raise InputError(f"pixels cannot mean {pixels!r}. Give one of {', '.join(PIXELS)}.")
        self._graph = graph
        self._pixels = pixels
        self.dataset: Dataset = open_dataset(graph, data, truth)

    def __iter__(self) -> Iterator[Sample]:
        """Yields the inputs, in the same order each time.

        Raises:
            InputError: one cannot be read, or does not fit.
        """
        for sample in self.dataset.samples():
            yield Sample(tuple(self._own(number, array) for number, array in enumerate(sample.inputs)), sample.label)

    def items(self) -> Iterator[tuple[list[Array], Label | None]]:
        """Yields inputs and labels as a data set that is a function does."""
        for sample in self:
            yield list(sample.inputs), sample.label

    def chosen(self, count: int, *, is_sequence: bool = False) -> list[tuple[Array, ...]]:
        """So many inputs, evenly from all where their number is known, else the first ones; all if there are fewer.

        Args:
            count: how many.
            is_sequence: True to take the first ones, because each goes on from the one before.

        Raises:
            InputError: the data are empty, or an input does not fit.
        """
        return [sample.inputs for sample in self.chosen_samples(count, is_sequence=is_sequence)]

    def chosen_samples(self, count: int, *, is_sequence: bool = False) -> list[Sample]:
        """The same with labels.

        Args:
            count: how many.
            is_sequence: True to take the first ones, because each goes on from the one before.

        Raises:
            InputError: the data are empty, or an input does not fit.
        """
        return _chosen(self, self.dataset, count, is_sequence=is_sequence)

    def _own(self, number: int, array: Array) -> Array:
        kind = self._graph.tensors[self._graph.inputs[number]].type
        if array.dtype == np.uint8 and kind.dtype is DType.F32:
            array = meaning(array, self._pixels)
        return np.asarray(fit_rows(self._graph, number, array[np.newaxis], self.dataset.source)[0])


def layer_rows(dataset: Dataset) -> list[Stored]:
    """The inputs of a data set on which `kibi quantize` measures the error of each layer, as they are stored.

    Raises:
        InputError: the data are empty, or an input cannot be read.
    """
    return few_of(_chosen(dataset.samples(), dataset, CALIBRATION_INPUTS))


def few_of(rows: Sequence[_Row]) -> list[_Row]:
    """Some of the inputs that gave the ranges, evenly: those on which the error of each layer is measured."""
    return list(rows[:: max(1, len(rows) // _MOST_LAYER_INPUTS)][:_MOST_LAYER_INPUTS])


def _chosen(samples: Iterable[_Row], dataset: Dataset, count: int, *, is_sequence: bool = False) -> list[_Row]:
    """So many of the samples of a data set, as `Samples.chosen` takes them."""
    total = dataset.count
    if total is None or total <= count or is_sequence:
        found = list(islice(samples, count))
    else:
        wanted = set(np.linspace(0, total - 1, count).round().astype(int).tolist())
        found = [sample for number, sample in enumerate(samples) if number in wanted]
    if not found:
        raise InputError(f"{dataset.source}: there are no inputs. Give data with at least one.")
    return found


def meaning(pixels: Array, scale: str) -> Array:
    """The values f32 of pixels u8.

    Args:
        pixels: 0 (black) to 255 (white).
        scale: one of `PIXELS`.
    """
    values = np.asarray(pixels, np.float64)
    if scale == "0..1":
        values = values / 255
    elif scale == "-1..1":
        values = values / 127.5 - 1
    return np.asarray(values, np.float32)


def unnormalized(graph: Graph, rows: Sequence[Sequence[Array]]) -> list[str]:
    """Warnings of inputs whose values look like pixels that were not scaled: whole numbers from 0 to 255.

    A model that scales its input itself, in its first operators, is right to get them.
    """
    found = []
    for number, index in enumerate(graph.inputs):
        tensor = graph.tensors[index]
        if tensor.type.dtype is not DType.F32 or _is_scaled_first(graph, index):
            continue
        values = np.concatenate([inputs[number].reshape(-1).astype(np.float64) for inputs in rows])
        least, largest = float(values.min(initial=0)), float(values.max(initial=0))
        if least >= 0 and _LEAST_PIXEL_SPAN < largest <= 255 and not np.mod(values, 1).any():
            what = f"values from {least:.4g} to {largest:.4g} for input {tensor.name!r}: whole numbers, as pixels have them"
            found.append(
                f"{what}. If the model was trained on scaled ones, give these: --pixels 0..1 or -1..1 for images."
            )
    return found


def _is_scaled_first(graph: Graph, index: int) -> bool:
    """True if the first operator that reads an input is one of those that scale."""
    users = [view for view in graph.views if index in view.node.inputs]
    return bool(users) and all(view.op.name in ("MUL", "DIV", "SUB", "ADD") for view in users)
