"""The outputs of a model in words: the top classes of a classifier, statistics of any other output."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.errors import InputError
from kibi.files import read_text
from kibi.ir import Graph, Tensor
from kibi.reports.inspection import tensor_record

TOP = 5
_MOST_LABEL_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Score:
    """One class of a classifier.

    Attributes:
        index: its place in the output.
        label: its name; its index where it has none.
        score: the real value.
        stored: the value that the output holds.
    """

    index: int
    label: str
    score: float
    stored: int | float


@dataclass(frozen=True, slots=True)
class OutputFacts:
    """One output.

    Attributes:
        tensor: the output.
        least, mean, largest, deviation: statistics of its real values.
        top: a classifier's best classes, best first; empty for others.
    """

    tensor: Tensor
    least: float
    mean: float
    largest: float
    deviation: float
    top: tuple[Score, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        statistics = {"least": self.least, "mean": self.mean, "largest": self.largest, "deviation": self.deviation}
        return {**tensor_record(self.tensor), **statistics, "top": [asdict(score) for score in self.top]}


def describe_outputs(
    graph: Graph, outputs: Sequence[Array], labels: Sequence[str] | None = None
) -> tuple[OutputFacts, ...]:
    """Describes the outputs of one inference.

    Args:
        graph: the model.
        outputs: one array for each output.
        labels: names of a classifier's classes.

    Raises:
        InputError: there are labels, and the model is no classifier of as many classes.
    """
    tensors = [graph.tensors[index] for index in graph.outputs]
    if labels is not None and (len(tensors) != 1 or tensors[0].type.elements != len(labels)):
        counts = ", ".join(str(tensor.type.elements) for tensor in tensors)
        raise InputError(f"there are {len(labels)} labels for outputs of {counts} elements. Give one label per class.")
    return tuple(
        _describe(tensor, array, labels, is_classifier=labels is not None or is_classifier(graph))
        for tensor, array in zip(tensors, outputs, strict=True)
    )


def is_classifier(graph: Graph) -> bool:
    """True if the only output is a vector of at least two scores whose shape is not the input's, as in autoencoders."""
    shapes = [graph.tensors[index].type.shape for index in graph.outputs]
    if len(shapes) != 1 or not shapes[0]:
        return False
    is_vector = shapes[0][-1] > 1 and set(shapes[0][:-1]) <= {1}
    return is_vector and all(graph.tensors[index].type.shape != shapes[0] for index in graph.inputs)


def real_values(tensor: Tensor, array: Array) -> NDArray[np.float64]:
    """The real values of an array of a tensor's type."""
    values = array.astype(np.float64)
    quantization = tensor.type.quantization
    if quantization is None or not tensor.type.dtype.is_integer:
        return values
    return (values - quantization.zero_point) * quantization.scale


def read_labels(path: Path) -> tuple[str, ...]:
    """The lines of a text file; empty lines at its end do not count.

    Raises:
        InputError: the file cannot be read, or is no text.
    """
    text = read_text(path, _MOST_LABEL_BYTES, InputError, "Give a text file with a class in each line.")
    return tuple(line.strip() for line in text.rstrip().splitlines())


def _describe(tensor: Tensor, array: Array, labels: Sequence[str] | None, *, is_classifier: bool) -> OutputFacts:
    values = real_values(tensor, array).reshape(-1)
    stored = array.reshape(-1).tolist()
    # A stable order: of equal scores the first class wins, as an argmax on the device would have it.
    best = np.argsort(-values, kind="stable")[:TOP].tolist() if is_classifier else []
    return OutputFacts(
        tensor=tensor,
        least=float(values.min()),
        mean=float(values.mean()),
        largest=float(values.max()),
        deviation=float(values.std()),
        top=tuple(
            Score(place, labels[place] if labels else str(place), float(values[place]), stored[place]) for place in best
        ),
    )
